"""Models on disk: complete or unchanged, and checked when they are read."""

from __future__ import annotations

import os
import random
import zipfile

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from wengert import nn
from wengert.data import DataError
from wengert.engine.core.tree import leaves
from wengert.train import load_model, save_model
from wengert.train.storage import RunError

SMALL = {"a": nn.Dense(3, 2, seed=0), "b": [np.float64(2.5), 1.5, np.zeros((0, 2))], "none": None}


@pytest.fixture
def saved(tmp_path):
    save_model(tmp_path / "model.safetensors", SMALL)
    return tmp_path / "model.safetensors"


def test_a_model_comes_back_as_it_was(saved):
    again = load_model(saved, SMALL)
    assert list(again) == list(SMALL)
    assert isinstance(again["a"], nn.Dense)
    for actual, expected in zip(leaves(again), leaves(SMALL), strict=True):
        assert type(actual) is type(expected)
        np.testing.assert_array_equal(actual, expected)
    assert set(load_file(saved)) == {
        "model['a'].weight", "model['a'].bias", "model['b'][0]", "model['b'][1]", "model['b'][2]",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (nn.Dense(3, 2, seed=0), "not a file of this model"),
        (SMALL | {"c": 1.0}, r"not a file of this model: it lacks model\['c'\]$"),
        (
            {"a": SMALL["a"], "none": None, "x": [1.0] * 5},
            r"it lacks model\['x'\]\[0\], model\['x'\]\[1\], model\['x'\]\[2\] and 2 more; "
            r"it holds model\['b'\]\[0\].*, which the model does not have$",
        ),
        (
            SMALL | {"a": nn.Dense(3, 3, seed=0)},
            r"must be float32\(3, 3\); got float32\(3, 2\)|must be float32\(3,\)",
        ),
        (SMALL | {"b": [np.float32(1), 1.0, np.zeros((0, 2))]}, r"must be float32\(\); got float64\(\)"),
    ],
)
def test_a_file_of_another_model(saved, model, message):
    with pytest.raises(DataError, match=message) as error:
        load_model(saved, model)
    assert "model.safetensors" in str(error.value)


def test_arrays_with_gaps_and_of_the_other_byte_order(tmp_path):
    """The format requires contiguous arrays."""
    plain = np.arange(12.0).reshape(3, 4)
    for number, array in enumerate(
        (plain.T, plain[:, ::2], plain[::-1], plain.astype(">f8"), np.asarray(2.5))
    ):
        path = tmp_path / f"{number}.safetensors"
        save_model(path, [array])
        (actual,) = load_file(path).values()
        np.testing.assert_array_equal(actual, array)
        native = array.astype(array.dtype.newbyteorder("="))
        np.testing.assert_array_equal(load_model(path, [native])[0], array)


def test_a_model_in_the_place_of_the_path(tmp_path):
    with pytest.raises(TypeError, match=r"save_model: .* a path; got Dense; write save_model\(path, model\)"):
        save_model(nn.Dense(3, 2, seed=0), tmp_path / "model.safetensors")


def test_files_of_the_version_before(tmp_path):
    layer = nn.Dense(3, 2, seed=0)
    np.savez(tmp_path / "model.npz", **{"model.weight": layer.weight, "model.bias": layer.bias})
    np.testing.assert_array_equal(load_model(tmp_path / "model.npz", layer).weight, layer.weight)
    with pytest.raises(ValueError, match=r"must be named \*\.safetensors; got .*model\.npz"):
        save_model(tmp_path / "model.npz", layer)


def test_files_that_are_no_models(saved):
    layer, place = SMALL["a"], saved.with_name
    np.save(place("array.npy"), np.ones(3))
    place("text").write_text("hello")
    place("empty").write_bytes(b"")
    save_file({"model.weight": layer.weight}, place("bare"))
    place("half.npz").write_bytes(b"PK\x03\x04")
    with zipfile.ZipFile(place("text.npz"), "w") as archive:
        archive.writestr("model.weight.npy", "hello")
    np.savez(place("code.npz"), **{"model.weight": np.array([print], object)})  # nothing is unpickled
    for name in ("array.npy", "text", "empty", "bare", "half.npz", "text.npz", "code.npz"):
        with pytest.raises(DataError, match=f"{name}: (the file is damaged|it is no)"):
            load_model(place(name), layer)
    with pytest.raises(FileNotFoundError):
        load_model(place("nothing.safetensors"), SMALL)


def test_damage_is_an_error_or_harmless(saved):
    """After random changes or truncation, loading returns the same model or raises DataError."""
    whole, rng, refused = saved.read_bytes(), random.Random(0), 0
    for trial in range(300):
        damaged = bytearray(whole)
        if trial % 3:
            for _ in range(rng.choice((1, 3))):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        else:
            del damaged[rng.randrange(len(damaged)) :]
        saved.write_bytes(damaged)
        try:
            again = load_model(saved, SMALL)
        except DataError:
            refused += 1
        else:
            for actual, expected in zip(leaves(again), leaves(SMALL), strict=True):
                np.testing.assert_array_equal(actual, expected)
    assert refused > 200


def test_a_model_is_replaced_whole_or_not_at_all(saved, monkeypatch):
    before = saved.read_bytes()

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(
                RunError, match=r"model\.safetensors cannot be written: No space left on device"
            ):
                save_model(saved, {"other": np.ones(100)})
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["model.safetensors"]
    save_model(saved, {"other": np.ones(100)})
    np.testing.assert_array_equal(load_model(saved, {"other": np.zeros(100)})["other"], np.ones(100))
    with pytest.raises(RunError, match=r"nowhere/model\.safetensors cannot be written"):
        save_model(saved.parent / "nowhere" / "model.safetensors", SMALL)
