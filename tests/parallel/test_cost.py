"""The model of the cost of ranks: what it says where the answer is known, and its table and picture."""

from __future__ import annotations

import pytest

from tests.benchmarks import benchmark

model = benchmark("mpi_model")
FREE = model.Network("free", 0.0, float("inf"))
SLOW = model.Network("slow", 1e-3, 1e9)
COST = model.Cost(micro_batch=1.0, rest=0.0, call=0.0, size=10**9, slowdown={1: [1.0], 2: [1.0, 1.0]})


@pytest.mark.parametrize("ranks", [1, 2, 4, 8, 64])
def test_ranks_that_exchange_nothing_scale_ideally(ranks):
    assert COST.speedup(ranks, 64, FREE) == ranks
    assert COST.efficiency(ranks, 64, FREE) == 1


def test_the_slowest_rank_decides():
    assert COST.step(3, 8, FREE) == 3  # of two, three and three micro-batches
    halved = COST._replace(slowdown={1: [1.0], 2: [2.0, 2.0]})
    assert halved.speedup(2, 8, FREE) == 1
    assert halved.speedup(64, 64, FREE) == 32
    uneven = COST._replace(slowdown={1: [1.0], 2: [1.0, 3.0]})
    assert uneven.step(2, 8, FREE) == 6  # six and two of the eight micro-batches


def test_messages_and_bytes_are_counted():
    assert COST.step(2, 8, SLOW) - COST.step(2, 8, FREE) == pytest.approx(2e-3 + 1.0)
    assert COST.step(4, 8, SLOW) - COST.step(4, 8, FREE) == pytest.approx(5e-3 + 1.5)
    # The second of three ranks holds two subtrees: the third and the fourth micro-batch, and the fifth.
    assert COST.step(3, 8, SLOW) - COST.step(3, 8, FREE) == pytest.approx(3.58496e-3 + 2.0)


def test_the_table_and_the_picture_show_every_measurement(tmp_path):
    pytest.importorskip("matplotlib")
    slowdown = {1: [1.0], 2: [1.25] * 2, 3: [1.9] * 3, 4: [2.5] * 4}
    strong = {1: 1.0, 2: 1.58, 3: 1.52, 4: 1.55}
    cost = COST._replace(micro_batch=3e-3, rest=4e-4, call=1e-5, size=142_208, slowdown=slowdown)
    found = model.Measured(cost, SLOW, 8, 2, strong, {1: 1.0, 2: 0.79, 4: 0.39}, 1.33, 1.97)
    text = found.table()
    for figure in (
        "3.00 ms",
        "142,208 bytes",
        "| 2 | 1.60 x | 1.58 x |",
        "| 4 | 1.60 x | 1.55 x |",
        "0.39",
        "slow",
    ):
        assert figure in text
    found.draw(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000
