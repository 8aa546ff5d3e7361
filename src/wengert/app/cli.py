"""The command line: ``wengert train`` and the others."""

from __future__ import annotations

import difflib
import io
import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from wengert._startup import INTERRUPTED, end_startup
from wengert._version import __version__
from wengert.app.doctor import run_doctor
from wengert.app.explore import write_exploration
from wengert.app.export import KINDS, ExportOptions, export_run
from wengert.app.grid import parsed, points, unique_names
from wengert.app.predict import (
    Output,
    PredictOptions,
    WriteOptions,
    learned_text,
    run_prediction,
    run_writing,
)
from wengert.app.ranks import fail_job, join_job, launch
from wengert.app.report import write_comparison, write_report
from wengert.app.sweep import Point, begin_sweep, resume_sweep
from wengert.app.train import resume_training, run_training, try_training
from wengert.engine.core.blas_threads import limit_blas
from wengert.engine.core.errors import WengertError
from wengert.parallel.launch import explain
from wengert.train.reporters import labelled
from wengert.train.runs import Run, absolute, check_data, resumed_settings, task_of
from wengert.train.settings import OPTIONS, Option, Settings, SettingsError, read_settings
from wengert.train.tasks import RECIPES, TASKS

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # it takes no parameter before click 8.4


_EXAMPLES = """Examples:

\b
  wengert train cnn --recipe fast --data mnist
  wengert train --resume runs/cnn-20260101-120000
  wengert predict runs/cnn-20260101-120000 seven.png --invert --centre
  wengert report runs/cnn-20260101-120000
  wengert doctor

Completion with the Tab key: put the line of your shell into its start file.

\b
  eval "$(_WENGERT_COMPLETE=bash_source wengert)"        # ~/.bashrc
  eval "$(_WENGERT_COMPLETE=zsh_source wengert)"         # ~/.zshrc
  _WENGERT_COMPLETE=fish_source wengert | source         # ~/.config/fish/config.fish
"""


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True, epilog=_EXAMPLES
)
@click.version_option(__version__, prog_name="wengert")
@click.pass_context
def command(context: click.Context) -> None:
    """Wengert: exact derivatives of NumPy programs."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


class _Keep(ParamType):
    name = "best|last|N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | int:
        rule = OPTIONS["keep"].rule
        keep = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
        if not rule.holds(keep):
            self.fail(f"{value!r} is not {rule.requirement}.", param, ctx)
        return keep


class Integer(click.IntRange):
    """An integer within limits."""

    name = "integer"  # click writes "'x' is not a valid integer range"


class _Finite(click.FloatRange):
    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class _Named(click.Argument):
    """An argument that errors call by its name; click writes out its choices, which follow anyway."""

    def get_error_hint(self, ctx: click.Context | None) -> str:
        return f"'{str(self.name).upper()}'"


_RECIPES = ("paper", *dict.fromkeys(recipe for _, recipe in RECIPES))
AT_LEAST_1 = Integer(min=1)
AT_LEAST_0 = Integer(min=0)
_TYPES: dict[str, Any] = {
    "recipe": click.Choice(_RECIPES),
    "data-dir": click.Path(),
    "text": click.Path(),
    "keep": _Keep(),
}
"""The types of settings whose rule does not determine them."""


def _type_of(option: Option) -> Any:
    rule = option.rule
    if option.name in _TYPES:
        return _TYPES[option.name]
    if rule.choices:
        return click.Choice(rule.choices)
    if rule.kind is int:
        return Integer(min=rule.least)
    return _Finite(min=rule.least, min_open=rule.above) if rule.kind is float else str


def _settings_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command an option for each setting, None by default."""
    for option in reversed(OPTIONS.values()):
        name = f"--{option.name}"
        if option.name == "network":
            continue
        if option.rule.kind is bool:
            switch = f"{name}/--no-{option.name}"
            decorate = click.option(switch, option.field, default=None, help=option.help)
        else:
            decorate = click.option(name, option.field, type=_type_of(option), default=None, help=option.help)
        function = decorate(function)
    return function


_trust = click.option("--trust", is_flag=True, help="Run the Python file in the run's folder. Read it first.")


@command.command()
@click.argument("network", type=click.Choice(tuple(TASKS)), required=False, cls=_Named)
@click.option(
    "--settings", type=click.Path(), help="A TOML file of these options; the command line overrides it."
)
@_settings_options
@click.option("--out", type=click.Path(), help="A new folder for the run.  [default: runs/NETWORK-DATE-TIME]")
@click.option("--resume", type=click.Path(), metavar="RUN", help="Resume the run in this folder.")
@_trust
@click.option("--dry-run", is_flag=True, help="Train and test with one batch; write nothing.")
@click.option("--ranks", type=AT_LEAST_1, help="Train on N processes, which mpiexec starts.")
@click.option("--restarts", type=AT_LEAST_0, default=0, help="Start again up to N times if a rank dies.")
@click.option("--min-ranks", type=AT_LEAST_1, default=1, help="The least number of ranks to go on with.")
def train(
    network: str | None,
    settings: str | None,
    out: str | None,
    resume: str | None,
    trust: bool,
    dry_run: bool,
    ranks: int | None,
    restarts: int,
    min_ranks: int,
    **options: Any,
) -> int:
    """Train a network, by default the papers' cnn, or your own (--model).

    Without options, the network has its paper's settings and learns digits that Wengert draws.
    """
    chosen = {field: value for field, value in options.items() if value is not None}
    if network is not None:
        chosen["task"] = network
    limit_blas()
    if ranks is not None:
        if dry_run:
            raise click.UsageError("--dry-run cannot be combined with --ranks.")
        return launch(ranks, restarts, min_ranks)
    if resume is not None:
        if settings is not None or out is not None or dry_run:
            raise click.UsageError("--resume cannot be combined with --settings, --out or --dry-run.")
        run = Run.open(resume, trust=trust)
        return resume_training(run, resumed_settings(run, chosen))
    if trust:
        raise click.UsageError("--trust needs --resume; the file of --model is always run.")
    complete = _complete(chosen, read_settings(settings) if settings is not None else {})
    return try_training(complete) if dry_run else run_training(complete, out)


def check_data_dir(data: str, folder: str | None) -> None:
    """Raise `click.UsageError` if a folder is given for digits, which are drawn."""
    if folder is not None and data == "digits":
        raise click.UsageError(
            "--data-dir needs --data mnist, fashion-mnist or arrays; digits are drawn, not read."
        )
    if folder is None and data == "arrays":
        raise click.UsageError("--data arrays needs --data-dir, the folder of the .npy files.")


def _complete(chosen: dict[str, Any], written: dict[str, Any]) -> Settings:
    """Return the settings of a new run: from the command line, then from the file, then the network's own."""
    if "task" in chosen and "model" in chosen:
        raise click.UsageError("NETWORK and --model cannot be combined.")
    if "task" in chosen:
        written.pop("model", None)
    if "model" in chosen:
        written.pop("task", None)
    both = written | chosen
    if "task" in both and "model" in both:
        raise SettingsError("network and model cannot both be set")
    static = {name: both[name] for name in ("recipe", "model") if name in both}
    wanted = Settings(both.pop("task", "cnn"), "", 1, 1, 1.0, 0, **static)
    if wanted.model is not None and wanted.recipe != "paper":
        raise SettingsError("recipe cannot be combined with model: define a Task in the file instead")
    task = task_of(wanted)
    data = both.pop("data", task.data)
    check_data_dir(data, both.get("data_dir"))
    settings = task.settings(data, **both)
    check_data(settings, task)
    return settings


@command.command()
@click.argument("settings", type=click.Path(), required=False)
@click.option(
    "--grid",
    "grids",
    multiple=True,
    metavar="NAME=VALUES",
    help="A setting and its values, such as lr=1e-3,3e-3 or seed=0:8 (0 to 7); give one for each setting.",
)
@click.option("--workers", type=AT_LEAST_1, help="Runs at a time.  [default: one per processor]")
@click.option("--out", type=click.Path(), help="A new folder for the runs.  [default: runs/sweep-DATE-TIME]")
@click.option("--resume", type=click.Path(), metavar="SWEEP", help="Finish the sweep in this folder.")
def sweep(
    settings: str | None, grids: tuple[str, ...], workers: int | None, out: str | None, resume: str | None
) -> int:
    """Train a run for each combination of values in a grid, several at a time, and compare them.

    SETTINGS is a TOML file of the options of "wengert train". The grid overrides it.

    Each run has a folder of its own; a run that fails does not stop the others. The page comparison.html shows all of
    them.
    """
    if resume is not None:
        if settings is not None or grids or out is not None:
            raise click.UsageError("--resume cannot be combined with SETTINGS, --grid or --out.")
        return resume_sweep(resume, workers)
    if not grids:
        raise click.UsageError(
            "a grid is missing: give --grid NAME=VALUES, such as lr=1e-3,3e-3 or seed=0:8."
        )
    written = read_settings(settings) if settings is not None else {}
    grid = points(parsed(grids))
    runs = [
        Point(name, _arguments(written, point)) for name, point in zip(unique_names(grid), grid, strict=True)
    ]
    return begin_sweep(runs, workers, out)


def _arguments(written: dict[str, Any], point: dict[str, Any]) -> list[str]:
    """Return the options of ``wengert train`` for a point of a grid; raise `SettingsError` if it refuses them."""
    varied = {OPTIONS[name].field: value for name, value in point.items()}
    complete = absolute(_complete(dict(varied), dict(written)))
    chosen = (
        written | varied | {"data_dir": complete.data_dir, "model": complete.model, "text": complete.text}
    )
    arguments = [] if complete.model is not None else [complete.task]
    for name, option in OPTIONS.items():
        value = chosen.get(option.field)
        if name == "network" or value is None:
            continue
        if isinstance(value, bool):
            arguments.append(f"--{name}" if value else f"--no-{name}")
        else:
            arguments.append(f"--{name}={value}")
    return arguments


@command.command()
@click.argument("run", type=click.Path())
@click.argument("images", type=click.Path(), nargs=-1)
@click.option("--top", type=AT_LEAST_1, default=3, show_default=True, help="The number of labels to print.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per image.")
@click.option("--invert", is_flag=True, help="Invert the images: for dark ink on light paper.")
@click.option("--resize", is_flag=True, help="Resize images of other sizes to the network's input size.")
@click.option(
    "--centre", is_flag=True, help="Crop, scale and centre the drawing as in MNIST; any image size."
)
@click.option("--prompt", help="The text that a language model continues.")
@click.option("--characters", type=AT_LEAST_0, help="Characters to write.  [default: 400]")
@click.option(
    "--temperature", type=_Finite(min=0), help="Less than 1 prefers probable characters.  [default: 0.8]"
)
@click.option("--seed", type=AT_LEAST_0, help="The seed of the characters.  [default: 0]")
@_trust
def predict(
    run: str,
    images: tuple[str, ...],
    prompt: str | None,
    characters: int | None,
    temperature: float | None,
    seed: int | None,
    **options: Any,
) -> int:
    """Classify IMAGES with the network of RUN, and print labels with probabilities; or continue a text (gpt).

    RUN is the folder of a run, or a file of a checkpoint.
    IMAGES are pictures (PNG, JPEG, BMP, PGM, PPM), IDX files (gzipped or not), and folders of these.
    """
    limit_blas()
    written = {"prompt": prompt, "characters": characters, "temperature": temperature, "seed": seed}
    chosen: dict[str, Any] = {name: value for name, value in written.items() if value is not None}
    if chosen and images:
        raise click.UsageError(f"--{next(iter(chosen))} is for language models, which take no IMAGES.")
    if not images:
        if not learned_text(run, trust=options["trust"]):
            raise click.UsageError(
                "--prompt is for language models." if chosen else "Missing argument 'IMAGES...'."
            )
        return run_writing(
            run, WriteOptions(**chosen), trust=options["trust"], show=lambda text: click.echo(text, nl=False)
        )
    output = Output(click.echo, lambda problem: click.echo(_line(problem), err=True))
    return run_prediction(run, images, PredictOptions(**options), output)


@command.command()
@click.argument("run", type=click.Path())
@click.option("--out", type=click.Path(), help="The HTML page.  [default: RUN/report.html]")
@_trust
def report(run: str, out: str | None, trust: bool) -> None:
    """Write an HTML page about RUN: settings, learning curves, time, mistakes, weights, the network's graph."""
    limit_blas()
    click.echo(labelled("report", write_report(run, out, trust=trust)))


@command.command()
@click.argument("runs", type=click.Path(), nargs=-1, required=True)
@click.option("--out", type=click.Path(), help="The HTML page.  [default: comparison.html]")
@_trust
def compare(runs: tuple[str, ...], out: str | None, trust: bool) -> None:
    """Print a table that compares RUNS, and write an HTML page with their learning curves."""
    click.echo(labelled("report", write_comparison(runs, out, trust=trust)))


@command.command()
@click.argument("run", type=click.Path())
@click.option("--to", "kind", type=click.Choice(KINDS), required=True, help="The kind of files.")
@click.option("--gradient", is_flag=True, help="The loss and its gradient by the model.")
@click.option(
    "--train-step", is_flag=True, help="A training step, which updates model and optimiser in place."
)
@click.option(
    "--target", default="host", show_default=True, help="The processor, for C; a wrong name lists them."
)
@click.option("--out", type=click.Path(), help="The folder of the files.  [default: RUN]")
@click.option("--batch", type=AT_LEAST_1, help="Images in a call.  [default: 1; with a gradient, the run's]")
@_trust
def export(run: str, **options: Any) -> None:
    """Write the network of RUN as C, WebAssembly, ONNX or a saved function: its predictions, by default."""
    limit_blas()
    for path in export_run(run, ExportOptions(**options)):
        click.echo(path)


@command.command()
def doctor() -> int:
    """Print versions, processor, threads and cache, and test derivatives and the compiler: a few seconds."""
    return run_doctor(click.echo)


@command.command(
    context_settings={"ignore_unknown_options": True}, epilog="Example: wengert explore product.py:f 2.0 5.0"
)
@click.argument("function", metavar="FILE.py:FUNCTION")
@click.argument("inputs", nargs=-1, type=click.UNPROCESSED)
@click.option("--out", type=click.Path(), help="The HTML page.  [default: FUNCTION.html]")
def explore(function: str, inputs: tuple[str, ...], out: str | None) -> None:
    """Write an HTML page on which a function and its derivatives are followed step by step.

    INPUTS are the function's arguments: Python literals, such as 2.0 or "[[1.0, 2.0], [3.0, 4.0]]", whose lists are
    arrays; or files of arrays (.npy, or .npz as a dict).
    """
    click.echo(labelled("page", write_exploration(function, inputs, out)))


def main(program: click.Command = command, name: str = "wengert") -> None:
    """Run the command line. An expected failure prints one line; the exit code is 2 for usage errors, else 1."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(
            errors="replace"
        )  # a file name may contain characters that the terminal cannot show
    try:
        end_startup()
        join_job()
        sys.exit(program(prog_name=name, standalone_mode=False))
    except click.ClickException as problem:
        context = problem.ctx if isinstance(problem, click.UsageError) else None
        path = context.command_path if context else name
        if isinstance(problem, click.NoSuchOption) and problem.possibilities:
            problem.possibilities[:] = _alike(problem.option_name, problem.possibilities)
        _fail(f"{problem.format_message().rstrip('.')}; see {path} --help", problem.exit_code)
    except MemoryError:
        _fail("out of memory: try a smaller --batch-size", 1)
    except SettingsError as problem:
        _fail(str(problem), 2)
    except (WengertError, OSError) as problem:
        _fail(str(problem), 1)
    except (click.Abort, KeyboardInterrupt):
        _fail("stopped by Ctrl-C", INTERRUPTED)


def _alike(option: str, candidates: list[str]) -> list[str]:
    """Return the options whose names differ little; click counts the dashes, too."""
    names = {candidate.lstrip("-"): candidate for candidate in candidates}
    return [names[name] for name in difflib.get_close_matches(option.lstrip("-"), names, cutoff=0.7)]


def _line(problem: str) -> str:
    return f"wengert: {' '.join(problem.split())}"


def _fail(problem: str, code: int) -> None:
    explain(_line(problem))
    fail_job(code)
    sys.exit(code)
