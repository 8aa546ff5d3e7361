"""The cost of a training step on ranks as a formula, its comparison with measurements, and its picture.

The costs of MPI's operations are those of R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective
communication operations in MPICH", International Journal of High Performance Computing Applications 19, 2005.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from wengert.parallel.tree import nodes_of, shares

MANY = (1, 2, 4, 8, 16, 32, 64)
"""Ranks of the prediction."""


class Network(NamedTuple):
    """What carries the messages of the ranks."""

    name: str
    latency: float
    """Seconds of a message without content."""
    bandwidth: float
    """Bytes a second."""


OTHERS = (Network("InfiniBand, 100 Gb/s", 2e-6, 11e9), Network("Ethernet, 10 Gb/s, TCP", 30e-6, 1.1e9))
"""Networks by the usual figures of their kind; nothing here measures them."""


class Cost(NamedTuple):
    """What a training step consists of, in seconds."""

    micro_batch: float
    """The loss and the gradients of a micro-batch, and their addition."""
    rest: float
    """The update, and what else a rank does once a step."""
    call: float
    """An exchange without messages."""
    size: int
    """Bytes of the gradients, the loss and the score."""
    slowdown: dict[int, list[float]]
    """How much slower than one process each of several is, by their number: they compute on this machine at the same
    time, and exchange nothing."""

    def step(self, ranks: int, parts: int, network: Network) -> float:
        """Return the seconds of a step of ``parts`` micro-batches.

        The parts are divided by the speeds of the ranks. A rank sends P - 1 messages with a slice of each of its
        subtrees, and gets the results by recursive doubling, in log2(P) messages. Ranks whose slowdown is not known
        have those of two by turns.
        """
        pair = self.slowdown[2]
        slowdown = self.slowdown.get(ranks) or [pair[rank % 2] for rank in range(ranks)]
        divided = shares(parts, slowdown)
        computing = max(
            slower * (len(own) * self.micro_batch + self.rest)
            for own, slower in zip(divided, slowdown, strict=True)
        )
        if ranks == 1:
            return computing
        sent = (max(len(nodes_of(own)) for own in divided) + 1) * self.size * (ranks - 1) / ranks
        messages = ranks - 1 + math.log2(ranks)
        return computing + self.call + messages * network.latency + sent / network.bandwidth

    def spread(self) -> Cost:
        """Return the cost on a cluster: each two ranks have a machine like this one."""
        return self._replace(slowdown={ranks: self.slowdown[ranks] for ranks in (1, 2)})

    def speedup(self, ranks: int, parts: int, network: Network) -> float:
        """Return how many times as fast as one rank the ranks take a step (strong scaling)."""
        return self.step(1, parts, network) / self.step(ranks, parts, network)

    def efficiency(self, ranks: int, parts: int, network: Network) -> float:
        """Return the speed of a rank with ``parts`` micro-batches of its own against one alone (weak scaling)."""
        return self.step(1, parts, network) / self.step(ranks, parts * ranks, network)


class Measured(NamedTuple):
    """Measurements of the CNN at batch 800 in eight micro-batches."""

    cost: Cost
    here: Network
    """Shared memory of this machine."""
    parts: int
    processors: int
    strong: dict[int, float]
    """How many times as fast as one rank, by the number of ranks."""
    weak: dict[int, float]
    """The speed of a rank with a batch of its own against one alone."""
    two_threads: float
    """How many times as fast as one rank a process with two threads is."""
    in_cache: float
    """How many times as fast as one two processes are that compute in their first-level caches alone."""

    def table(self) -> str:
        """Return the figures as Markdown: the measured parts, the comparison, the prediction for 64 ranks."""
        return "\n\n".join((self._described(), self._comparison(), self._prediction()))

    def _described(self) -> str:
        cost, here = self.cost, self.here
        exchange = cost.step(2, self.parts, here) - cost._replace(call=0, size=0).step(
            2, self.parts, here._replace(latency=0)
        )
        return (
            f"t = {1e3 * cost.micro_batch:.2f} ms, u = {1e3 * cost.rest:.2f} ms, c = {1e6 * cost.call:.0f} µs, "
            f"α = {1e6 * here.latency:.1f} µs, 1/β = {1e-9 * here.bandwidth:.1f} GB/s, B = {cost.size:,} bytes: two "
            f"ranks exchange for {1e3 * exchange:.2f} ms in a step of {1e3 * cost.step(2, self.parts, here):.1f} ms. "
            "A process with two threads and the whole batch at once is "
            f"{self.two_threads:.2f} times as fast as one rank. Two processes that "
            f"compute in their first-level caches alone are {self.in_cache:.2f} times as fast as one. "
            f"The machine has {self.processors} processors."
        )

    def _comparison(self) -> str:
        lines = [
            "| ranks | processes without exchange | strong scaling | model | weak scaling | model |",
            "|---:|---:|---:|---:|---:|---:|",
        ]
        for ranks, strong in self.strong.items():
            alone = sum(1 / slower for slower in self.cost.slowdown[ranks])
            weak = f"{self.weak[ranks]:.2f}" if ranks in self.weak else ""
            predicted = f"{self.cost.efficiency(ranks, self.parts, self.here):.2f}" if weak else ""
            model = self.cost.speedup(ranks, self.parts, self.here)
            lines.append(
                f"| {ranks} | {alone:.2f} x | {strong:.2f} x | {model:.2f} x | {weak} | {predicted} |"
            )
        return "\n".join(lines)

    def _prediction(self) -> str:
        lines = [
            "| 64 ranks by | latency | bandwidth | batch 6400 in 64 micro-batches | batch 800 for each rank |",
            "|---|---:|---:|---:|---:|",
        ]
        cost = self.cost.spread()
        for network in (self.here, *OTHERS):
            strong, weak = cost.speedup(64, 64, network), cost.efficiency(64, self.parts, network)
            figures = f"{1e6 * network.latency:.1f} µs | {1e-9 * network.bandwidth:.1f} GB/s"
            lines.append(f"| {network.name} | {figures} | {strong:.0f} x | {weak:.2f} |")
        return "\n".join(lines)

    def draw(self, path: Path) -> None:
        """Draw strong and weak scaling, measured and predicted."""
        import matplotlib

        matplotlib.use("agg")
        from matplotlib import pyplot

        cost = self.cost.spread()
        with pyplot.rc_context(fname=Path(__file__).parents[1] / "docs" / "matplotlibrc"):
            figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.6))
            left.plot(MANY, MANY, color="0.7", linewidth=1, label="ideal")
            self._curves(left, lambda ranks, network: cost.speedup(ranks, 64, network))
            modelled = [self.cost.speedup(ranks, self.parts, self.here) for ranks in self.strong]
            left.plot(list(self.strong), list(self.strong.values()), "ko", label="measured here, batch 800")
            left.plot(list(self.strong), modelled, "kx", label=f"model, {self.processors} processors")
            left.set(yscale="log", xlabel="ranks", ylabel="times as fast as one", title="Strong scaling")
            left.set_yticks(MANY, map(str, MANY))
            self._curves(right, lambda ranks, network: cost.efficiency(ranks, self.parts, network))
            modelled = [self.cost.efficiency(ranks, self.parts, self.here) for ranks in self.weak]
            right.plot(list(self.weak), list(self.weak.values()), "ko")
            right.plot(list(self.weak), modelled, "kx")
            right.set(xlabel="ranks", ylabel="speed of a rank", title="Weak scaling", ylim=(0, 1.1))
            for axes in (left, right):
                axes.set_xscale("log", base=2)
                axes.set_xticks(MANY, map(str, MANY))
                axes.minorticks_off()
            left.legend(fontsize=8)
            figure.savefig(path)
            pyplot.close(figure)

    def _curves(self, axes: Any, value: Callable[[int, Network], float]) -> None:
        for network in (self.here, *OTHERS):
            axes.plot(MANY, [value(ranks, network) for ranks in MANY], label=network.name)
