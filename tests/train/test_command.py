"""``wengert train``: settings, early stopping, resuming, and killed processes."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import time
from itertools import zip_longest

import numpy as np
import pytest

from tests.commands import end, mnist, start, wait_for
from wengert import nn
from wengert.compiler.runtime.threads.team import get_threads
from wengert.engine.core.tree import leaves
from wengert.train import Run, reporters
from wengert.train.runs import MODEL, RunFolder
from wengert.train.storage import read_arrays
from wengert.train.tasks import TASKS


def differences(left, right):
    """Describe the differences of two runs, bit for bit: final parameters, results of epochs, logged steps."""
    runs = [Run.open(folder) for folder in (left, right)]
    arrays = [read_arrays(run.path / MODEL) for run in runs]
    actual = (
        [f"names: {sorted(arrays[0].keys() ^ arrays[1].keys())}"]
        if arrays[0].keys() != arrays[1].keys()
        else []
    )
    for name in arrays[0].keys() & arrays[1].keys():
        ours, others = (np.atleast_1d(file[name]) for file in arrays)
        if ours.dtype != others.dtype or ours.shape != others.shape:
            actual.append(f"{name}: {ours.dtype}{ours.shape}, {others.dtype}{others.shape}")
        elif ours.tobytes() != others.tobytes():
            count = np.sum(ours.view(np.uint8) != others.view(np.uint8))
            actual.append(f"{name}: {count} bytes of {ours.nbytes}, by up to {np.max(np.abs(ours - others))}")
    histories = [[result[:5] for result in run.history] for run in runs]
    for kind, (left_lines, right_lines) in (("epoch", histories), ("step", [run.steps for run in runs])):
        first = next((pair for pair in zip_longest(left_lines, right_lines) if pair[0] != pair[1]), None)
        actual += [f"first {kind} that differs: {first}"] if first else []
    return actual


def same(left, right):
    """Return whether two runs have the same results."""
    return not differences(left, right)


# -- settings --------------------------------------------------------------------------------------------


def test_options_override_the_file(quick, tmp_path):
    (tmp_path / "mine.toml").write_text(
        'network = "mlp"\nepochs = 4\nbatch-size = 50\nlr = 1\nlog_every = 2\ndeterministic = true\nkeep = 3\n'
    )
    options = ("--settings", "mine.toml", "--eager", "--epochs", 1, "--lr", 0.002, "--no-deterministic")
    assert quick(*options, network=()).code == 0
    settings = Run.open("run").settings
    assert (settings.task, settings.epochs, settings.batch_size, settings.rate) == ("mlp", 1, 50, 0.002)
    assert (settings.deterministic, settings.keep, settings.threads) == (False, 3, get_threads())
    assert [line["step"] for line in Run.open("run").steps] == [2, 4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epochs = 2\nbatchsize = 3\n", "mine.toml:2: unknown setting 'batchsize'; the settings are network"),
        ("\n# more\nepochs = 1.5\n", "mine.toml:3: epochs must be an integer of at least 1; got 1.5"),
        ("epochs = true\n", "mine.toml:1: epochs must be an integer of at least 1; got True"),
        ("lr = nan\n", "mine.toml:1: lr must be a positive finite number; got nan"),
        ("keep = 'all'\n", "mine.toml:1: keep must be best, last or an integer"),
        ("seed = 1\n[train]\nepochs = 1\n", "mine.toml:2: unknown setting 'train'"),
        ("network = 'gan'\n", "network must be one of cnn, rnn, lstm, gru, autoencoder, mlp"),
        ("network = 'mlp'\nrecipe = 'fast'\n", "recipe must be one of paper for mlp; got 'fast'"),
        ("epochs = 1\nepochs = 2\n", "mine.toml: Cannot overwrite a value (at line 2"),
        ("network = 'mlp'\nmodel = 'a.py:b'\n", "network and model cannot both be set"),
        (None, "mine.toml cannot be read: No such file"),
        ("\udcff", "mine.toml: 'utf-8' codec can't decode"),
    ],
)
def test_wrong_settings_exit_with_2(quick, tmp_path, text, message):
    if text is not None:
        (tmp_path / "mine.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    quick("--settings", "mine.toml", network=()).failed(2, message)
    assert not (tmp_path / "run").exists()


def test_a_dry_run_writes_nothing(quick, tmp_path):
    ended = quick("--dry-run", "--profile")
    assert (ended.code, ended.err) == (0, "")
    assert "dry run   one batch" in ended.out
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
    assert quick("--eager", "--epochs", 9, "--patience", 9, "--out", "all").code == 0
    monkeypatch.setitem(TASKS, "mlp", TASKS["mlp"]._replace(classifies=True))
    assert quick("--eager", "--epochs", 9, "--patience", 2).code == 0
    assert [result.epoch for result in Run.open("run").history] == [1, 2, 3], "all scores are equal"
    assert len(Run.open("all").history) == 9, "the losses always fall"


def test_the_best_model(quick, monkeypatch, tmp_path):
    worse_and_worse(monkeypatch)
    assert quick("--eager", "--epochs", 1, "--out", "one").code == 0
    assert quick("--eager", "--epochs", 4, "--keep", "best").code == 0
    assert quick("--eager", "--epochs", 4, "--out", "last").code == 0
    one, best, last = (leaves(Run.open(name).model()) for name in ("one", "run", "last"))
    assert all(np.array_equal(a, b) for a, b in zip(one, best, strict=True))
    assert not np.array_equal(one[0], last[0])
    kept = sorted(path.stem for path in (tmp_path / "run" / "checkpoints").glob("*.json"))
    assert kept == ["step-00000002", "step-00000006", "step-00000008"]
    assert len(list((tmp_path / "last" / "checkpoints").iterdir())) == 4


# -- resuming --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", [1, 7, 10, 3 * 7])
@pytest.mark.parametrize("keep", ["last", "best"])
def test_a_run_goes_on_where_it_was(quick, monkeypatch, keep, stop):
    """A run may be interrupted after any number of steps, within an epoch or between two."""
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
    log = []

    def on_steps(self, progress, state, before=reporters.RunReporter.on_steps):
        log.append(progress)
        if len(log) == stop:
            self.interrupts.signal = signal.SIGTERM
        before(self, progress, state)

    with monkeypatch.context() as patch:
        patch.setattr(reporters.RunReporter, "on_steps", on_steps)
        ended = quick(*options, "--out", "cut")
    assert ended.code == 128 + signal.SIGTERM
    assert "by SIGTERM; the run is saved in cut\n" in ended.out
    ended = quick("--resume", "cut", network=())
    assert (ended.code, ended.err) == (0, "")
    assert "resumed   after" in ended.out
    assert same("whole", "cut")


def test_a_finished_run_goes_on_with_more_epochs(quick):
    assert quick("--epochs", 3, "--out", "whole").code == 0
    assert quick("--epochs", 1).code == 0
    assert quick("--resume", "run", "--epochs", 3, network=()).code == 0
    assert same("whole", "run")
    assert quick("--resume", "run", network=()).code == 0, "nothing is left to do"
    assert same("whole", "run")


@pytest.mark.parametrize(("limit", "steps"), [(1, 1), (30, 1), (100, 1), (150, 2), (1000, 2)])
def test_the_first_images_alone(quick, limit, steps):
    ended = quick("--eager", "--limit", limit, "--epochs", 2, "--batch-size", 100, "--log-every", 1)
    assert (ended.code, ended.err) == (0, "")
    assert f"{min(limit, 200)} images to train" in ended.out
    assert f"batch size {min(limit, 100)}," in ended.out
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
            2, option[2:], "a resumed run cannot change it"
        )
    quick("--resume", "run", network=("cnn",)).failed(2, "network is mlp in run")
    for option, message in (("--clip=1", "clip is not set in run"), ("--eager", "eager is off in run")):
        ended = quick("--resume", "run", option, network=())
        ended.failed(2, message, "a resumed run cannot change it")
        assert "None" not in ended.err
    for option in (("--out", "new"), ("--settings", "x.toml"), ("--dry-run",)):
        quick("--resume", "run", *option, network=()).failed(2, "--resume cannot be combined with")
    quick("--epochs", 1).failed(1, "run is not empty: resume it with --resume run, or")
    with RunFolder.again("run").in_use():
        quick("--resume", "run", network=()).failed(1, "run is being trained by another process")


def test_a_plan_is_not_lost(quick):
    assert quick("--epochs", 2).code == 0
    quick("--resume", "run", "--epochs", 1, network=()).failed(2, "epochs is 1", "has already done 2 epochs")
    assert Run.open("run").settings.epochs == 2
    ended = quick("--resume", "run", network=())
    assert ended.code == 0
    assert "the run is complete; --epochs N continues it" in " ".join(ended.out.split())


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
    quick("--resume", "run", network=()).failed(1, "the run learned other data than the present mnist")


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
    elif part == "torn":  # from another step
        new.with_suffix(".safetensors").write_bytes(old.with_suffix(".safetensors").read_bytes())
    else:
        new.with_suffix(".safetensors").unlink()
    ended = quick("--resume", "run", network=())
    assert (ended.code, ended.err) == (0, "")
    assert re.search(r"warning   .*run/checkpoints/step-00000006\.", ended.out)
    assert "resumed   after 2 epochs and 0 steps" in ended.out
    assert same("whole", "run")
    assert {path.stem for path in folder.glob("step-*")} == {"step-00000004", "step-00000006"}
    assert list(folder.glob("damaged-step-00000006.*")), "it is set aside, not lost"
    ended = quick("--resume", "run", network=())
    assert (ended.code, "warning" in ended.out) == (0, False)


def test_no_checkpoint_is_whole(quick, tmp_path):
    assert quick("--epochs", 2).code == 0
    folder = tmp_path / "run" / "checkpoints"
    for path in folder.glob("*.json"):
        path.write_text("{}")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    quick("--resume", "run", network=()).failed(
        1, "step-00000004.json: the checkpoint is damaged", "no undamaged checkpoint is left"
    )
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_other_versions_are_reported(quick, tmp_path):
    assert quick("--epochs", 1).code == 0
    settings = tmp_path / "run" / "settings.json"
    settings.write_text(re.sub(r'"numpy": "[^"]*"', '"numpy": "1.26.4"', settings.read_text()))
    ended = quick("--resume", "run", "--epochs", 2, network=())
    assert ended.code == 0
    assert "note      the run began with numpy 1.26.4, this is" in ended.out


def tiny(rng):
    """Return a network with files of some kilobytes."""
    return nn.Chain(nn.Dense(784, 2, seed=rng), nn.relu, nn.Dense(2, 10, seed=rng))


@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("keep", ["last", "best"])
def test_a_kill_between_any_two_changes_of_files(quick, monkeypatch, tmp_path, keep, first):
    """A run resumes from the files on the disk before any rename or removal: a kill can leave no others."""
    monkeypatch.setitem(TASKS, "mlp", TASKS["mlp"]._replace(build=tiny))
    options = (
        "--epochs",
        2,
        "--limit",
        20,
        "--batch-size",
        10,
        "--eager",
        "--save-every",
        0,
        "--log-every",
        1,
        "--keep",
        keep,
    )
    assert quick(*options, "--out", "whole").code == 0
    cuts = []

    def cut_before(function):
        def changed(path, *more, **named):
            if (tmp_path / "run" / "settings.json").exists():
                cuts.append(f"cut{len(cuts)}")
                shutil.copytree(tmp_path / "run", tmp_path / cuts[-1])
            return function(path, *more, **named)

        return changed

    with monkeypatch.context() as patch:
        for name in ("replace", "unlink"):
            patch.setattr(os, name, cut_before(getattr(os, name)))
        assert quick(*options).code == 0
    assert len(cuts) > 20
    for cut in cuts[first::4]:
        ended = quick("--resume", cut, network=())
        assert (ended.code, ended.err, "warning" in ended.out) == (0, "", False), (cut, ended.out, ended.err)
        assert same("whole", cut), (cut, ended.out)
        assert not list((tmp_path / cut).rglob(".*")), (cut, "a partial file stays behind")


def killed_and_resumed(command, folder, moments):
    """Kill training processes at some moments, then let the last one finish; return its end and a log of the others."""
    run, log = folder / "run", []
    metrics = run / "metrics.jsonl"
    for moment in moments:
        resumed = (run / "settings.json").exists()
        before = metrics.stat().st_mtime_ns if metrics.exists() else 0
        process = start(*(("train", "--resume", "run") if resumed else command), cwd=folder)
        wait_for(lambda: metrics.exists() and metrics.stat().st_mtime_ns != before, process)  # noqa: B023
        time.sleep(moment)
        process.kill()
        log += [f"killed after {moment:.3f} s", *process.communicate()]
        log.append(f"files {sorted(path.name for path in (run / 'checkpoints').glob('*'))}")
    return end(start("train", "--resume", "run", cwd=folder)), log


@pytest.mark.parametrize(
    "kills", [pytest.param(1, marks=pytest.mark.rest), pytest.param(20, marks=pytest.mark.slow)]
)
def test_kill_9_at_any_moment(small_mnist, tmp_path, kills):
    whole = tmp_path / "whole"
    whole.mkdir()
    options = ("--epochs", 40 * kills, "--batch-size", 20, "--out", "run")
    command = ("train", "mlp", *mnist(small_mnist), *options)
    first = end(start(*command, cwd=whole))
    draw = random.Random(kills)
    moments = [draw.uniform(0, 0.5) for _ in range(kills)]
    ended, log = killed_and_resumed((*command, "--save-every", 0.05), tmp_path, moments)
    log_text = "\n".join((first.out, first.err, *log, ended.out, ended.err))
    assert (first.code, ended.code, ended.err) == (0, 0, ""), log_text
    assert not differences(whole / "run", tmp_path / "run"), log_text
    assert not list((tmp_path / "run").rglob(".*")), f"a partial file stays behind\n{log_text}"
