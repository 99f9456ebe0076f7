"""What README and docs tell people to run is there: scripts, options, extras, files."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path

import pytest

import keras_transformer

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
SCRIPT = re.compile(r"python(?:3\.11)? (examples/[\w/]+\.py)((?: [^`\n|&]*)?)")
MODULE = re.compile(r"python(?:3\.11)? -m ([\w.]+)((?: [^`\n|&]*)?)")
COMMAND = re.compile(r"keras-transformer ([a-z]+)((?: [^`\n|&]*)?)")
EXTRAS = re.compile(r"\.\[([\w,-]+)\]|[(]?[Ee]xtras? `([\w-]+)`")
FILE = re.compile(r"`((?:examples|benchmarks|docs|keras_transformer|tests)/[\w./-]+)`")

pytestmark = pytest.mark.tensorflow_only  # nothing here depends on a backend


def text_of_all_pages():
    """Read all pages, with the lines of a command joined."""
    for page in sorted(PAGES):
        text = re.sub(r"\s*\\\n\s*", " ", page.read_text(encoding="utf-8"))
        yield page.relative_to(ROOT).as_posix(), text


def options_of(arguments):
    return re.findall(r"(?<!\S)--[a-z][\w-]*", arguments)


def found(pattern):
    for page, text in text_of_all_pages():
        for match in pattern.finditer(text):
            yield page, *match.groups()


def test_scripts_and_their_options_exist():
    commands = list(found(SCRIPT))
    assert len(commands) > 20
    wrong = []
    for page, script, arguments in commands:
        file = ROOT / script
        if not file.is_file():
            wrong.append(f"{page}: no {script}")
            continue
        # Options are made in the script, or in a module beside it that it imports.
        sources = file.read_text(encoding="utf-8")
        for module in re.findall(r"^from (\w+) import", sources, re.M):
            beside = file.with_name(f"{module}.py")
            if beside.is_file():
                sources += beside.read_text(encoding="utf-8")
        wrong += [
            f"{page}: {script} has no {option}"
            for option in options_of(arguments)
            if f'"{option}"' not in sources
        ]
    assert wrong == []


def test_commands_of_the_command_line_and_their_options_exist():
    typer = pytest.importorskip("typer")
    from keras_transformer.cli.commands import app

    known = {
        name: {option for parameter in command.params for option in parameter.opts}
        for name, command in typer.main.get_command(app).commands.items()
    }
    examples = [
        ("--help", example)
        for module in sys.modules.values()
        if getattr(module, "__name__", "").startswith("keras_transformer.cli.")
        for example in getattr(module, "EXAMPLES", [])
    ]
    calls = [(page, name, rest) for page, name, rest in found(COMMAND)]
    calls += [(page, *COMMAND.search(text).groups()) for page, text in examples]
    assert len(examples) >= len(known)
    assert {name for _, name, _ in calls} == set(known)
    wrong = [
        f"{page}: {name} has no {option}"
        for page, name, rest in calls
        for option in options_of(rest)
        if option not in known[name] | {"--help"}
    ]
    assert wrong == []


def test_modules_that_are_run_exist():
    wrong = [
        f"{page}: no module {module}"
        for page, module, _ in found(MODULE)
        if module not in ("venv", "pip", "build")
        and importlib.util.find_spec(module) is None
    ]
    assert wrong == []


def test_extras_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    known = set(project["project"]["optional-dependencies"])
    named = {
        extra
        for _, listed, alone in found(EXTRAS)
        for extra in (listed or alone).split(",")
    }
    assert {"evaluation", "dev"} <= named
    assert named - known == set()


def place(file):
    """Where a file is: those of the package may be installed elsewhere."""
    package = Path(keras_transformer.__file__).parent
    return (package.parent if file.startswith(f"{package.name}/") else ROOT) / file


def test_files_that_are_named_exist():
    named = {(page, file) for page, file in found(FILE)}
    assert len(named) > 10
    missing = [f"{page}: {file}" for page, file in named if not place(file).exists()]
    assert missing == []


def test_each_example_is_in_the_table():
    table = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    runnable = [
        script.relative_to(ROOT).as_posix()
        for script in ROOT.glob("examples/**/*.py")
        if "__main__" in script.read_text(encoding="utf-8")
    ]
    assert len(runnable) > 10
    assert [script for script in runnable if f"python {script}" not in table] == []


def test_each_row_of_the_table_has_a_time():
    table = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    times = re.findall(r"^\| `[^|]+ \| ([^|]*) \|", table, re.M)
    assert len(times) > 15
    known = r"(about )?(\d+|a few|some|well below a) (minute|second)s?\b.*"
    known += "|seconds|by your data|until stopped|not measured"
    assert [time for time in times if not re.fullmatch(known, time)] == []


def test_times_of_experiments_are_those_of_their_results():
    table = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    rows = re.findall(r"experiments/(\w+)\.py` \| (\d+) minutes? \|", table)
    assert len(rows) == len(list(ROOT.glob("examples/experiments/results/*.md")))
    for name, minutes in rows:
        result = ROOT / "examples" / "experiments" / "results" / f"{name}.md"
        measured = re.search(r"; ([\d.]+) minutes", result.read_text(encoding="utf-8"))
        assert measured is not None
        assert round(float(measured[1])) == int(minutes), name
