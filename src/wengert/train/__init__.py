"""Training: the papers' networks, the loop, and the folder in which a run is kept."""

from wengert.train.folder import RunFolder
from wengert.train.images import Variation, as_rows, as_vectors, shifts, standardised
from wengert.train.loop import DivergedError, Outcome, Progress, train
from wengert.train.optimisers import Descent
from wengert.train.runs import Run, load_run
from wengert.train.settings import Settings, SettingsError, read_settings
from wengert.train.state import EpochResult, State
from wengert.train.stateful import ModelError, Trained
from wengert.train.tasks import TASKS, Task, classification_loss, reconstruction_loss, task_named
from wengert.train.tensors import load_model, save_model
from wengert.train.trust import UntrustedError

__all__ = [
    "TASKS",
    "Descent",
    "DivergedError",
    "EpochResult",
    "ModelError",
    "Outcome",
    "Progress",
    "Run",
    "RunFolder",
    "Settings",
    "SettingsError",
    "State",
    "Task",
    "Trained",
    "UntrustedError",
    "Variation",
    "as_rows",
    "as_vectors",
    "classification_loss",
    "load_model",
    "load_run",
    "read_settings",
    "reconstruction_loss",
    "save_model",
    "shifts",
    "standardised",
    "task_named",
    "train",
]
