"""What ``wengert train`` does, from the settings to the pictures."""

from __future__ import annotations

import contextlib
import signal
import zlib
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wengert._version import versions
from wengert.compiler.runtime.threads.team import get_threads, set_threads
from wengert.data import Dataset
from wengert.train import pictures
from wengert.train.checkpoints import Checkpoints
from wengert.train.console import Console, counted
from wengert.train.files import RunError
from wengert.train.folder import CHECKPOINTS, MODEL, PROFILE, SOURCE, TENSORBOARD, RunFolder, check_place
from wengert.train.interrupts import Interrupts
from wengert.train.keeper import Keeper
from wengert.train.logs import TensorBoard, check_tensorboard
from wengert.train.loop import DivergedError, Outcome, parameter_count, steps_of, train
from wengert.train.own import blaming, check_model
from wengert.train.profile import Stopwatch
from wengert.train.runs import Run, absolute, dataset_of, drawn_counts, task_of
from wengert.train.settings import Settings, SettingsError
from wengert.train.state import State, begin
from wengert.train.tasks import Task


class _Job(NamedTuple):
    """What is to be trained, and how."""

    task: Task
    settings: Settings
    dataset: Dataset
    console: Console
    file: Path | None
    """The user's file, or the copy of it, that was run."""

    @property
    def steps(self) -> int:
        """Of an epoch."""
        return steps_of(self.settings, self.dataset)

    def beginning(self) -> State:
        """Return the state from which the run starts."""
        return begin(self.task, self.settings, self.settings.epochs * self.steps)

    def checkpoints(self, folder: Path) -> Checkpoints:
        """Return the checkpoints of the run in a folder."""
        data, checksum = self.dataset, 0
        for array in (data.train_images, data.train_labels, data.test_images, data.test_labels):
            checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
        return Checkpoints(folder / CHECKPOINTS, self.task, self.settings, self.steps, checksum)


# -- what the command can do -----------------------------------------------------------------------------


def run_training(settings: Settings, out: str | None) -> int:
    """Train, show, and keep everything in a folder, which is made when the data are there.

    Returns:
        The exit code: 0, or 128 and the number of the signal that ended the run.

    Raises:
        WengertError: what the user should read in one line.
    """
    check_place(out)
    with _threads(settings) as settings:
        job = _prepared(settings, None)
        folder = RunFolder(out, absolute(settings), job.file)
        with folder.in_use():
            return _train(job, folder, job.beginning(), job.checkpoints(folder.path))


def resume_training(run: Run, settings: Settings) -> int:
    """Go on with a run from its newest checkpoint that is whole: see `run_training`."""
    folder = RunFolder.again(run.path)
    with folder.in_use(), _threads(settings) as settings:
        source = run.path / SOURCE
        job = _prepared(settings, source if source.exists() else None)
        checkpoints = job.checkpoints(run.path)
        state, problems = checkpoints.newest(job.beginning())
        for problem in problems:
            job.console.say("warning", f"{problem}; the one before it is used")
        for name, before in run.versions.items():
            if (now := versions().get(name)) != before:
                note = "the numbers may not be those of a run that was never interrupted"
                job.console.say("note", f"the run began with {name} {before}, this is {now}: {note}")
        state = state or job.beginning()
        _check_epochs(run, settings, state)
        if state.epoch > settings.epochs:
            job.console.say("note", "the run has come to its end; --epochs N goes on to epoch N")
        folder.describe(settings, run.began)
        for problem in folder.metrics.go_back(state.epoch, state.step, state.history):
            job.console.say("warning", f"{problem}; it is left out")
        return _train(job, folder, state, checkpoints)


def _check_epochs(run: Run, settings: Settings, state: State) -> None:
    """Raise `SettingsError` if the run has gone further than it is to go: its plan would be lost."""
    done = state.epoch - 1
    if settings.epochs < done or (settings.epochs == done and state.step):
        gone = f"{counted(done, 'epoch')} and {counted(state.step, 'step')}"
        raise SettingsError(f"epochs is {settings.epochs}, and {run.path} has gone through {gone} already")


def try_training(settings: Settings) -> int:
    """Take one step and evaluate one batch; nothing is written."""
    with _threads(settings) as settings:
        job, few = _prepared(settings, None), settings.batch_size
        data = job.dataset
        batch = Dataset(
            data.train_images[:few],
            data.train_labels[:few],
            data.test_images[:few],
            data.test_labels[:few],
            data.name,
            data.classes,
        )
        _introduce(job)
        stopwatch = Stopwatch()
        with job.console:
            outcome = train(
                job.task,
                settings._replace(epochs=1),
                batch,
                compiled=not settings.eager,
                stopwatch=stopwatch,
            )
        job.console.epoch(outcome.history[0])
        job.console.say(
            "dry run", f"of one batch, {stopwatch.compiling:.1f} s to compile; nothing was written"
        )
        return 0


# -- before the run --------------------------------------------------------------------------------------


@contextlib.contextmanager
def _threads(settings: Settings) -> Generator[Settings, None, None]:
    """Take as many threads as the settings say, and return settings that say so."""
    before = get_threads()
    threads = settings.threads or (1 if settings.deterministic else before)
    set_threads(threads)
    try:
        yield settings._replace(threads=threads)
    finally:
        set_threads(before)


def _prepared(settings: Settings, source: Path | None) -> _Job:
    """Load what a run needs, and check what can be checked before it."""
    task = task_of(settings, source)
    if settings.tensorboard:
        check_tensorboard()
    console = Console(task)
    if settings.data == "digits":
        console.say("drawing", f"{sum(drawn_counts(settings).values()):,} digits")
    dataset = dataset_of(settings)
    if settings.model is None:
        return _Job(task, settings, dataset, console, None)
    place, _, name = settings.model.rpartition(":")
    file = source or Path(place)
    check_model(task, name, file, dataset, settings)
    return _Job(task, settings, dataset, console, file)


def _introduce(job: _Job) -> None:
    settings, data, say = job.settings, job.dataset, job.console.say
    parameters = parameter_count(job.beginning().model)
    train, test = len(data.train_images), len(data.test_images)
    batch = min(settings.batch_size, train)  # no step has more examples than there are
    numbers = f"batch size {batch}, learning rate {settings.rate:g}, seed {settings.seed}"
    threads = "NumPy" if settings.eager else counted(settings.threads or get_threads(), "thread")
    say("network", f"{job.task.title}, {parameters:,} parameters")
    say("data", f"{data.name}: {train:,} images to train, {test:,} to test")
    say("settings", f"{counted(settings.epochs, 'epoch')}, {numbers}, {threads}")


# -- the run and what comes after it ---------------------------------------------------------------------


def _train(job: _Job, folder: RunFolder, state: State, checkpoints: Checkpoints) -> int:
    """Train from a state, and keep what comes of it."""
    settings, console, stopwatch = job.settings, job.console, Stopwatch()
    _introduce(job)
    console.say("folder", str(folder.path))
    done = (state.epoch - 1) * job.steps + state.step
    if done:
        console.say(
            "resumed", f"after {counted(len(state.history), 'epoch')} and {counted(state.step, 'step')}"
        )
    board = TensorBoard(folder.path / TENSORBOARD, job.steps, done) if settings.tensorboard else None
    with Interrupts() as interrupts, contextlib.closing(board) if board else contextlib.nullcontext():
        keeper = Keeper(console, folder, checkpoints, interrupts, settings, stopwatch, board)
        try:
            with console, blaming(job.file) if job.file else contextlib.nullcontext():
                outcome = train(
                    job.task,
                    settings,
                    job.dataset,
                    keeper,
                    compiled=not settings.eager,
                    state=state,
                    stopwatch=stopwatch,
                )
        except DivergedError as problem:
            raise _diverged(problem, folder, checkpoints) from None
        _keep(job, folder, outcome, keeper)
    return _end(console, folder, outcome, interrupts)


def _diverged(problem: DivergedError, folder: RunFolder, checkpoints: Checkpoints) -> DivergedError:
    """Note why the run ended, and return the error with where to find what was learned before."""
    with contextlib.suppress(RunError):
        folder.fail(problem)
    found = checkpoints.found()
    where = f"the last good checkpoint is {found[0]}" if found else "there is no checkpoint yet"
    return DivergedError(f"{problem}; {where}")


def _keep(job: _Job, folder: RunFolder, outcome: Outcome, keeper: Keeper) -> None:
    """Save the model first, then the rest."""
    if outcome.interrupted:
        keeper.save(outcome.state)
    folder.finish(outcome)
    if outcome.history:
        job.console.table(outcome.history)
    try:
        if keeper.problem is not None:
            raise keeper.problem
        if job.settings.profile:
            _tell_profile(job.console, keeper.stopwatch, folder)
        _draw(job, outcome, folder)
    except RunError as problem:
        raise RunError(f"{problem}; the model is saved in {folder.path / MODEL}") from None
    job.console.say("model", str(folder.path / MODEL))


def _end(console: Console, folder: RunFolder, outcome: Outcome, interrupts: Interrupts) -> int:
    """Say how the run ended, and return the exit code."""
    if not outcome.interrupted:
        return 0
    saved = f"what was learned until then is saved in {folder.path}"
    if console.closed:
        raise RunError(f"the output was closed; {saved}")
    number = interrupts.signal or signal.SIGINT
    console.say("stopped", f"by {'Ctrl-C' if number == signal.SIGINT else number.name}; {saved}")
    console.say("go on", f"wengert train --resume {folder.path}")
    return 128 + number


def _tell_profile(console: Console, stopwatch: Stopwatch, folder: RunFolder) -> None:
    """Say where the time went, and keep it."""
    console.say("compiling", f"{stopwatch.compiling:.2f} s, once")
    for part, seconds, share in stopwatch.table():
        console.say("profile", f"{part:<16} {seconds:9.4f} s {share:7.1%} of an epoch")
    folder.write_json(PROFILE, stopwatch.described())


def _draw(job: _Job, outcome: Outcome, folder: RunFolder) -> None:
    """Draw the pictures of a run and say where they are."""
    task, dataset, say = job.task, job.dataset, job.console.say
    if not pictures.available():
        say("pictures", pictures.NO_PICTURES)
        return
    if outcome.history:
        curve = pictures.learning_curve(task, outcome.history)
        say("picture", str(folder.write("learning_curve.png", curve)))
    images: Any = dataset.test_images[:16]
    outputs = outcome.model(task.prepare(images))
    if task.classifies:
        named = np.asarray(dataset.classes)
        guesses, truth = named[np.argmax(outputs, axis=1)], named[dataset.test_labels[:16]]
        drawn = pictures.examples(images, guesses.tolist(), truth.tolist())
        say("picture", str(folder.write("examples.png", drawn)))
    elif np.size(outputs) == np.size(images):
        rows = pictures.reconstructions(images[:10] / 255, np.reshape(outputs, images.shape)[:10])
        say("picture", str(folder.write("reconstructions.png", rows)))
