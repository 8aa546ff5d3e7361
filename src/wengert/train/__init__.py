"""Training: the papers' networks, the training loop, and the folders of runs."""

from wengert.train.fitting import Fitted, fit
from wengert.train.loop import DivergedError, Outcome, Progress, train
from wengert.train.runs import Run, RunFolder, load_run
from wengert.train.settings import Descent, Settings, SettingsError, read_settings
from wengert.train.state import EpochResult, ModelError, State, Trained
from wengert.train.storage import load_model, save_model
from wengert.train.tasks import (
    TASKS,
    Task,
    Variation,
    as_rows,
    as_vectors,
    by_keys,
    classification_loss,
    reconstruction_loss,
    shifts,
    standardised,
    task_named,
)
from wengert.train.trust import UntrustedError

__all__ = [
    "TASKS", "Descent", "DivergedError", "EpochResult", "Fitted", "ModelError", "Outcome", "Progress",
    "Run", "RunFolder", "Settings", "SettingsError", "State", "Task", "Trained", "UntrustedError",
    "Variation", "as_rows", "as_vectors", "by_keys", "classification_loss", "fit", "load_model",
    "load_run", "read_settings", "reconstruction_loss", "save_model", "shifts", "standardised",
    "task_named", "train",
]  # fmt: skip
__dir__ = __all__.copy
