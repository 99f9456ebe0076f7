"""The program from outside: its streams, its exit codes, and what it imports."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from keras_transformer.cli import main
from tests.cli.programs import ROOT, start

pytestmark = pytest.mark.tensorflow_only

# As the console script: it has this name, and imports `main`.
SCRIPT = """
import sys
sys.argv = ["keras-transformer", *sys.argv[1:]]
from keras_transformer.cli import main
code = main()
print([name for name in ("keras", "tensorflow", "numpy") if name in sys.modules])
sys.exit(code)
"""
WITHOUT_TYPER = "import sys; sys.modules['typer'] = None\n" + SCRIPT
# `translate` of a translator that needs no Keras.
TRANSLATE = """
import sys, types
sys.argv = ["keras-transformer"]
from pathlib import Path
import keras_transformer

# Lines are read without what else is in this package, which imports Keras.
text = types.ModuleType("keras_transformer.text")
text.__path__ = [str(Path(keras_transformer.__file__).with_name("text"))]
sys.modules[text.__name__] = text
from keras_transformer.cli import saved_translator, translate
from keras_transformer.cli.error_report import exit_code_of

class Upper:
    max_source_length = 99
    search = type("", (), {"with_n_best": lambda self, n: self})()
    tokenizer = type("", (), {"tokenize": lambda self, texts: texts})()
    def translate(self, texts):
        return map(str.upper, texts)

saved_translator.load_translator = lambda path, **options: Upper()
sys.exit(exit_code_of(lambda: translate.translate(Path("model"))))
"""


def python(code, *arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        **{
            "cwd": ROOT,
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            **options,
        },
    )


def outcome(process, given=b""):
    output, errors = process.communicate(given, timeout=60)
    return process.returncode, (output or b"").decode(), errors.decode()


@pytest.mark.parametrize("command", [[], ["train"], ["translate"], ["export"]])
def test_help_comes_without_keras(command):
    code, output, errors = outcome(python(SCRIPT, *command, "--help"))
    assert (code, errors) == (0, "")
    assert "Usage: keras-transformer" in output
    assert output.endswith("[]\n")


def test_the_module_answers_like_the_script():
    code, output, errors = outcome(start("--version"))
    assert (code, errors) == (0, "")
    assert output.startswith("keras-transformer ")


def test_without_typer_one_line_says_how_to_install_it():
    code, _, errors = outcome(python(WITHOUT_TYPER, "--help"))
    assert code == 2
    assert errors == (
        "Error: the command line needs typer. Install it with: "
        'pip install "keras-transformer-layers[cli]"\n'
    )


def test_nobody_reads_the_output():
    process = python(TRANSLATE)
    process.stdout.close()
    with suppress(BrokenPipeError), process.stdin as lines:
        lines.write(b"a line\n" * 50_000)
    with process.stderr as errors:
        assert errors.read() == b""
    assert process.wait() == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("lines", [1, 50_000])
def test_the_disk_is_full(lines):
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        process = python(TRANSLATE, stdout=full)
        code, _, errors = outcome(process, b"a line\n" * lines)
    assert code == 1
    assert errors == "Error: standard output: No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_the_disk_is_full_for_a_command_that_prints(unbuffered):
    work = "import sys\nfrom keras_transformer.cli import error_report\n"
    work += "sys.exit(error_report.exit_code_of(lambda: error_report.print_line('x')))"
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        code, _, errors = outcome(
            python(
                f"import sys; sys.argv = ['keras-transformer']\n{work}",
                stdout=full,
                env=environment,
            )
        )
    assert (code, errors) == (1, "Error: standard output: No space left on device\n")


def test_ten_thousand_lines_keep_their_order():
    lines = [f"line {number}" for number in range(10_000)]
    code, output, errors = outcome(python(TRANSLATE), "\n".join(lines).encode())
    assert (code, errors) == (0, "")
    assert output == "".join(f"{line.upper()}\n" for line in lines)


def test_no_arguments_show_the_help(capsys):
    assert main([]) == 2
    assert "Usage: keras-transformer" in "".join(capsys.readouterr())


def test_colours_are_for_terminals_only():
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("FORCE_COLOR", None)
    _, output, _ = outcome(python(SCRIPT, "--help", env=environment))
    assert "\x1b[" not in output
