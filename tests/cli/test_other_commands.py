"""`evaluate`, `export`, `check`, `info`, `attention` and `demo`."""

import json
import logging
import sys
import types
import warnings

import pytest

from keras_transformer import Translator
from keras_transformer.cli import commands
from keras_transformer.cli.export import next_version
from tests.translators import sentences, toy_corpus

pytestmark = pytest.mark.tensorflow_only


@pytest.fixture
def files(tmp_path):
    """Sources, two references, and pairs, of three sentences."""
    pairs = toy_corpus().train[:3]
    sides = {
        "source": [source for source, _ in pairs],
        "one": [target for _, target in pairs],
        "two": [target.upper() for _, target in pairs],
        "pairs": ["\t".join(pair) for pair in pairs],
    }
    for name, lines in sides.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


def test_evaluate_gives_scores_with_signatures(call, model_file, files):
    pytest.importorskip("sacrebleu")
    expected = Translator.load(model_file).evaluate(list(toy_corpus().train[:3]))
    code, output, errors = call("evaluate", model_file, "--pairs", files / "pairs")
    assert (code, errors) == (0, "")
    assert output == (
        f"BLEU {expected.bleu:.1f}  {expected.bleu_signature}\n"
        f"chrF {expected.chrf:.1f}  {expected.chrf_signature}\n3 sentences\n"
    )
    given = ["--source", files / "source", "--reference", files / "one"]
    more = ["--reference", files / "two", "--tokenize=none", "--lowercase", "--json"]
    code, output, _ = call("evaluate", model_file, *given, *more)
    scores = json.loads(output)
    assert code == 0
    assert scores["sentences"] == 3
    assert "nrefs:2|case:lc" in scores["bleu_signature"]
    assert "tok:none" in scores["bleu_signature"]


def test_evaluate_holds_each_translation_against_its_own_reference(
    call, model_file, tmp_path
):
    pytest.importorskip("sacrebleu")
    sources = [source for source, _ in toy_corpus().train[:4]]
    own = [text.replace("\n", " ") for text in Translator.load(model_file)(sources)]
    scores = []
    for lines in (own, [*own[1:], own[0]]):
        for name, texts in (("source", sources), ("reference", lines)):
            (tmp_path / name).write_text("".join(f"{text}\n" for text in texts))
        given = [f"--{name}={tmp_path / name}" for name in ("source", "reference")]
        _, output, _ = call("evaluate", model_file, *given, "--json")
        scores.append(json.loads(output)["chrf"])
    assert scores[0] == pytest.approx(100)
    assert scores[1] < 99


def test_evaluate_refuses_files_that_do_not_match(call, model_file, files):
    (files / "short").write_text("one\n")
    for arguments, words in (
        ([], "Either --pairs, or --source with one --reference or more"),
        (["--source", files / "source"], "Either --pairs, or --source with"),
        (
            ["--source", files / "source", "--reference", files / "short"],
            f"{files / 'short'} must have as many lines as {files / 'source'}, 3. "
            "Received: 1.",
        ),
    ):
        code, output, errors = call("evaluate", model_file, *arguments)
        assert (code, output) == (2, "")
        assert words in errors


def test_the_next_version(tmp_path):
    assert next_version(tmp_path / "new") == tmp_path / "new" / "1"
    for name in ("2", "10", "x3"):
        (tmp_path / name).mkdir()
    assert next_version(tmp_path) == tmp_path / "11"


def test_a_saved_model_that_is_checked_and_described(call, model_file, tmp_path):
    base = tmp_path / "es"
    code, output, _ = call("export", model_file, base, "--beam=1", "--max-length=4")
    assert (code, output) == (0, f"{base / '1'}\n")
    code, output, errors = call("check", base)
    assert (code, errors) == (0, "")
    assert "signature serving_default" in output
    code, described, _ = call("info", base / "1", "--json")
    assert json.loads(described)["signatures"].keys() == {
        *("serving_default", "translate_ids", "score")
    }
    assert call("info", base)[1] == output
    (base / "1" / "variables" / "variables.index").unlink()
    code, output, _ = call("check", base)
    assert code == 1
    assert "PROBLEM" in output


def test_other_formats(call, model_file, tmp_path, monkeypatch):
    from keras_transformer import export

    written = []
    for name in ("export_onnx", "export_litert"):
        monkeypatch.setattr(
            export,
            name,
            lambda path, model, name=name, **options: written.append(
                (name, path.name, options)
            ),
        )
    call("export", model_file, tmp_path / "o", "--format=onnx", "--max-length=9")
    call("export", model_file, tmp_path / "l", "--format=litert")
    assert written == [
        ("export_onnx", "o", {"max_length": 9}),
        ("export_litert", "l", {"max_length": 24}),
    ]
    for options, words in (
        (
            ["--format=onnx", "--beam=2"],
            "which holds a search. Received: --form",
        ),
        (["--format=ctranslate2", "--length-penalty=0"], "which holds a search."),
        (["--format=ctranslate2", "--max-length=9"], "that hold a limit. Received"),
        (["--format=onnx", "--quantize=int4"], "must be int8 for --format onnx"),
        (["--n-best=5"], "`n_best` must be"),
        (["--format=ctranslate2", "--n-best=2"], "are for --format saved-model"),
        (["--format=tpu"], "'tpu' is not one of"),
    ):
        code, _, errors = call("export", model_file, tmp_path / "x", *options)
        assert code == 2
        assert words in errors
        assert not (tmp_path / "x").exists()


def test_ctranslate2_with_small_weights(call, model_file, tmp_path):
    pytest.importorskip("ctranslate2")
    folder = tmp_path / "ct2"
    given = ("export", model_file, folder, "--format=ctranslate2")
    assert call(*given, "--quantize=int8")[:2] == (0, f"{folder}\n")
    assert {"model.bin", "source.spm"} <= {path.name for path in folder.iterdir()}
    code, _, errors = call(*given)
    assert code == 2
    assert "`path` must not exist yet" in errors


def test_info_of_a_translator(call, model_file):
    code, output, errors = call("info", model_file)
    assert (code, errors) == (0, "")
    translator = Translator.load(model_file)
    assert f"Transformer, {translator.model.count_params():,} parameters" in output
    report = json.loads(call("info", model_file, "--json")[1])
    assert report["options"]["hidden_dim"] == 16
    assert report["tokenizer"]["vocabulary_size"] == 380
    assert report["search"]["name"] == "BeamSearch"
    assert report["search"]["num_beams"] == 3
    assert report["max_length"] == 24
    assert report["saved_by_keras"]


def test_attention_in_each_form(call, model_file, tmp_path):
    pytest.importorskip("matplotlib")
    sentence = sentences(1)[0]
    given = ("attention", model_file, sentence, "--target", "El perro.", "-o")
    for name, start in (
        ("a.html", b"<!doctype html>"),
        ("a.png", b"\x89PNG"),
        ("a.json", b"{"),
    ):
        file = tmp_path / name
        assert call(*given, file) == (0, f"{file}\n", "")
        assert file.read_bytes().lower().startswith(start.lower())
    data = json.loads((tmp_path / "a.json").read_text())
    assert len(data["cross"]) == 2
    for options, words in (
        ([tmp_path / "a.txt"], "must end in .html"),
        ([tmp_path / "no" / "a.png"], "must be in a folder that exists"),
        ([tmp_path / "b.png", "--part=middle"], "--part must be one of"),
        ([tmp_path / "b.html", "--layer=1"], "are for pictures"),
        ([tmp_path / "b.png", "--layer=2"], "`layer` must be an integer from 0 to 1"),
    ):
        code, output, errors = call(*given, *options)
        assert (code, output) == (2, "")
        assert words in errors


def test_demo_serves_the_translator(call, model_file, monkeypatch):
    served = []
    demo = types.ModuleType("keras_transformer.demo")
    demo.serve_demo = lambda translator, **options: served.append(
        (translator.search.num_beams, options)
    )
    monkeypatch.setitem(sys.modules, "keras_transformer.demo", demo)
    code, output, _ = call("demo", model_file, "--port=0", "--beam=2", "--open")
    assert (code, output) == (0, "")
    options = {"host": "127.0.0.1", "port": 0, "open_browser": True, "title": None}
    assert served == [(2, options)]
    call("demo", model_file, "--title=Toy", "--example=A dog.", "--example=A cow.")
    assert served[1][1]["title"] == "Toy"
    assert served[1][1]["examples"] == ["A dog.", "A cow."]


def test_the_librarys_warnings_and_errors_are_written_and_no_others(capsys):
    log = logging.getLogger("keras_transformer.demo.routes")
    with commands._own_log():
        for module in ("keras_transformer.visualization.label_fonts", "numpy"):
            text = f"of {module},\nsaid"
            warnings.warn_explicit(text, UserWarning, "file", 1, module=module)
        try:
            raise ArithmeticError("broken on purpose")
        except ArithmeticError:
            log.exception("The translator failed.")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Warning: of keras_transformer.visualization.label_fonts, said"
    assert lines[1] == "Error: The translator failed."
    assert lines[2].startswith("Traceback")
    assert lines[-1] == "ArithmeticError: broken on purpose"
