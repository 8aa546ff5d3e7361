"""The command line: ``wengert train``."""

from __future__ import annotations

import sys

import click

from wengert._version import __version__
from wengert.errors import WengertError
from wengert.train.command import DATA, run_training
from wengert.train.tasks import TASKS


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="wengert")
def command() -> None:
    """Wengert: exact derivatives of NumPy programs."""


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
@click.option("--out", type=click.Path(), help="A new folder for the run.  [default: runs/NETWORK-DATE-TIME]")
def train(
    network: str,
    data: str,
    data_dir: str | None,
    epochs: int | None,
    batch_size: int | None,
    rate: float | None,
    seed: int | None,
    out: str | None,
) -> None:
    """Train a network of the papers: cnn, rnn, autoencoder or mlp.

    Without options, the network has its paper's settings and learns a set of digits that Wengert draws itself.
    """
    if data_dir is not None and data == "digits":
        raise click.UsageError(
            "--data-dir needs --data mnist or --data fashion-mnist: the digits are drawn, not read."
        )
    settings = TASKS[network].settings(data, epochs=epochs, batch_size=batch_size, rate=rate, seed=seed)
    sys.exit(run_training(settings, data_dir, out))


def main() -> None:
    """Run the command line; every expected failure is one line and an exit code: 2 for usage, 1 for the rest."""
    try:
        command(prog_name="wengert")
    except (WengertError, OSError, MemoryError) as problem:
        click.echo(f"wengert: {_one_line(problem)}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        click.echo("wengert: stopped before anything was learned", err=True)
        sys.exit(130)


def _one_line(problem: BaseException) -> str:
    if isinstance(problem, MemoryError):
        return "there is not enough memory: try a smaller --batch-size"
    return " ".join(str(problem).split())
