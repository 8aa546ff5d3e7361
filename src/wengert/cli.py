"""The command line: ``wengert train``."""

from __future__ import annotations

import io
import math
import sys

import click

from wengert._version import __version__
from wengert.errors import WengertError
from wengert.train.command import DATA, run_training
from wengert.train.tasks import TASKS
from wengert.train.threads import one_thread


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(__version__, prog_name="wengert")
@click.pass_context
def command(context: click.Context) -> None:
    """Wengert: exact derivatives of NumPy programs."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@command.command()
@click.argument("network", type=click.Choice(tuple(TASKS)), default="cnn")
@click.option(
    "--data", type=click.Choice(DATA), default="digits", show_default=True, help="The images to learn."
)
@click.option("--data-dir", type=click.Path(), help="The folder with the IDX files of the data set.")
@click.option("--epochs", type=click.IntRange(min=1), help="How often to go through the images.")
@click.option("--batch-size", type=click.IntRange(min=1), help="Examples a step.")
@click.option("--lr", "rate", type=click.FloatRange(min=0, min_open=True), help="The learning rate.")
@click.option(
    "--seed", type=click.IntRange(min=0), help="Of the first weights and of the order of the images."
)
@click.option("--eager", is_flag=True, help="Carry out each operation by NumPy: do not compile.")
@click.option("--out", type=click.Path(), help="A new folder for the run.  [default: runs/NETWORK-DATE-TIME]")
def train(
    network: str,
    data: str,
    data_dir: str | None,
    epochs: int | None,
    batch_size: int | None,
    rate: float | None,
    seed: int | None,
    eager: bool,
    out: str | None,
) -> int:
    """Train a network of the papers: cnn, rnn, autoencoder or mlp.

    Without options, the network has its paper's settings and learns a set of digits that Wengert draws itself.
    """
    if data_dir is not None and data == "digits":
        raise click.UsageError("--data-dir needs --data mnist or --data fashion-mnist: the digits are drawn.")
    if rate is not None and not math.isfinite(rate):
        raise click.BadParameter(f"{rate} is not a finite number.", param_hint="'--lr'")
    settings = TASKS[network].settings(data, epochs=epochs, batch_size=batch_size, rate=rate, seed=seed)
    one_thread()
    return run_training(settings, data_dir, out, compiled=not eager)


def main() -> None:
    """Run the command line; every expected failure is one line and an exit code: 2 for usage, 1 for the rest."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a file name may hold what the terminal cannot show
    try:
        sys.exit(command(prog_name="wengert", standalone_mode=False))
    except click.ClickException as problem:
        context = problem.ctx if isinstance(problem, click.UsageError) else None
        path = context.command_path if context else "wengert"
        _fail(f"{problem.format_message().rstrip('.')}; see {path} --help", problem.exit_code)
    except MemoryError:
        _fail("there is not enough memory: try a smaller --batch-size", 1)
    except (WengertError, OSError) as problem:
        _fail(str(problem), 1)
    except (click.Abort, KeyboardInterrupt):
        _fail("stopped by Ctrl-C", 130)


def _fail(problem: str, code: int) -> None:
    click.echo(f"wengert: {' '.join(problem.split())}", err=True)
    sys.exit(code)
