"""What a run is asked to do, and what it survives, as a user meets it."""

from __future__ import annotations

import errno
import os
import random
import re
import signal
import sys
import tempfile
import time

import numpy as np
import pytest

from tests.commands import end, mnist, start, wait_for
from wengert.backend.team import get_threads
from wengert.train import Run, keeper, load_model
from wengert.train.folder import RunFolder
from wengert.train.tasks import TASKS
from wengert.tree import leaves


def same(left, right):
    """Tell whether two runs came to the same: final parameters and metrics, bit for bit."""
    models = [leaves(Run.open(folder).model()) for folder in (left, right)]
    metrics = [[result[:5] for result in Run.open(folder).history] for folder in (left, right)]
    steps = [Run.open(folder).steps for folder in (left, right)]
    arrays = all(a.tobytes() == b.tobytes() for a, b in zip(*models, strict=True))
    return arrays and metrics[0] == metrics[1] and steps[0] == steps[1]


@pytest.fixture
def quick(wengert, small_mnist, monkeypatch):
    """Train the perceptron on few images without pictures, in a folder ``run`` unless another is named."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    def run(*options, network=("mlp",)):
        out = () if {"--out", "--resume", "--dry-run"} & set(options) else ("--out", "run")
        data = () if "--resume" in options else mnist(small_mnist)
        return wengert("train", *network, *data, *options, *out)

    return run


# -- settings --------------------------------------------------------------------------------------------


def test_options_override_the_file(quick, tmp_path):
    (tmp_path / "mine.toml").write_text(
        'network = "mlp"\nepochs = 4\nbatch-size = 50\nlr = 1\nlog_every = 2\ndeterministic = true\nkeep = 3\n'
    )
    options = ("--settings", "mine.toml", "--epochs", 1, "--lr", 0.002, "--no-deterministic")
    assert quick(*options, network=()).code == 0
    settings = Run.open("run").settings
    assert (settings.task, settings.epochs, settings.batch_size, settings.rate) == ("mlp", 1, 50, 0.002)
    assert (settings.deterministic, settings.keep, settings.threads) == (False, 3, get_threads())
    assert [line["step"] for line in Run.open("run").steps] == [2, 4]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("epochs = 2\nbatchsize = 3\n", "mine.toml:2: there is no setting 'batchsize'; there are network"),
        ("\n# more\nepochs = 1.5\n", "mine.toml:3: epochs must be an integer of at least 1; got 1.5"),
        ("epochs = true\n", "mine.toml:1: epochs must be an integer of at least 1; got True"),
        ("lr = nan\n", "mine.toml:1: lr must be a positive finite number; got nan"),
        ("keep = 'all'\n", "mine.toml:1: keep must be best, last or an integer"),
        ("seed = 1\n[train]\nepochs = 1\n", "mine.toml:2: there is no setting 'train'"),
        ("network = 'gan'\n", "network must be one of cnn, rnn, lstm, gru, autoencoder, mlp"),
        ("network = 'mlp'\nrecipe = 'fast'\n", "recipe must be one of paper for mlp; got 'fast'"),
        ("epochs = 1\nepochs = 2\n", "mine.toml: Cannot overwrite a value (at line 2"),
        ("network = 'mlp'\nmodel = 'a.py:b'\n", "network and model cannot both be set"),
        (None, "mine.toml cannot be read: No such file"),
        ("\udcff", "mine.toml: 'utf-8' codec can't decode"),
    ],
)
def test_wrong_settings_exit_with_2(quick, tmp_path, text, says):
    if text is not None:
        (tmp_path / "mine.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    quick("--settings", "mine.toml", network=()).failed(2, says)
    assert not (tmp_path / "run").exists()


def test_a_dry_run_writes_nothing(quick, tmp_path):
    ended = quick("--dry-run", "--profile")
    assert (ended.code, ended.err) == (0, "")
    assert "dry run   of one batch" in ended.out
    assert {path.name for path in tmp_path.iterdir()} <= {"cache"}


def test_threads(quick):
    before = get_threads()
    for options, expected in (
        (("--threads", 3), 3),
        (("--deterministic",), 1),
        (("--deterministic", "--threads", 2), 2),
    ):
        ended = quick("--dry-run", *options)
        assert f", {expected} thread" in ended.out
    assert get_threads() == before


# -- early stopping and the best model -------------------------------------------------------------------


def worse_and_worse(monkeypatch):
    """Make each epoch of the perceptron worse than the one before, so that the first is the best."""
    task = TASKS["mlp"]
    monkeypatch.setitem(
        TASKS, "mlp", task._replace(loss=lambda *given: (-task.loss(*given)[0], given[2].sum() * 0.0))
    )


def test_patience(quick, monkeypatch):
    worse_and_worse(monkeypatch)
    monkeypatch.setitem(TASKS, "mlp", TASKS["mlp"]._replace(classifies=False))
    assert quick("--epochs", 9, "--patience", 9, "--out", "all").code == 0
    monkeypatch.setitem(TASKS, "mlp", TASKS["mlp"]._replace(classifies=True))
    assert quick("--epochs", 9, "--patience", 2).code == 0
    assert [result.epoch for result in Run.open("run").history] == [1, 2, 3], "the scores are all equal"
    assert len(Run.open("all").history) == 9, "the losses fall all the time"


def test_the_best_model(quick, monkeypatch, tmp_path):
    worse_and_worse(monkeypatch)
    assert quick("--epochs", 1, "--out", "one").code == 0
    assert quick("--epochs", 4, "--keep", "best").code == 0
    assert quick("--epochs", 4, "--out", "last").code == 0
    one, best, last = (leaves(Run.open(name).model()) for name in ("one", "run", "last"))
    assert all(np.array_equal(a, b) for a, b in zip(one, best, strict=True))
    assert not np.array_equal(one[0], last[0])
    kept = sorted(path.stem for path in (tmp_path / "run" / "checkpoints").glob("*.json"))
    assert kept == ["step-00000002", "step-00000006", "step-00000008"]
    assert len(list((tmp_path / "last" / "checkpoints").iterdir())) == 4


# -- going on --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", ["last", "best"])
def test_a_run_goes_on_where_it_was(quick, monkeypatch, keep):
    """Interrupted after any number of steps, inside an epoch or between two."""
    options = (
        "--epochs",
        3,
        "--batch-size",
        30,
        "--eager",
        "--log-every",
        1,
        "--keep",
        keep,
        "--patience",
        3,
    )
    assert quick(*options, "--out", "whole").code == 0
    steps = 3 * 7

    for stop in (1, 7, 10, steps):
        told = []

        def on_steps(self, progress, state, stop=stop, told=told, before=keeper.Keeper.on_steps):
            told.append(progress)
            if len(told) == stop:
                self.interrupts.signal = signal.SIGTERM
            before(self, progress, state)

        with monkeypatch.context() as patch:
            patch.setattr(keeper.Keeper, "on_steps", on_steps)
            ended = quick(*options, "--out", f"cut{stop}")
        assert ended.code == 128 + signal.SIGTERM
        assert f"by SIGTERM; what was learned until then is saved in cut{stop}\n" in ended.out
        ended = quick("--resume", f"cut{stop}", network=())
        assert (ended.code, ended.err) == (0, "")
        assert "resumed   after" in ended.out
        assert same("whole", f"cut{stop}")


def test_a_finished_run_goes_on_with_more_epochs(quick):
    assert quick("--epochs", 3, "--out", "whole").code == 0
    assert quick("--epochs", 1).code == 0
    assert quick("--resume", "run", "--epochs", 3, network=()).code == 0
    assert same("whole", "run")
    assert quick("--resume", "run", network=()).code == 0, "nothing is left to do"
    assert same("whole", "run")


@pytest.mark.parametrize(("limit", "steps"), [(1, 1), (30, 1), (100, 1), (150, 2), (1000, 2)])
def test_the_first_images_alone(quick, limit, steps):
    ended = quick("--limit", limit, "--epochs", 2, "--batch-size", 100, "--log-every", 1)
    assert (ended.code, ended.err) == (0, "")
    assert f"{min(limit, 200)} images to train" in ended.out
    run = Run.open("run")
    assert [line["step"] for line in run.steps] == [*range(1, steps + 1)] * 2
    assert len(run.dataset().train_images) == min(limit, 200)
    quick("--resume", "run", "--limit", 7, network=()).failed(2, f"limit is {limit} in run")
    assert quick("--resume", "run", "--epochs", 3, network=()).code == 0


def test_what_cannot_be_resumed(quick, tmp_path, small_mnist):
    quick("--resume", "nowhere", network=()).failed(1, "nowhere: this is not the folder of a run")
    assert quick("--epochs", 1).code == 0
    for option, value in (
        ("--lr", 0.5),
        ("--seed", 3),
        ("--batch-size", 7),
        ("--keep", "best"),
        ("--data", "digits"),
    ):
        quick("--resume", "run", option, value, network=()).failed(
            2, option[2:], "cannot change when it is resumed"
        )
    quick("--resume", "run", network=("cnn",)).failed(2, "network is mlp in run")
    for option, said in (("--clip=1", "clip is not set in run"), ("--eager", "eager is off in run")):
        ended = quick("--resume", "run", option, network=())
        ended.failed(2, said, "cannot change when it is resumed")
        assert "None" not in ended.err
    for option in (("--out", "new"), ("--settings", "x.toml"), ("--dry-run",)):
        quick("--resume", "run", *option, network=()).failed(2, "--resume goes with neither")
    quick("--epochs", 1).failed(1, "run is not empty: go on with it by --resume")
    with RunFolder.again("run").in_use():
        quick("--resume", "run", network=()).failed(1, "run is being trained by another process")


def test_a_plan_is_not_lost(quick):
    assert quick("--epochs", 2).code == 0
    quick("--resume", "run", "--epochs", 1, network=()).failed(2, "epochs is 1", "has gone through 2 epochs")
    assert Run.open("run").settings.epochs == 2
    ended = quick("--resume", "run", network=())
    assert ended.code == 0
    assert "the run has come to its end; --epochs N goes on" in " ".join(ended.out.split())


def test_other_images_are_noticed(quick, tmp_path, small_mnist):
    folder = tmp_path / "mine"
    folder.mkdir()
    for path in small_mnist.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    assert quick("--data-dir", folder, "--epochs", 1).code == 0
    labels = folder / "train-labels-idx1-ubyte"
    content = bytearray(labels.read_bytes())
    content[-1] = (content[-1] + 1) % 10
    labels.write_bytes(content)
    quick("--resume", "run", network=()).failed(1, "the run learned other images than those of mnist now")


@pytest.mark.parametrize("part", ["json", "safetensors", "torn", "missing"])
def test_a_damaged_checkpoint_is_named_and_the_one_before_is_used(quick, tmp_path, part):
    assert quick("--epochs", 3, "--out", "whole").code == 0
    assert quick("--epochs", 3).code == 0
    folder = tmp_path / "run" / "checkpoints"
    old, new = (folder / f"step-{number:08}" for number in (4, 6))
    if part in ("json", "safetensors"):
        path = new.with_suffix(f".{part}")
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 4
        path.write_bytes(content)
    elif part == "torn":  # of another step
        new.with_suffix(".safetensors").write_bytes(old.with_suffix(".safetensors").read_bytes())
    else:
        new.with_suffix(".safetensors").unlink()
    ended = quick("--resume", "run", network=())
    assert (ended.code, ended.err) == (0, "")
    assert re.search(r"warning   .*run/checkpoints/step-00000006\.", ended.out)
    assert "resumed   after 2 epochs and 0 steps" in ended.out
    assert same("whole", "run")
    assert {path.stem for path in folder.glob("step-*")} == {"step-00000004", "step-00000006"}
    assert list(folder.glob("damaged-step-00000006.*")), "it is put aside, not lost"
    ended = quick("--resume", "run", network=())
    assert (ended.code, "warning" in ended.out) == (0, False)


def test_no_checkpoint_is_whole(quick, tmp_path):
    assert quick("--epochs", 2).code == 0
    folder = tmp_path / "run" / "checkpoints"
    for path in folder.glob("*.json"):
        path.write_text("{}")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    quick("--resume", "run", network=()).failed(
        1, "step-00000004.json: the checkpoint is damaged", "no other checkpoint is whole"
    )
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_other_versions_are_told(quick, tmp_path):
    assert quick("--epochs", 1).code == 0
    settings = tmp_path / "run" / "settings.json"
    settings.write_text(re.sub(r'"numpy": "[^"]*"', '"numpy": "2.0.0"', settings.read_text()))
    ended = quick("--resume", "run", "--epochs", 2, network=())
    assert ended.code == 0
    assert "note      the run began with numpy 2.0.0, this is" in ended.out


def killed_and_resumed(small_mnist, folder, moments, epochs):
    """Train in processes that are killed after so many seconds of training, until one comes to the end."""
    data, resumed = mnist(small_mnist), False
    command = (
        "train",
        "mlp",
        *data,
        "--epochs",
        epochs,
        "--batch-size",
        20,
        "--save-every",
        0.05,
        "--out",
        "run",
    )
    for moment in moments:
        before = (folder / "run" / "metrics.jsonl").stat().st_mtime_ns if resumed else 0
        process = start(*(("train", "--resume", "run") if resumed else command), cwd=folder)
        metrics = folder / "run" / "metrics.jsonl"
        wait_for(lambda: metrics.exists() and metrics.stat().st_mtime_ns != before, process)  # noqa: B023
        time.sleep(moment)
        process.kill()
        process.communicate()
        resumed = (folder / "run" / "settings.json").exists()
    return end(start("train", "--resume", "run", cwd=folder))


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_kill_9_at_any_moment(small_mnist, tmp_path, kills):
    epochs = 40 * kills
    whole = tmp_path / "whole"
    whole.mkdir()
    command = ("train", "mlp", *mnist(small_mnist), "--epochs", epochs, "--batch-size", 20, "--out", "run")
    assert end(start(*command, cwd=whole)).code == 0
    moments = [random.Random(kills).uniform(0, 0.5) for _ in range(kills)]
    ended = killed_and_resumed(small_mnist, tmp_path, moments, epochs)
    assert (ended.code, ended.err) == (0, "")
    assert same(whole / "run", tmp_path / "run")
    assert not list((tmp_path / "run").rglob(".*")), "no partial file stays behind"


# -- what cannot be written ------------------------------------------------------------------------------


@pytest.fixture
def full_disk(monkeypatch):
    """Let no file be written any more whose path holds one of some words."""
    words = []
    plain = os.fsync

    def fsync(number):
        path = os.readlink(f"/proc/self/fd/{number}")
        if any(word in path for word in words):
            raise OSError(errno.ENOSPC, "No space left on device")
        plain(number)

    monkeypatch.setattr(os, "fsync", fsync)
    return words


def test_a_model_that_finds_no_room_is_saved_elsewhere(quick, full_disk, tmp_path, monkeypatch):
    (tmp_path / "spare").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spare"))
    full_disk += ["run/.model", "run/checkpoints"]
    ended = quick("--epochs", 2)
    ended.failed(1, "run/model.safetensors cannot be written: No space left on device; the model is saved in")
    assert ended.out.count("warning   ") == 1
    (saved,) = (tmp_path / "spare").rglob("model.safetensors")
    assert str(saved) in ended.err
    task = TASKS["mlp"]
    assert leaves(load_model(saved, task.build(np.random.default_rng(0))))
    assert len(Run.open("run").history) == 2
    full_disk += ["spare", "again/.model"]
    quick("--epochs", 2, "--out", "run/again").failed(1, "nor could the model be saved in")


def test_logs_and_checkpoints_that_find_no_room_do_not_end_a_run(quick, full_disk):
    full_disk.append("run/checkpoints")
    ended = quick("--epochs", 2)
    ended.failed(
        1, "run/checkpoints/step-00000002.safetensors cannot be written", "is saved in run/model.safetensors"
    )
    assert "examples/s" in ended.out, "the table is shown all the same"
    assert len(Run.open("run").history) == 2
    assert leaves(Run.open("run").model())


def test_a_folder_that_may_not_be_written(quick, monkeypatch):
    assert quick("--epochs", 1).code == 0
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)  # root may write anywhere
    quick("--resume", "run", network=()).failed(1, "run cannot be written: Permission denied")
    quick("--out", "new").failed(1, "new cannot be written")
