"""The command line: its output, its files and its exit codes."""

from __future__ import annotations

import gzip
import importlib.util
import itertools
import json
import os
import re
import select
import signal
import subprocess
import sys

import numpy as np
import pytest

import wengert as wg
from tests.commands import Ended, end, mnist, start, wait_for
from tests.commands import processes_without_pictures as processes_without_pictures  # a fixture
from wengert import nn
from wengert.data import digits, write_idx
from wengert.engine.core.tree import leaves
from wengert.predict import Predictor
from wengert.train import TASKS, Run, load_run

NETWORKS = ("cnn", "rnn", "lstm", "gru", "autoencoder", "mlp")


def one_layer(rng):
    return nn.Chain(nn.Dense(784, 10, seed=rng))


@pytest.fixture
def small_mlp(monkeypatch):
    """Give the network a single layer: it is compiled in a moment."""
    monkeypatch.setitem(TASKS, "mlp", TASKS["mlp"]._replace(build=one_layer))


@pytest.fixture(scope="module", autouse=True)
def listening_to_ctrl_c():
    """Handle Ctrl-C, which processes of a background job ignore by inheritance."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# -- a run -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("network", NETWORKS)
def test_train(network, small_mnist, wengert, tmp_path):
    ended = wengert("train", network, *mnist(small_mnist), "--epochs", 2, "--eager", "--out", "run")
    assert (ended.code, ended.err) == (0, "")
    assert "\x1b" not in ended.out
    lines = [line for line in ended.out.splitlines() if not line.startswith("note ")]  # a slow compilation
    assert max(map(len, lines)) <= 80
    for words in (
        "200 images to train",
        "2 epochs",
        "epoch 2   loss",
        "examples/s",
        "model     run/model.safetensors",
    ):
        assert words in ended.out
    assert ("accuracy" in ended.out) == (network != "autoencoder")
    folder = tmp_path / "run"
    settings, model = load_run(folder)
    assert (settings.task, settings.epochs) == (network, 2)
    assert all(np.all(np.isfinite(leaf)) for leaf in leaves(model))
    history = Run.open(folder).history
    assert [epoch.epoch for epoch in history] == [1, 2]
    summary = json.loads((folder / "summary.json").read_text())
    assert summary.pop("peak_memory") > 10e6
    assert summary == {"interrupted": False, "problem": None, "last_epoch": history[-1]._asdict()}
    of_kind = {"reconstructions.png"} if network == "autoencoder" else {"examples.png", "picture.png"}
    pictures = {"learning_curve.png", *of_kind}
    written = {"settings.json", "metrics.jsonl", "checkpoints", "model.safetensors", "summary.json"}
    if importlib.util.find_spec("matplotlib"):
        written |= pictures
        for name in pictures:
            assert (folder / name).read_bytes().startswith(b"\x89PNG")
            assert name in ended.out
        if "picture.png" in pictures:
            assert wengert("predict", folder, folder / "picture.png").code == 0
    assert {path.name for path in folder.iterdir()} == written


@pytest.mark.usefixtures("no_pictures", "small_mlp")
def test_the_settings_make_the_run_again(small_mnist, wengert, tmp_path):
    def run(name, *options):
        assert wengert("train", "mlp", *mnist(small_mnist), "--epochs", 2, "--out", name, *options).code == 0
        return [result[1:5] for result in Run.open(tmp_path / name).history]

    first = run("a", "--seed", 7)
    assert first == run("b", "--seed", 7)
    assert first != run("c", "--seed", 8)
    assert run("d", "--lr", 0.01, "--eager") != run("e", "--batch-size", 1000, "--eager")
    settings = load_run(tmp_path / "e")[0]
    assert (settings.batch_size, settings.rate, settings.seed) == (1000, TASKS["mlp"].rate, 0)


@pytest.mark.usefixtures("no_pictures", "small_mlp")
def test_runs_have_folders_of_their_own(small_mnist, wengert, tmp_path):
    for _ in range(2):
        assert wengert("train", "mlp", *mnist(small_mnist), "--epochs", 1).code == 0
    assert len(list(tmp_path.glob("runs/mlp-2*/model.safetensors"))) == 2


@pytest.mark.usefixtures("no_pictures", "small_mlp")
def test_without_matplotlib(small_mnist, wengert, tmp_path):
    ended = wengert("train", "mlp", *mnist(small_mnist), "--epochs", 1, "--out", "run")
    assert (ended.code, ended.err) == (0, "")
    assert "wengert[plot]" in ended.out
    assert (tmp_path / "run" / "model.safetensors").exists()
    assert not list(tmp_path.glob("run/*.png"))


@pytest.mark.usefixtures("no_pictures", "small_mlp")
def test_a_narrow_terminal_loses_no_number(small_mnist, wengert, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    ended = wengert("train", "mlp", *mnist(small_mnist), "--epochs", 1, "--out", "run")
    assert "…" not in ended.out
    assert "examples/s" in ended.out


@pytest.mark.parametrize("network", ["mlp", "autoencoder"])
def test_few_test_images_make_a_picture(network, wengert, tmp_path):
    for name, count in (("train", 30), ("t10k", 3)):
        images, labels = digits(count)
        write_idx(tmp_path / f"{name}-images-idx3-ubyte", images)
        write_idx(tmp_path / f"{name}-labels-idx1-ubyte", labels)
    options = ("--epochs", 1, "--eager", "--out", "run")
    assert wengert("train", network, *mnist(tmp_path), *options).code == 0


# -- usage -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "gan"), "Invalid value for 'NETWORK': 'gan' is not one of 'cnn'"),
        (("train", "--lr", "abc"), "Invalid value for '--lr': 'abc' is not a valid number;"),
        (("train", "--epochs", "abc"), "Invalid value for '--epochs': 'abc' is not a valid integer;"),
        (("train", "cnn", "rnn"), "unexpected extra argument (rnn)"),
        (("train", "--epochs", "0"), "--epochs"),
        (("train", "--epochs", "1.5"), "--epochs"),
        (("train", "--lr", "-1"), "--lr"),
        (("train", "--lr", "0"), "--lr"),
        (("train", "--lr", "nan"), "--lr"),
        (("train", "--lr", "inf"), "--lr"),
        (("train", "--batch-size", "many"), "--batch-size"),
        (("train", "--seed", "-1"), "--seed"),
        (("train", "--data", "cifar"), "--data"),
        (("train", "--data-dir", "x"), "--data-dir needs"),
        (("train", "--out"), "--out"),
        (("train", "--what"), "--what"),
        (("trian",), "'trian'"),
    ],
)
def test_usage_errors_exit_with_2(arguments, message, wengert, tmp_path):
    wengert(*arguments).failed(2, message, "; see wengert", " --help\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("option", "meant"), [("--epoch", "--epochs"), ("--dryrun", "--dry-run"), ("--foo", "")]
)
def test_only_options_of_like_names_are_suggested(option, meant, wengert):
    text = wengert("train", option).err
    suggested = set(re.findall(r"--[a-z-]+", text.partition("; see")[0])) - {option}
    assert suggested == ({meant} if meant else set())


def test_help_and_version(wengert):
    assert wengert("--version").out.startswith("wengert, version ")
    for arguments in ((), ("--help",), ("-h",)):
        ended = wengert(*arguments)
        assert (ended.code, ended.err) == (0, "")
        assert "train" in ended.out
    assert "--batch-size" in wengert("train", "--help").out


# -- data ------------------------------------------------------------------------------------------------


def shorten(data):
    return data[: len(data) // 2]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("train-images-idx3-ubyte", None, "but not train-images"),
        ("train-images-idx3-ubyte", shorten, "at byte 16"),
        ("train-images-idx3-ubyte", lambda data: gzip.compress(data)[:5000], "train-images"),
        ("t10k-images-idx3-ubyte", lambda data: data + b"x", "the end of the file"),
        ("t10k-images-idx3-ubyte", lambda data: b"PK" + data[2:], "IDX magic"),
        ("t10k-labels-idx1-ubyte", lambda data: b"", "t10k-labels"),
        ("train-labels-idx1-ubyte", lambda data: data[:-1] + b"\x0a", "a label below 10"),
        ("train-labels-idx1-ubyte", lambda data: data[:7] + b"\x01" + data[8:9], "200 labels"),
    ],
)
def test_missing_and_damaged_files_exit_with_1(name, change, message, small_mnist, wengert, tmp_path):
    folder = tmp_path / "damaged"
    folder.mkdir()
    for path in small_mnist.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    if change is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(change((folder / name).read_bytes()))
    wengert("train", *mnist(folder)).failed(1, message, "damaged")
    assert not (tmp_path / "runs").exists()


def test_a_missing_folder_exits_with_1(wengert, tmp_path):
    wengert("train", *mnist("nowhere")).failed(1, "nowhere: there is no such folder")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("sizes", "shape", "message"),
    [
        ((0, 10), (28, 28), "must be examples"),
        ((10, 0), (28, 28), "must be examples"),
        ((10, 10), (32, 32), "28"),
    ],
)
def test_sets_that_do_not_fit_exit_with_1(sizes, shape, message, wengert, tmp_path):
    for name, count in zip(("train", "t10k"), sizes, strict=True):
        write_idx(tmp_path / f"{name}-images-idx3-ubyte", np.zeros((count, *shape), np.uint8))
        write_idx(tmp_path / f"{name}-labels-idx1-ubyte", np.zeros(count, np.uint8))
    wengert("train", *mnist(tmp_path), "--out", "run").failed(1, message)


# -- a loss that is not finite ---------------------------------------------------------------------------


def test_a_diverging_run_says_where(small_mnist, wengert, tmp_path):
    options = ("--lr", "1e30", "--batch-size", 20, "--eager", "--out", "run")
    ended = wengert("train", *mnist(small_mnist), *options)
    ended.failed(1, "the loss became", "in epoch 1, step", "the output of model.layers[", "is not finite")
    assert "smaller learning rate than 1e+30; there is no checkpoint yet" in ended.err
    assert {path.name for path in tmp_path.glob("run/*")} == {"settings.json", "summary.json"}
    assert "the loss became" in json.loads((tmp_path / "run" / "summary.json").read_text())["problem"]


def test_a_run_that_diverges_late_leaves_its_metrics(small_mnist, wengert, tmp_path, monkeypatch):
    task, losses = TASKS["mlp"], itertools.count(1)

    def loss(model, inputs, labels):
        value, score = task.loss(model, inputs, labels)
        return value * (np.nan if next(losses) > 5 else 1.0), score  # 2 steps and a test: an epoch takes 3

    monkeypatch.setitem(TASKS, "mlp", task._replace(loss=loss))
    ended = wengert("train", "mlp", *mnist(small_mnist), "--out", "run", "--eager")
    ended.failed(
        1, "the loss became nan on the held-out data after epoch 2", "checkpoint is run/checkpoints/step-"
    )
    assert [result.epoch for result in Run.open(tmp_path / "run").history] == [1]
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["last_epoch"]["epoch"] == 1


# -- where a run is kept ---------------------------------------------------------------------------------


def test_a_folder_in_use_or_unwritable_exits_with_1(wengert, tmp_path, monkeypatch):
    # The folder is checked before 35,000 digits are drawn.
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("keep me")
    wengert("train", "--out", "full").failed(1, "full is not empty")
    wengert("train", "--out", "full/file").failed(1, "cannot be written: full/file is not a writable folder")
    wengert("train", "--out", "full/file/run").failed(
        1, "cannot be written: full/file is not a writable folder"
    )
    wengert("train", "--out", "x" * 300).failed(1, "File name too long")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    wengert("train", "--out", "new").failed(1, "new cannot be written: . is not a writable folder")
    wengert("train").failed(1, "runs cannot be written")
    assert [path.name for path in tmp_path.rglob("*")] == ["full", "file"]


def test_a_full_disk_exits_with_1(small_mnist, tmp_path):
    resource = pytest.importorskip("resource")  # the largest file that the process may write
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))  # noqa: E731
    command = ("train", "mlp", *mnist(small_mnist), "--epochs", 1, "--eager", "--out", "run")
    ended = end(start(*command, cwd=tmp_path, preexec_fn=limit))
    ended.failed(
        1, "run/model.safetensors cannot be written: File too large; the model could not be saved in "
    )
    assert "run/checkpoints/step-00000002.safetensors cannot be written: File too large" in ended.out
    assert {path.name for path in tmp_path.glob("run/*")} == {"settings.json", "metrics.jsonl", "checkpoints"}
    assert not list(tmp_path.rglob("run/**/.*")), "no partial file stays behind"


# -- interrupts ------------------------------------------------------------------------------------------


def endless(folder):
    return ("train", "mlp", *mnist(folder), "--epochs", 100_000, "--eager", "--out", "run")


@pytest.mark.usefixtures("processes_without_pictures")
def test_ctrl_c_saves_what_was_learned(small_mnist, tmp_path):
    process = start(*endless(small_mnist), cwd=tmp_path)
    wait_for((tmp_path / "run" / "metrics.jsonl").exists, process)
    process.send_signal(signal.SIGINT)
    ended = end(process)
    assert (ended.code, ended.err) == (130, "")
    message = "by Ctrl-C; the run is saved in run\nresume    wengert train --resume run\n"
    assert ended.out.endswith(message)
    load_run(tmp_path / "run")
    run = Run.open(tmp_path / "run")
    assert run.summary["interrupted"]
    assert run.summary["last_epoch"] == run.history[-1]._asdict()


INTERRUPTING = """
import signal, sys

class Interrupting:
    def find_spec(self, name, *more):
        if name == {module!r}:
            signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.{handler})
sys.meta_path.insert(0, Interrupting())
"""


@pytest.fixture
def interrupted(tmp_path, monkeypatch):
    """Run a program that gets SIGINT when it starts to import a module."""

    def run(module, *program, handler="default_int_handler"):
        (tmp_path / "sitecustomize.py").write_text(INTERRUPTING.format(module=module, handler=handler))
        for name in ("wengert", "mine.py"):
            (tmp_path / name).write_text("from wengert.app.cli import main\nmain()\n")
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), *sys.path)))
        return subprocess.run([sys.executable, *program], cwd=tmp_path, capture_output=True, text=True)

    return run


@pytest.mark.parametrize("module", ["wengert.numpy", "wengert.app.train"])
@pytest.mark.parametrize("program", [("./wengert", "--version"), ("-m", "wengert", "--version")])
def test_ctrl_c_while_modules_are_imported(interrupted, module, program):
    ended = interrupted(module, *program)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


def test_ctrl_c_elsewhere_is_not_the_commands(interrupted):
    """Programs that import the package, and background jobs, keep their handling of Ctrl-C."""
    assert interrupted("wengert.numpy", "mine.py").stderr.endswith("\nKeyboardInterrupt\n")
    assert interrupted("wengert.numpy", "wengert", "--version", handler="SIG_IGN").returncode == 0


def test_ctrl_c_before_there_is_anything_to_save(tmp_path):
    process = start("train", "--out", "run", cwd=tmp_path)
    assert process.stdout.readline() == "drawing   35,000 digits\n"
    process.send_signal(signal.SIGINT)
    ended = end(process)
    assert (ended.code, ended.err.split("\n")[-2]) == (130, "wengert: stopped by Ctrl-C")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("processes_without_pictures")
def test_a_closed_pipe_ends_the_run_and_saves_it(small_mnist, tmp_path):
    process = start(*endless(small_mnist), cwd=tmp_path)
    assert process.stdout.readline().startswith("network")
    process.stdout.close()
    with process.stderr:
        err = process.stderr.read()
    Ended(process.wait(timeout=120), "", err).failed(1, "the output was closed", "saved in run")
    load_run(tmp_path / "run")


@pytest.mark.usefixtures("processes_without_pictures")
def test_a_terminal_shows_a_live_line(small_mnist, tmp_path):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    process = start(*endless(small_mnist), cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown, pressed = b"", False
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        while select.select([terminal], [], [], 120)[0]:
            try:
                shown += terminal.read(65536)
            except OSError:  # Linux, after the other end was closed
                break
            if not pressed and b" left" in shown and b"epoch 3" in shown:
                process.send_signal(signal.SIGINT)
                pressed = True
    assert process.wait(timeout=120) == 130
    text = shown.decode()
    assert "Traceback" not in text
    assert "examples/s" in text
    assert "accuracy" in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h"), "the cursor is shown again"
    assert text.endswith("wengert train --resume run\r\n")


# -- export ----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_mlp")
def test_export(small_mnist, wengert, tmp_path):
    assert wengert("train", "mlp", *mnist(small_mnist), "--epochs", 1, "--eager", "--out", "run").code == 0
    ended = wengert("export", "run", "--to", "wg")
    assert (ended.code, ended.out, ended.err) == (0, "run/predict.wg\n", "")
    predict = wg.load(tmp_path / "run" / "predict.wg")
    images = digits(1)[0]
    np.testing.assert_allclose(
        predict(images), Predictor.open(tmp_path / "run").probabilities(images), rtol=1e-5
    )

    ended = wengert("export", "run", "--to", "c", "--train-step", "--batch", 5, "--out", "c")
    assert (ended.code, ended.err) == (0, "")
    text = (tmp_path / "c" / "step.h").read_text()
    assert "float *state_model" in text
    assert "const uint8_t *images" in text

    ended = wengert("export", "run", "--to", "wg", "--gradient", "--out", "wg")
    assert (ended.code, ended.out) == (0, "wg/gradient.wg\n")


@pytest.mark.usefixtures("no_pictures", "small_mlp")
def test_export_refuses_what_does_not_go_together(small_mnist, wengert):
    assert wengert("train", "mlp", *mnist(small_mnist), "--epochs", 1, "--out", "run").code == 0
    for options, words in (
        (("--to", "c", "--gradient", "--train-step"), "exclude each other"),
        (("--to", "wg", "--target", "aarch64"), "--target belongs to --to c"),
        (("--to", "c", "--target", "z80"), "the target must be host, x86-64-v2"),
        (("--to", "c", "--batch", 10000), "--batch must be at most 200"),
    ):
        ended = wengert("export", "run", *options)
        assert ended.code != 0
        assert words in ended.err
