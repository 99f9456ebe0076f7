"""A local page to try a translator on."""

from keras_transformer.demo.page_app import demo_app
from keras_transformer.demo.server import serve_demo

__all__ = ["demo_app", "serve_demo"]
