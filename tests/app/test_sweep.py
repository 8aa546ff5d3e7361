"""``wengert sweep``: runs, failures, interruptions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.commands import Ended, end, start, wait_for
from tests.commands import processes_without_pictures as processes_without_pictures  # a fixture
from wengert.app import sweep
from wengert.train import Run


def write_settings(folder, images, epochs, more=""):
    (folder / "mine.toml").write_text(
        f'network = "mlp"\ndata = "mnist"\ndata-dir = "{images}"\nepochs = {epochs}\nbatch-size = 10\n{more}'
    )


@pytest.mark.usefixtures("processes_without_pictures")
def test_a_failed_run_does_not_stop_the_others(tmp_path, small_mnist, wengert):
    write_settings(tmp_path, small_mnist, 1, "eager = true\n")
    ended = wengert("sweep", "mine.toml", "--grid", "lr=1e30,1e-2", "--workers", 2, "--out", "all")
    assert ended.code == 1
    assert ended.err.count("\n") == 1
    assert "wengert: lr=1e+30 failed: the loss became" in ended.err
    assert "finished  lr=0.01" in ended.out
    assert Run.open(tmp_path / "all" / "lr=0.01").settings.rate == 0.01
    assert (tmp_path / "all" / "comparison.html").exists()
    before = os.stat(tmp_path / "all" / "lr=0.01" / "model.safetensors").st_mtime_ns
    again = wengert("sweep", "--resume", "all")
    assert again.code == 1
    assert "2 of them finished before" in again.out
    assert os.stat(tmp_path / "all" / "lr=0.01" / "model.safetensors").st_mtime_ns == before


DEAF = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
)


def test_a_run_that_ignores_sigterm_is_killed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sweep, "_SECONDS_TO_SAVE", 0.1)
    deaf = subprocess.Popen([sys.executable, "-c", DEAF], stdout=subprocess.PIPE)
    deaf.stdout.readline()
    runs = sweep._Sweep(tmp_path, [], 1, 1)
    runs.running.append(sweep._Running(sweep.Point("deaf", []), deaf, 0.0))
    runs._stop()
    assert deaf.returncode == -signal.SIGKILL
    assert capsys.readouterr().out == "killed    deaf  it did not end by SIGTERM\n"
    deaf.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_sweep_goes_on_to_the_same_bits(tmp_path, small_mnist, number):
    write_settings(tmp_path, small_mnist, 30)
    running = start(
        "sweep",
        "mine.toml",
        "--grid",
        "seed=0:2",
        "--grid",
        "threads=1",
        "--workers",
        1,
        "--out",
        "all",
        cwd=tmp_path,
    )
    wait_for(lambda: len(list(tmp_path.glob("all/*/checkpoints/*.json"))) > 0, sweep)
    running.send_signal(number)
    ended = Ended(running.wait(), *running.communicate())
    if number != signal.SIGKILL:
        assert ended.code == 128 + number
        assert "wengert sweep --resume all" in ended.out
    finished = end(start("sweep", "--resume", "all", cwd=tmp_path))
    assert finished.code == 0, finished.err
    options = ("--settings", "mine.toml", "--seed", 0, "--threads", 1, "--out", "alone")
    assert end(start("train", *options, cwd=tmp_path)).code == 0
    models = [
        (tmp_path / place / "model.safetensors").read_bytes() for place in ("all/seed=0,threads=1", "alone")
    ]
    assert models[0] == models[1]


def test_usage_errors(wengert):
    wengert("sweep").failed(2, "a grid is missing")
    wengert("sweep", "--grid", "lr=0").failed(2, "lr must be a positive finite number")
    wengert("sweep", "--resume", "x", "--grid", "lr=1").failed(2, "--resume cannot be combined")
    wengert("sweep", "--resume", "nothing").failed(1, "this is not the folder of a sweep")
    wengert("sweep", "--grid", "network=cnn,mine").failed(2, "network must be one of")
    wengert("sweep", "none.toml", "--grid", "seed=0:2").failed(2, "none.toml cannot be read")
