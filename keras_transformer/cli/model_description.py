"""What is in a translator file or an exported folder."""

import io
import json
import zipfile
from dataclasses import asdict

import keras_transformer
from keras_transformer.cli.backend_start import start_backend
from keras_transformer.cli.saved_translator import load_translator

LABEL_WIDTH = 24


def described_export(folder):
    """Return a dictionary and a text of a SavedModel."""
    start_backend()
    from keras_transformer.export import check

    report = check(folder)
    return {**asdict(report), "path": str(report.path)}, str(report)


def described_translator(path):
    """Return a dictionary and a text of a translator file."""
    translator = load_translator(path)
    model = translator.model
    report = {
        "path": str(path),
        "bytes": path.stat().st_size,
        "model": type(model).__name__,
        "parameters": model.count_params(),
        "dtype": model.dtype_policy.name,
        "options": _plain(getattr(model, "options", {})),
        "tokenizer": _tokenizer(translator.tokenizer),
        "target_tokenizer": (
            None
            if translator.target_tokenizer is translator.tokenizer
            else _tokenizer(translator.target_tokenizer)
        ),
        "search": {
            "name": type(translator.search).__name__,
            **_plain(translator.search.get_config()),
        },
        "max_length": translator.max_length,
        "max_source_length": translator.max_source_length,
        "batch_size": translator.batch_size,
        **_versions(path),
    }
    return report, as_text(report)


def as_text(report):
    """Return a description as people read it, a line for each thing."""
    search = dict(report["search"])
    lines = [
        ("File", f"{report['path']}, {report['bytes'] / 1e6:.1f} MB"),
        ("Model", f"{report['model']}, {report['parameters']:,} parameters"),
        ("Precision", report["dtype"]),
        *(_label(name, value) for name, value in report["options"].items()),
        ("Tokenizer", _in_words(report["tokenizer"])),
    ]
    if report["target_tokenizer"]:
        lines.append(("Target tokenizer", _in_words(report["target_tokenizer"])))
    lines += [
        ("Search", search.pop("name")),
        *(_label(name, value) for name, value in search.items()),
        ("Longest source", f"{report['max_source_length']} tokens with the end"),
        ("Longest target", f"{report['max_length']} tokens with the start"),
        ("Batch", f"{report['batch_size']} sentences"),
        ("Saved", f"{report['saved']} by Keras {report['saved_by_keras']}"),
        ("Read by", f"keras_transformer {report['keras_transformer']}"),
    ]
    return "\n".join(f"{label:<{LABEL_WIDTH}}  {value}" for label, value in lines)


def _label(name, value):
    return f"  {name}", value


def _tokenizer(tokenizer):
    return {
        "name": type(tokenizer).__name__,
        "vocabulary_size": tokenizer.vocabulary_size(),
    }


def _in_words(tokenizer):
    return f"{tokenizer['name']} of {tokenizer['vocabulary_size']:,} pieces"


def _plain(options):
    """Return options that JSON can hold."""
    return json.loads(json.dumps(options, default=repr))


def _versions(path):
    """Read what Keras noted when it saved the model."""
    with zipfile.ZipFile(path) as archive:
        saved = io.BytesIO(archive.read("model.keras"))
    with zipfile.ZipFile(saved) as model:
        noted = json.loads(model.read("metadata.json"))
    return {
        "saved": noted.get("date_saved"),
        "saved_by_keras": noted.get("keras_version"),
        "keras_transformer": keras_transformer.__version__,
    }
