import os

import pytest

from keras_transformer.cli.backend_start import ONEDNN, start_backend


@pytest.mark.parametrize(
    ("before", "to_train", "after"),
    [(None, True, "1"), (None, False, None), ("0", True, "0")],
)
def test_training_turns_onednn_on_unless_told_otherwise(
    monkeypatch, before, to_train, after
):
    monkeypatch.setenv(ONEDNN, before or "")
    if before is None:
        monkeypatch.delenv(ONEDNN)
    start_backend(to_train=to_train)
    assert os.environ.get(ONEDNN) == after
