"""Training: the papers' networks, the loop, and the folder in which a run is kept."""

from wengert.train.loop import DivergedError, Outcome, train
from wengert.train.storage import RunFolder, load_model, load_run, save_model
from wengert.train.tasks import TASKS, Settings, Task

__all__ = [
    "TASKS",
    "DivergedError",
    "Outcome",
    "RunFolder",
    "Settings",
    "Task",
    "load_model",
    "load_run",
    "save_model",
    "train",
]
