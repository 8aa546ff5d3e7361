"""The command line, as a user meets it: in a process of its own."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from wengert.data import digits, write_idx


def start(*arguments, cwd, **options):
    environment = {
        key: value for key, value in os.environ.items() if key not in ("WENGERT_DATA", "FORCE_COLOR")
    }
    environment |= {"COLUMNS": "200", "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(cwd / "cache")}
    command = [sys.executable, "-m", "wengert", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    # Whoever runs the tests in the background has Ctrl-C switched off, and the process would inherit that.
    listen = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)}
    return subprocess.Popen(command, cwd=cwd, env=environment, **pipes, **listen, **options)


def run(*arguments, cwd):
    process = start(*arguments, cwd=cwd)
    out, err = process.communicate(timeout=300)
    assert "Traceback" not in out + err
    return process.returncode, out, err


@pytest.fixture(scope="module")
def small_mnist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mnist")
    for part, name, count in (("train", "train", 200), ("test", "t10k", 50)):
        images, labels = digits(count, seed=len(part))
        write_idx(folder / f"{name}-images-idx3-ubyte", images)
        write_idx(folder / f"{name}-labels-idx1-ubyte", labels)
    return folder


def mnist(folder):
    return ("--data", "mnist", "--data-dir", str(folder))


@pytest.mark.parametrize("network", ["cnn", "rnn", "autoencoder", "mlp"])
def test_train(network, small_mnist, tmp_path):
    code, out, err = run("train", network, *mnist(small_mnist), "--epochs", "2", "--out", "run", cwd=tmp_path)
    assert code == 0, err
    assert "epoch 2: loss" in out
    assert "examples/s" in out  # the table
    folder = tmp_path / "run"
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["task"] == network
    assert settings["epochs"] == 2
    assert len((folder / "metrics.jsonl").read_text().splitlines()) == 2
    assert (folder / "model.npz").stat().st_size > 0
    pytest.importorskip("matplotlib")
    pictures = {"learning_curve.png", "reconstructions.png" if network == "autoencoder" else "examples.png"}
    for name in pictures:
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
        assert name in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("train", "gan"), "gan"),
        (("train", "--epochs", "0"), "epochs"),
        (("train", "--lr", "-1"), "lr"),
        (("train", "--batch-size", "many"), "batch-size"),
        (("train", "--data-dir", "x"), "--data-dir needs"),
        (("train", "--what"), "--what"),
    ],
)
def test_usage_errors_exit_with_2(arguments, says, tmp_path):
    code, _, err = run(*arguments, cwd=tmp_path)
    assert code == 2
    assert says in err
    assert not list(tmp_path.glob("runs/*"))


def test_missing_and_damaged_files_exit_with_1(small_mnist, tmp_path):
    code, _, err = run("train", *mnist(tmp_path / "nowhere"), "--out", "a", cwd=tmp_path)
    assert (code, err.count("\n")) == (1, 1)
    assert "nowhere" in err
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for path in small_mnist.iterdir():
        (damaged / path.name).write_bytes(path.read_bytes())
    images = damaged / "train-images-idx3-ubyte"
    images.write_bytes(gzip.compress(images.read_bytes())[:5000])
    code, _, err = run("train", *mnist(damaged), "--out", "b", cwd=tmp_path)
    assert (code, err.count("\n")) == (1, 1)
    assert "train-images" in err


def test_a_diverging_run_exits_with_1(small_mnist, tmp_path):
    code, _, err = run(
        "train", *mnist(small_mnist), "--lr", "1e30", "--batch-size", "20", "--out", "r", cwd=tmp_path
    )
    assert code == 1
    assert "the loss became" in err.splitlines()[-1]


def test_a_folder_in_use_or_unwritable_exits_with_1(small_mnist, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("keep me")
    code, _, err = run("train", *mnist(small_mnist), "--out", "full", cwd=tmp_path)
    assert (code, err.count("\n")) == (1, 1)
    assert "not empty" in err
    code, _, err = run("train", *mnist(small_mnist), "--out", "full/file/run", cwd=tmp_path)
    assert (code, err.count("\n")) == (1, 1)
    assert "cannot be written" in err


def test_ctrl_c_saves_the_model(small_mnist, tmp_path):
    process = start("train", *mnist(small_mnist), "--epochs", "10000", "--out", "run", cwd=tmp_path)
    metrics = tmp_path / "run" / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while not metrics.exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "Traceback" not in out + err
    assert (tmp_path / "run" / "model.npz").exists()
    assert "saved" in out


def test_help_and_version(tmp_path):
    assert "wengert" in run("--version", cwd=tmp_path)[1]
    assert "--batch-size" in run("train", "--help", cwd=tmp_path)[1]
