"""The files that a browser asks for."""

from importlib.resources import files

HTML, SCRIPT, STYLE = "text/html", "text/javascript", "text/css"

_PAGE = "keras_transformer.demo", "page"
_VIEWER = ("keras_transformer.visualization",)

FILES = {
    "/": (*_PAGE, "index.html", HTML),
    "/demo.js": (*_PAGE, "demo.js", SCRIPT),
    "/results.js": (*_PAGE, "results.js", SCRIPT),
    "/demo.css": (*_PAGE, "demo.css", STYLE),
    "/icon.svg": (*_PAGE, "icon.svg", "image/svg+xml"),
    "/attention_viewer.js": (*_VIEWER, "attention_viewer.js", SCRIPT),
    "/attention_viewer.css": (*_VIEWER, "attention_viewer.css", STYLE),
}


def page_files():
    """Yield the path, the content and the media type of each file of the page."""
    for path, (package, *parts, media_type) in FILES.items():
        yield path, files(package).joinpath(*parts).read_bytes(), media_type
