"""A language model is trained by one command, interrupted and resumed, and continues texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wengert import nn
from wengert.data import DataError
from wengert.data.texts import CONTEXT, own_text, pieces, text_set
from wengert.predict import Writer
from wengert.train import TASKS, Outcome, Run, RunFolder, load_model
from wengert.train.state import begin

TEXT = "to be, or not to be: that is the question. "


def writer_of(tmp_path: Any, model: Any = None) -> Writer:
    task = TASKS["gpt"]
    settings = task.settings("text")
    folder = RunFolder(tmp_path / "run", settings)
    state = begin(task, settings, 1)
    folder.finish(Outcome(state.model, [], False, state))
    writer = Writer.open(folder.path)
    return writer if model is None else Writer(writer.run, model)


def test_pieces_join_to_the_text() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        text, context = rng.bytes(int(rng.integers(0, 40))), int(rng.integers(1, 8))
        cut = pieces(text, context)
        joined = b"".join(bytes(piece[:-1]) for piece in cut) + bytes(cut[-1:, -1])
        assert text.startswith(joined)
        assert len(text) - len(joined) < context or not len(cut)


def test_a_file_as_a_text(tmp_path: Any) -> None:
    (tmp_path / "text").write_text(TEXT * 40)
    data = text_set(str(tmp_path / "text"))
    assert data.train_images.shape[1] == CONTEXT + 1
    assert len(data.test_images) == 3
    with pytest.raises(FileNotFoundError, match="nowhere cannot be read"):
        text_set(str(tmp_path / "nowhere"))
    (tmp_path / "text").write_text("short")
    with pytest.raises(DataError, match="at least 129 bytes; got 5"):
        text_set(str(tmp_path / "text"))


def test_the_text_is_that_of_full_forward_passes(tmp_path: Any) -> None:
    """The cache saves work, and changes nothing, also beyond the context, where the older half is forgotten."""
    writer = writer_of(tmp_path, nn.Transformer(256, 8, 2, 1, seed=0))
    writer.model.head.weight[:, 128:] = 0.0  # so that each byte is a character
    text = "".join(writer.write(TEXT, characters=30, temperature=0.0))
    symbols, held = list(TEXT.encode()), 0
    for _ in range(30):
        if len(symbols) - held > CONTEXT:
            held = len(symbols) - CONTEXT // 2
        symbols.append(int(np.argmax(writer.model(np.array(symbols[held:]))[-1])))
    assert text.encode() == bytes(symbols[len(TEXT) :])


def test_the_seed_decides_the_text(tmp_path: Any) -> None:
    writer = writer_of(tmp_path)
    first, again, other = ("".join(writer.write("a", characters=12, seed=seed)) for seed in (0, 0, 1))
    assert first == again != other
    assert len(first) == 12
    assert list(writer.write("a", characters=0)) == []
    with pytest.raises(ValueError, match="temperature must not be negative"):
        next(writer.write("a", temperature=-1.0))


def test_a_model_of_ones_own_needs_no_cache(tmp_path: Any) -> None:
    def shifted(symbols: Any) -> Any:
        return 50.0 * np.eye(256)[(symbols + 1) % 256]

    assert "".join(writer_of(tmp_path, shifted).write("ab", characters=4)) == "cdef"
    accents = writer_of(tmp_path / "accents", lambda s: 50.0 * np.eye(256)[np.where(s == 0xC3, 0xA9, 0xC3)])
    assert "".join(accents.write("x", characters=3)) == "ééé"


@pytest.mark.slow
def test_the_package_is_a_text() -> None:
    assert len(own_text()) > 100_000


@pytest.mark.slow
def test_train_interrupt_resume_and_write(wengert: Any, tmp_path: Any) -> None:
    (tmp_path / "hamlet.txt").write_text(TEXT * 150)
    options = ("--text", "hamlet.txt", "--batch-size", 8, "--lr", 0.01)
    wengert("train", "gpt", *options, "--epochs", 4, "--schedule", "constant", "--out", "whole")
    wengert("train", "gpt", *options, "--epochs", 2, "--schedule", "constant", "--out", "parts")
    wengert("train", "--resume", "parts", "--epochs", 4)
    runs = [Run.open(tmp_path / name) for name in ("whole", "parts")]
    assert runs[0].history[-1].test_loss == runs[1].history[-1].test_loss < 0.5
    like = nn.Transformer(256, 64, 4, 2, seed=0)
    models = [load_model(tmp_path / name / "model.safetensors", like) for name in ("whole", "parts")]
    np.testing.assert_array_equal(models[0].head.weight, models[1].head.weight)
    ended = wengert("predict", "whole", "--prompt", "to be, or not ", "--characters", 43, "--temperature", 0)
    assert ended.out == "to be, or not to be: that is the question. to be, or not \n"
    assert "report.html" in wengert("report", "whole").out
    wengert("predict", "whole", "0.png").failed(1, "does not classify images")
    wengert("predict", "whole", "0.png", "--seed", 1).failed(2, "take no IMAGES")
    wengert("train", "gpt", "--data", "digits").failed(2, "gpt learns text; got --data digits")
    wengert("train", "cnn", "--text", "hamlet.txt").failed(2, "cnn learns images")
