"""Other programs' logs of runs: TensorBoard, Weights & Biases, MLflow. Each takes the lines of ``metrics.jsonl``."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from wengert.engine.core.errors import MissingExtraError
from wengert.train.settings import Settings
from wengert.train.storage import writing


class Start(NamedTuple):
    """The facts that a board gets at the start of a run."""

    folder: Path
    """Of the run."""
    settings: Settings
    steps: int
    """Of an epoch."""
    begin: int
    """The number of the first step: more than 0 for a run that is resumed."""


class Board(Protocol):
    """A program that shows the numbers of a run while it goes on."""

    def add(self, name: str, value: float, step: int) -> None:
        """Add a number after a step of the run."""
        ...

    def close(self) -> None:
        """Write what remains."""
        ...


class TensorBoard:
    """Event files for TensorBoard, written by tensorboardX into the run's folder ``tensorboard``.

    TensorBoard ignores what earlier files say about the first step of a resumed run and later ones.
    """

    def __init__(self, start: Start) -> None:
        from tensorboardX import SummaryWriter

        folder = start.folder / "tensorboard"
        with writing(folder):
            self._writer: Any = SummaryWriter(str(folder), purge_step=start.begin or None)

    def add(self, name: str, value: float, step: int) -> None:
        """Add a number after a step of the run."""
        self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        """Write the remaining events."""
        self._writer.close()


class WeightsAndBiases:
    """A run of Weights & Biases, named as the folder; a resumed run goes on in it.

    Its own variables choose the project and the place: ``WANDB_PROJECT`` (by default wengert), ``WANDB_MODE=offline``.
    """

    def __init__(self, start: Start) -> None:
        import wandb  # pyright: ignore[reportMissingImports]

        name = start.folder.name
        with writing(start.folder):
            self._run: Any = wandb.init(
                project=None if "WANDB_PROJECT" in os.environ else "wengert",
                name=name,
                id=re.sub(r"[^\w-]", "-", name),
                resume="allow",
                dir=str(start.folder),
                config=start.settings._asdict(),
            )

    def add(self, name: str, value: float, step: int) -> None:
        """Add a number after a step of the run."""
        self._run.log({name: value}, step=step)

    def close(self) -> None:
        """Send or write what remains."""
        self._run.finish()


class MLflow:
    """A run of MLflow, named as the folder; a resumed run goes on in it.

    Its own variables choose the place and the experiment: ``MLFLOW_TRACKING_URI``, ``MLFLOW_EXPERIMENT_NAME``.
    """

    def __init__(self, start: Start) -> None:
        from mlflow import MlflowClient  # pyright: ignore

        client = cast("Any", MlflowClient())
        self._client, self._id = client, start.folder / "mlflow.txt"
        with writing(self._id):
            if start.begin and self._id.exists():
                self.run = self._id.read_text("utf-8")
                client.update_run(self.run, status="RUNNING")
                return
            experiment = os.environ.get("MLFLOW_EXPERIMENT_NAME", "wengert")
            existing = client.get_experiment_by_name(experiment)
            number = existing.experiment_id if existing else client.create_experiment(experiment)
            self.run = client.create_run(number, run_name=start.folder.name).info.run_id
            self._id.write_text(self.run, "utf-8")
        for name, value in start.settings._asdict().items():
            client.log_param(self.run, name, value)

    def add(self, name: str, value: float, step: int) -> None:
        """Add a number after a step of the run."""
        self._client.log_metric(self.run, name, value, step=step)

    def close(self) -> None:
        """Mark the run as finished."""
        self._client.set_terminated(self.run)


class _Kind(NamedTuple):
    open: Callable[[Start], Board]
    module: str
    """The module that it needs; the extra has the name of the board."""


_KINDS: dict[str, _Kind] = {
    "tensorboard": _Kind(TensorBoard, "tensorboardX"),
    "wandb": _Kind(WeightsAndBiases, "wandb"),
    "mlflow": _Kind(MLflow, "mlflow"),
}
"""By the name of the setting."""


def _chosen(settings: Settings) -> list[str]:
    return [name for name in _KINDS if getattr(settings, name)]


def check_boards(settings: Settings) -> None:
    """Raise `MissingExtraError` if a program is not installed whose log the settings ask for."""
    for name in _chosen(settings):
        module = _KINDS[name].module
        if importlib.util.find_spec(module) is None:
            raise MissingExtraError(f"--{name} needs {module}: pip install 'wengert[{name}]'")


class Boards:
    """The open boards of a run with a number of steps in each epoch."""

    def __init__(self, boards: Sequence[Board] = (), steps: int = 1) -> None:
        self._boards, self._steps = boards, steps

    def add(self, *lines: dict[str, Any]) -> None:
        """Add the numbers in some lines of ``metrics.jsonl``."""
        for line in lines:
            epoch = line["kind"] == "epoch"
            step = self._steps * (line["epoch"] if epoch else line["epoch"] - 1) + line.get("step", 0)
            for name, value in line.items():
                if name not in ("kind", "epoch", "step"):
                    for board in self._boards:
                        board.add(f"{line['kind']}/{name}", value, step)


@contextlib.contextmanager
def opened(start: Start) -> Generator[Boards]:
    """Open the boards that the settings ask for, and close them at the end."""
    with contextlib.ExitStack() as stack:
        boards: list[Board] = []
        for name in _chosen(start.settings):
            boards.append(_KINDS[name].open(start))
            stack.callback(boards[-1].close)
        yield Boards(boards, start.steps)
