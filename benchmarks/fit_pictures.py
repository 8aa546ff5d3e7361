"""The pictures of docs/fit.md, from the programs on that page: `python benchmarks/fit_pictures.py`."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tables import DOCS

BLUE, RED = "tab:blue", "tab:red"


def page() -> dict[str, Any]:
    """Run the programs of the page, and return their variables."""
    variables: dict[str, Any] = {}
    for program in re.findall(r"^```python\n(.*?)^```$", (DOCS / "fit.md").read_text("utf-8"), re.M | re.S):
        exec(program, variables)
    return variables


def epidemic(axes: Axes, of: dict[str, Any]) -> None:
    """Draw the counts, the fitted epidemic, and the counts that 95% of epidemics have."""
    from scipy.stats import nbinom

    estimates, days = of["fit"].estimates, of["days"]
    mean, size = of["ill"](estimates), np.exp(estimates["log_size"])
    lower, upper = [nbinom.ppf(share, size, size / (size + mean)) for share in (0.025, 0.975)]
    axes.fill_between(days, lower, upper, alpha=0.2, lw=0, color=BLUE, label="95% of counts")
    axes.plot(days, mean, color=BLUE, label="fitted epidemic")
    axes.plot(days, of["in_bed"], "k.", label="boys in bed")
    axes.set(xlabel="day", title="maximum likelihood")
    axes.legend(frameon=False)


def profiles(axes: Axes, of: dict[str, Any]) -> None:
    """Draw Wald's and the profile limits of each parameter, in standard errors."""
    fit = of["fit"]
    for height, name in enumerate(fit.names):
        for shift, colour, label, limits in (
            (0.12, BLUE, "profile", fit.profile()),
            (-0.12, "0.6", "Wald", fit.interval()),
        ):
            ends = [(limit[name] - fit.estimates[name]) / fit.standard_errors[name] for limit in limits]
            axes.plot(
                ends, 2 * [height + shift], "|-", color=colour, lw=2, ms=12, label=None if height else label
            )
        axes.plot(0.0, height, "k.")
    axes.set(yticks=range(len(fit.names)), yticklabels=fit.names, title="95% intervals", ylim=(-0.5, 2.9))
    axes.set_xlabel("standard errors from the estimate")
    axes.legend(frameon=False, ncols=2, loc="upper right")


def funnel(axes: Axes, title: str, samples: Any, effect: Any) -> None:
    """Draw an effect and the logarithm of its deviation, with the trajectories that diverged in red."""
    height, wrong = samples.draws["log_tau"], samples.divergent
    axes.plot(effect[~wrong], height[~wrong], ".", ms=2, alpha=0.4, color=BLUE)
    axes.plot(effect[wrong], height[wrong], ".", ms=5, color=RED, label=f"{samples.divergences} divergent")
    axes.set(xlabel="effect of the first school", ylabel="log tau", title=title)
    axes.set(xlim=(-20.0, 40.0), ylim=(-6.0, 4.0))
    axes.legend(frameon=False, loc="lower right")


def regression(axes: Axes, of: dict[str, Any]) -> None:
    """Draw the posterior of each weight beside its truth."""
    draws = of["weights"].draws
    mean, deviation = draws.mean(axis=(0, 1)), draws.std(axis=(0, 1))
    axes.errorbar(of["truth"], mean, 1.96 * deviation, fmt=".", ms=4, lw=0.7, color=BLUE)
    axes.axline((0.0, 0.0), slope=1.0, color="k", lw=0.7)
    axes.set(xlabel="true weight", ylabel="mean and 95%", title="logistic regression, 100 weights")


def main() -> None:
    of = page()
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    epidemic(left, of)
    profiles(right, of)
    figure.savefig(DOCS / "fit.png", dpi=100)
    figure = Figure(figsize=(12, 3.8), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    funnel(left, "centred", of["doubtful"], of["doubtful"].draws["theta"][..., 0])
    funnel(middle, "not centred", of["samples"], of["schools_effects"].draws["effects"][..., 0])
    regression(right, of)
    figure.savefig(DOCS / "fit_draws.png", dpi=100)


if __name__ == "__main__":
    main()
