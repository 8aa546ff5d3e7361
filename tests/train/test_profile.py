"""Where the time goes: parts that do not overlap and make up the epoch."""

from __future__ import annotations

import json
import time

import pytest

from tests.commands import mnist
from wengert.data import load
from wengert.train import TASKS, train
from wengert.train.profile import CHECKPOINTS, COMPILING, DATA, EVALUATION, LOGGING, STEPS, Stopwatch


def test_parts_make_up_the_epoch():
    watch = Stopwatch()
    for pause in (0.0, 0.02, 0.01, 0.04):
        watch.begin()
        with watch.measuring(COMPILING):
            time.sleep(0.005)
        with watch.measuring(STEPS):
            time.sleep(pause)
        time.sleep(0.005)
        watch.end()
    table = watch.table()
    assert {part for part, _, _ in table} == {STEPS, "the loop itself"}
    assert sum(share for _, _, share in table) == pytest.approx(1)
    assert {part: seconds for part, seconds, _ in table}[STEPS] == pytest.approx(0.02, abs=0.015)
    assert watch.compiling >= 0.02
    assert Stopwatch().table() == []


def test_a_profile_of_a_run(wengert, small_mnist, no_pictures, tmp_path):
    ended = wengert("train", "mlp", *mnist(small_mnist), "--epochs", 3, "--profile", "--out", "run")
    assert (ended.code, ended.err) == (0, "")
    assert "compiling " in ended.out
    profile = json.loads((tmp_path / "run" / "profile.json").read_text())
    assert set(profile["typical_epoch"]) == {
        STEPS, EVALUATION, DATA, LOGGING, CHECKPOINTS, "the loop itself",
    }  # fmt: skip
    assert profile["compiling"] == pytest.approx(profile["epochs"][0][COMPILING])
    for part in profile["typical_epoch"]:
        assert f"profile   {part}" in ended.out


@pytest.mark.slow
def test_an_epoch_is_spent_in_compiled_code(mnist_folder):
    task, watch = TASKS["cnn"], Stopwatch()
    train(task, task.settings("mnist", epochs=5), load("mnist", mnist_folder), stopwatch=watch)
    shares = {part: share for part, _, share in watch.table()}
    assert shares[STEPS] + shares[EVALUATION] >= 0.9
