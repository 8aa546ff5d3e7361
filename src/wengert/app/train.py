"""``wengert train``, from the settings to the plots."""

from __future__ import annotations

import contextlib
import shutil
import signal
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wengert._version import versions
from wengert.app.ranks import all_ranks
from wengert.compiler.runtime.threads.team import get_threads, set_threads
from wengert.data import Dataset
from wengert.parallel import Group
from wengert.parallel.launch import note
from wengert.report.png import png
from wengert.train import plots
from wengert.train.agreement import check_ranks, checksum, threads_of
from wengert.train.boards import Start, check_boards, opened
from wengert.train.checkpoint_files import Checkpoints, checkpoints_in
from wengert.train.loop import DivergedError, Outcome, parameter_count, steps_of, train
from wengert.train.profile import Stopwatch
from wengert.train.reporters import Console, Follower, Interrupts, RunReporter, counted
from wengert.train.runs import (
    CHECKPOINTS,
    MODEL,
    PROFILE,
    Run,
    RunFolder,
    absolute,
    check_place,
    dataset_of,
    drawn_counts,
    task_of,
)
from wengert.train.settings import Settings, SettingsError
from wengert.train.state import State, begin
from wengert.train.storage import RunError
from wengert.train.tasks import Task
from wengert.train.user_models import SOURCE, blaming, check_model


class _Job(NamedTuple):
    """A task with its settings and data."""

    task: Task
    settings: Settings
    dataset: Dataset
    console: Console
    group: Group
    file: Path | None
    """The user's file that was run, or the copy of it."""

    @property
    def steps(self) -> int:
        """Steps of an epoch."""
        return steps_of(self.settings, self.dataset)

    def initial_state(self) -> State:
        return begin(self.task, self.settings, self.settings.epochs * self.steps)

    def checkpoints(self, folder: Path) -> Checkpoints:
        data = checksum(self.dataset)
        return Checkpoints(folder / CHECKPOINTS, self.task, self.settings, self.steps, data)


# -- new, resumed and dry runs ---------------------------------------------------------------------------


def run_training(settings: Settings, out: str | None) -> int:
    """Train, show the progress, and write everything into a folder, which is made once the data are loaded.

    The exit code is 0, or 128 plus the number of the signal that ended the run.
    """
    with all_ranks() as group:
        group.from_first(lambda: check_place(out))
        with _threads(settings, group) as settings:
            job = group.together(lambda: _prepared(settings, None, group))
            if group.rank:
                group.together(lambda: None)
                return _follow(job, job.initial_state())
            folder = group.together(lambda: RunFolder(out, absolute(settings), job.file))
            note("run", str(folder.path))
            with folder.in_use():
                return _train(job, folder, job.initial_state(), job.checkpoints(folder.path))


def resume_training(run: Run, settings: Settings) -> int:
    """Resume a run from its newest undamaged checkpoint; see `run_training`."""
    with all_ranks() as group, _threads(settings, group) as settings:
        source = run.path / SOURCE
        job = group.together(lambda: _prepared(settings, source if source.exists() else None, group))
        if group.rank:
            group.together(lambda: None)  # the first process puts damaged checkpoints aside
            state, _ = group.together(lambda: job.checkpoints(run.path).newest(job.initial_state()))
            return _follow(job, state or job.initial_state())
        with contextlib.ExitStack() as stack:

            def opened() -> tuple[RunFolder, Checkpoints, State]:
                folder = RunFolder.again(run.path)
                stack.enter_context(folder.in_use())
                checkpoints = job.checkpoints(run.path)
                return folder, checkpoints, _state_to_resume(job, run, folder, checkpoints)

            folder, checkpoints, state = group.together(opened)
            note("run", str(folder.path))
            group.together(lambda: None)
            return _train(job, folder, state, checkpoints)


def _state_to_resume(job: _Job, run: Run, folder: RunFolder, checkpoints: Checkpoints) -> State:
    say = job.console.say
    state, problems = checkpoints.newest(job.initial_state())
    for problem in problems:
        say("warning", f"{problem}; using the checkpoint before it")
    for name, before in run.versions.items():
        if (now := versions().get(name)) != before:
            hint = "the numbers may differ from those of an uninterrupted run"
            say("note", f"the run began with {name} {before}, this is {now}: {hint}")
    state = state or job.initial_state()
    _check_epochs(run, job.settings, state)
    if state.epoch > job.settings.epochs:
        say("note", "the run is complete; --epochs N continues it to epoch N")
    folder.describe(job.settings, run.began)
    for problem in folder.metrics.go_back(state.epoch, state.step, state.history):
        say("warning", f"{problem}; it is left out")
    return state


def _check_epochs(run: Run, settings: Settings, state: State) -> None:
    """Raise `SettingsError` if the run has done more than the new number of epochs."""
    done = state.epoch - 1
    if settings.epochs < done or (settings.epochs == done and state.step):
        steps = f"{counted(done, 'epoch')} and {counted(state.step, 'step')}"
        raise SettingsError(f"epochs is {settings.epochs}, but {run.path} has already done {steps}")


def try_training(settings: Settings) -> int:
    """Train with one batch and test with one; write nothing."""
    with _threads(settings, Group()) as settings:
        job, size = _prepared(settings, None, Group()), settings.batch_size
        data = job.dataset
        batch = Dataset(
            data.train_images[:size],
            data.train_labels[:size],
            data.test_images[:size],
            data.test_labels[:size],
            data.name,
            data.classes,
        )
        _introduce(job)
        with job.console:
            outcome, stopwatch = _run(job._replace(settings=settings._replace(epochs=1), dataset=batch))
        job.console.epoch(outcome.history[0])
        job.console.say("dry run", f"one batch, {stopwatch.compiling:.1f} s to compile; nothing was written")
        return 0


def _run(
    job: _Job, reporter: RunReporter | Follower | None = None, state: State | None = None
) -> tuple[Outcome, Stopwatch]:
    stopwatch = reporter.stopwatch if isinstance(reporter, RunReporter) else Stopwatch()
    outcome = train(
        job.task,
        job.settings,
        job.dataset,
        reporter,
        compiled=not job.settings.eager,
        state=state,
        stopwatch=stopwatch,
        group=job.group,
    )
    return outcome, stopwatch


# -- before the run --------------------------------------------------------------------------------------


@contextlib.contextmanager
def _threads(settings: Settings, group: Group) -> Generator[Settings, None, None]:
    """Set the number of threads, and yield settings with that number."""
    before = get_threads()
    usual = before if group.size == 1 else min(before, threads_of(group))
    threads = settings.threads or (1 if settings.deterministic else usual)
    set_threads(threads)
    try:
        yield settings._replace(threads=threads)
    finally:
        set_threads(before)


def _prepared(settings: Settings, source: Path | None, group: Group) -> _Job:
    check_ranks(group, settings)
    task = task_of(settings, source)
    check_boards(settings)
    console = Console(task)
    console.out.quiet = group.rank > 0
    if settings.data == "digits":
        console.say("drawing", f"{sum(drawn_counts(settings).values()):,} digits")
    if group.size > 1:
        group.from_first(
            lambda: repr(dataset_of(settings))
        )  # so that one process downloads and unpacks, not all
    dataset = dataset_of(settings)
    if settings.model is None:
        return _Job(task, settings, dataset, console, group, None)
    place, _, name = settings.model.rpartition(":")
    file = source or Path(place)
    check_model(task, name, file, dataset, settings)
    return _Job(task, settings, dataset, console, group, file)


def _introduce(job: _Job) -> None:
    settings, data, say = job.settings, job.dataset, job.console.say
    parameters = parameter_count(job.initial_state().model)
    train, test = len(data.train_images), len(data.test_images)
    batch = min(settings.batch_size, train)  # a step cannot have more examples than there are
    numbers = f"batch size {batch}, learning rate {settings.rate:g}, seed {settings.seed}"
    threads = "NumPy" if settings.eager else counted(settings.threads or get_threads(), "thread")
    say("network", f"{job.task.title}, {parameters:,} parameters")
    noun = "pieces" if settings.data == "text" else "images"
    say("data", f"{data.name}: {train:,} {noun} to train, {test:,} to test")
    if job.group.size > 1:
        threads = f"{job.group.size} ranks with {threads}"
    say("settings", f"{counted(settings.epochs, 'epoch')}, {numbers}, {threads}")


# -- the run and its results -----------------------------------------------------------------------------


def _follow(job: _Job, state: State) -> int:
    """Take part in a run that the first process shows and writes."""
    with Interrupts() as interrupts, blaming(job.file):
        outcome, _ = _run(job, Follower(interrupts, job.group), state)
    return _code(job, outcome, interrupts)


def _code(job: _Job, outcome: Outcome, interrupts: Interrupts) -> int:
    """Return the exit code of all processes, by the signal that one of them got."""
    noted = next(filter(None, job.group.gather(interrupts.signal)), signal.SIGINT)
    code = 128 + noted if outcome.interrupted else 0
    if job.group.rank == 0:
        note("ended", str(code))
    return code


def _train(job: _Job, folder: RunFolder, state: State, checkpoints: Checkpoints) -> int:
    settings, console = job.settings, job.console
    _introduce(job)
    console.say("folder", str(folder.path))
    done = (state.epoch - 1) * job.steps + state.step
    if done:
        steps = f"{counted(len(state.history), 'epoch')} and {counted(state.step, 'step')}"
        console.say("resumed", f"after {steps}")
    start = Start(folder.path, settings, job.steps, done)
    with Interrupts() as interrupts, opened(start) as boards:
        reporter = RunReporter(
            console, folder, checkpoints, interrupts, settings, Stopwatch(), boards, job.group
        )
        try:
            with console, blaming(job.file):
                outcome, _ = _run(job, reporter, state)
        except DivergedError as problem:
            raise _diverged(problem, folder, checkpoints) from None
        _write_results(job, folder, outcome, reporter)
    code = _code(job, outcome, interrupts)
    _end(console, folder, code)
    return code


def _diverged(problem: DivergedError, folder: RunFolder, checkpoints: Checkpoints) -> DivergedError:
    with contextlib.suppress(RunError):
        folder.fail(problem)
    files = checkpoints_in(checkpoints.folder)
    where = f"the last good checkpoint is {files[0]}" if files else "there is no checkpoint yet"
    return DivergedError(f"{problem}; {where}")


def _write_results(job: _Job, folder: RunFolder, outcome: Outcome, reporter: RunReporter) -> None:
    """Save the model first, then the rest."""
    if outcome.interrupted:
        reporter.save(outcome.state)
    folder.finish(outcome)
    if outcome.history:
        job.console.table(outcome.history)
    try:
        if reporter.problem is not None:
            raise reporter.problem
        if job.settings.profile:
            _show_profile(job.console, reporter.stopwatch, folder)
        _draw(job, outcome, folder)
    except RunError as problem:
        raise RunError(f"{problem}; the model is saved in {folder.path / MODEL}") from None
    job.console.say("model", str(folder.path / MODEL))


def _end(console: Console, folder: RunFolder, code: int) -> None:
    if not code:
        return
    if console.closed:
        raise RunError(f"the output was closed; the run is saved in {folder.path}")
    number = signal.Signals(code - 128)
    name = "Ctrl-C" if number == signal.SIGINT else number.name
    console.say("stopped", f"by {name}; the run is saved in {folder.path}")
    console.say("resume", f"wengert train --resume {folder.path}")


def _show_profile(console: Console, stopwatch: Stopwatch, folder: RunFolder) -> None:
    console.say("compiling", f"{stopwatch.compiling:.2f} s, once")
    for part, seconds, share in stopwatch.table():
        console.say("profile", f"{part:<16} {seconds:9.4f} s {share:7.1%} of an epoch")
    folder.write_json(PROFILE, stopwatch.described())


#: Test pictures among which `_draw` looks for mistakes, the most mistakes that it shows, and all pictures.
_LOOKED_AT, _MISTAKES, _SHOWN = 500, 8, 16


def _command() -> str:
    """Return how this shell starts the command: it may lie in an environment that is not active."""
    typed = sys.argv[0]
    if shutil.which("wengert"):
        return "wengert"
    return typed if Path(typed).name == "wengert" else f"{sys.executable} -m wengert"


def _draw(job: _Job, outcome: Outcome, folder: RunFolder) -> None:
    task, dataset, say = job.task, job.dataset, job.console.say
    if not plots.available():
        say("pictures", plots.NO_PLOTS)
        return
    if outcome.history:
        curve = plots.learning_curve(task, outcome.history)
        say("picture", str(folder.write("learning_curve.png", curve)))
    if job.settings.data == "text":
        return
    images: Any = dataset.test_images[: _LOOKED_AT if task.classifies else 10]
    outputs = outcome.model(task.prepare(images))
    if task.classifies:
        guesses, truth = np.argmax(outputs, axis=1), dataset.test_labels[: len(images)]
        shown = np.sort(
            np.argsort(guesses == truth, kind="stable")[:_MISTAKES]
        )  # mistakes first, then others
        others = np.setdiff1d(np.arange(len(images)), shown)
        shown = np.concatenate([shown, others[: _SHOWN - len(shown)]])
        names = np.asarray(dataset.classes)
        plot = plots.examples(images[shown], names[guesses[shown]].tolist(), names[truth[shown]].tolist())
        say("picture", str(folder.write("examples.png", plot)))
        if np.ndim(images) == 3:
            opaque = np.stack([images[0], np.full_like(images[0], 255)], axis=-1)
            picture = folder.write("picture.png", png(opaque))
            say("try", f"{_command()} predict {folder.path} {picture}")
    elif np.size(outputs) == np.size(images):
        plot = plots.reconstructions(images[:10] / 255, np.reshape(outputs, images.shape)[:10])
        say("picture", str(folder.write("reconstructions.png", plot)))
