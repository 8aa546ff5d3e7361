"""Other programs' logs of runs hold the numbers of ``metrics.jsonl``."""

from __future__ import annotations

import math
import struct
import sys
from pathlib import Path

import pytest

from tests.commands import mnist
from wengert.train import Run


def records(folder):
    """Return the payloads of event files: each has a length and its checksum before it, another after it."""
    for path in sorted(folder.glob("events.*")):
        content, place = path.read_bytes(), 0
        while place < len(content):
            (length,) = struct.unpack_from("<Q", content, place)
            yield content[place + 12 : place + 12 + length]
            place += 12 + length + 4


def test_event_files(wengert, small_mnist, no_pictures, tmp_path):
    pytest.importorskip("tensorboardX")
    command = ("train", "mlp", *mnist(small_mnist), "--epochs", 2, "--log-every", 1, "--tensorboard")
    assert wengert(*command, "--eager", "--out", "run").code == 0
    from tensorboardX.proto.event_pb2 import Event

    actual = {}
    for record in records(tmp_path / "run" / "tensorboard"):
        event = Event.FromString(record)
        for value in event.summary.value:
            actual.setdefault(value.tag, {})[event.step] = value.simple_value
    run = Run.open("run")
    assert list(actual["step/loss"]) == [1, 2, 3, 4]
    for number, line in enumerate(run.steps, 1):
        assert math.isclose(actual["step/loss"][number], line["loss"], rel_tol=1e-6)
    assert actual["epoch/test_score"] == pytest.approx(
        {2: run.history[0].test_score, 4: run.history[1].test_score}
    )


MODULES = {"tensorboard": "tensorboardX", "wandb": "wandb", "mlflow": "mlflow"}


@pytest.mark.parametrize("name", MODULES)
def test_what_is_not_installed_is_named_at_once(name, wengert, small_mnist, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, MODULES[name], None)
    ended = wengert("train", "mlp", *mnist(small_mnist), f"--{name}", "--out", "run")
    ended.failed(1, f"--{name} needs {MODULES[name]}: pip install 'wengert[{name}]'")
    assert not (tmp_path / "run").exists()


def train(wengert, small_mnist, *options):
    command = ("train", "mlp", *mnist(small_mnist), "--log-every", 1, *options)
    ended = wengert(*command)
    assert ended.code == 0, ended.err


@pytest.mark.filterwarnings("ignore")  # of MLflow's own dependencies
def test_a_run_of_mlflow(wengert, small_mnist, no_pictures, monkeypatch, tmp_path):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'tracks.db'}")
    train(wengert, small_mnist, "--epochs", 1, "--out", "run", "--mlflow")
    train(wengert, small_mnist, "--resume", "run", "--epochs", 2)
    client, run = mlflow.MlflowClient(), Run.open("run")
    number = Path("run", "mlflow.txt").read_text()
    found = client.get_run(number)
    assert (found.info.run_name, found.info.status) == ("run", "FINISHED")
    assert found.data.params["epochs"] == "1"
    losses = {each.step: each.value for each in client.get_metric_history(number, "step/loss")}
    assert losses == {n: line["loss"] for n, line in enumerate(run.steps, 1)}
    scores = [each.value for each in client.get_metric_history(number, "epoch/test_score")]
    assert scores == [epoch.test_score for epoch in run.history]


@pytest.mark.filterwarnings("ignore")  # of its own
def test_a_run_of_weights_and_biases_without_a_network(
    wengert, small_mnist, no_pictures, monkeypatch, tmp_path
):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    train(wengert, small_mnist, "--epochs", 1, "--out", "run", "--wandb")
    (file,) = Path("run", "wandb").glob("offline-run-*/*.wandb")
    content = file.read_bytes()
    assert all(name in content for name in (b"step/loss", b"epoch/test_score", b"batch_size"))
