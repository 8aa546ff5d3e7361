"""Micro-batches: the same bits for any number of threads, and nearly the numbers of whole batches."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.compiler.llvm.host import common, named
from wengert.data import digit_set
from wengert.engine.core.errors import ArgumentError
from wengert.engine.core.tree import leaves
from wengert.parallel import Group, GroupError
from wengert.train import TASKS, SettingsError, Task, shifts, train
from wengert.train.agreement import check_parameters, check_ranks, check_same, checksum
from wengert.train.state import begin
from wengert.train.tasks import as_vectors

DATA = digit_set(train=90, test=40)


def network(rng):
    layers = nn.Dense(784, 12, seed=rng, bias=False), nn.BatchNorm(12), nn.relu, nn.Dropout(0.2)
    return nn.Chain(*layers, nn.Dense(12, 10, seed=rng))


def small_network(rng):
    return nn.Chain(nn.Dense(784, 12, seed=rng), nn.tanh, nn.Dense(12, 10, seed=rng))


PLAIN = TASKS["mlp"]._replace(build=small_network)
STATEFUL = Task("mine", "mine", network, as_vectors, rate=5e-3, batch_size=20)


def trained(task, *, micro_batches, threads=1, compiled=True, **chosen):
    chosen = {"epochs": 2, "batch_size": 20, "seed": 3} | chosen
    settings = task.settings("digits", micro_batches=micro_batches, threads=threads, **chosen)
    return train(task, settings, DATA, compiled=compiled)


@pytest.mark.parametrize(
    "task",
    [TASKS["mlp"], STATEFUL, STATEFUL._replace(vary=shifts(1))],
    ids=["perceptron", "stateful layers", "augmentation"],
)
def test_threads_change_no_bit(task):
    before = wg.get_threads()
    one, two = (trained(task, micro_batches=4, threads=threads) for threads in (1, 2))
    for left, right in zip(leaves(one.state), leaves(two.state), strict=True):
        if not isinstance(left, float):  # seconds
            np.testing.assert_array_equal(left, right)
    assert [result.test_loss for result in one.history] == [result.test_loss for result in two.history]
    assert wg.get_threads() == before


@pytest.mark.parametrize("batch_size", [20, 100])  # the last batch has 10 of 20; the only one 90 of 100
@pytest.mark.parametrize("micro_batches", [2, 4])
def test_the_numbers_are_nearly_those_of_whole_batches(micro_batches, batch_size):
    whole = trained(PLAIN, micro_batches=1, batch_size=batch_size, compiled=False)
    parts = trained(PLAIN, micro_batches=micro_batches, batch_size=batch_size)
    for left, right in zip(leaves(whole.model), leaves(parts.model), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-3, atol=2e-5)
    for left, right in zip(whole.history, parts.history, strict=True):
        np.testing.assert_allclose(left[1:5], right[1:5], rtol=1e-4)


def test_numpy_takes_the_same_steps():
    compiled, eager = (trained(STATEFUL, micro_batches=2, compiled=on, epochs=1) for on in (True, False))
    for left, right in zip(leaves(compiled.model), leaves(eager.model), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-4)


@dataclasses.dataclass
class Counting:
    """A layer whose state has numbers of several kinds."""

    def initial_state(self):
        return {"calls": np.int32(0), "seen": np.False_, "mean": np.float32(0)}

    def __call__(self, x):
        return x

    def apply(self, x, state, *, training=False, key=None):
        if not training:
            return x, state
        after = {"calls": state["calls"] + np.int32(1), "seen": state["seen"] | True, "mean": np.mean(x)}
        return x, after


def test_the_states_of_layers_are_combined_by_one_rule():
    task = STATEFUL._replace(build=lambda rng: nn.Chain(Counting(), nn.Dense(784, 10, seed=rng)))
    state = trained(task, micro_batches=4, epochs=1).state.layer_state.state[0]
    assert state["calls"] == 5, "the first micro-batch of each of five steps counts"
    assert state["seen"].dtype == np.bool_
    assert state["seen"]
    assert 0.5 < state["mean"] / as_vectors(DATA.train_images).mean() < 2, "that of the last batch"


def test_micro_batches_must_fit():
    for value, words in (
        (3, "a power of two"),
        (0, "a power of two"),
        (8, "must divide batch-size; got 8 and 20"),
    ):
        with pytest.raises(SettingsError, match=words):
            TASKS["mlp"].settings("digits", batch_size=20, micro_batches=value)


class Several(Group):
    """What each of several processes would say."""

    def __init__(self):
        super().__init__()
        self.size = 3

    def gather(self, value):
        theirs = (f"not {value[0]}", "beta") if isinstance(value, tuple) else value
        return [value, value, theirs]


def test_more_ranks_than_micro_batches():
    settings = TASKS["mlp"].settings("digits", batch_size=20, micro_batches=2)
    with pytest.raises(
        SettingsError, match="micro-batches is 2, fewer than the 3 ranks: give --micro-batches 4"
    ):
        check_ranks(Several(), settings)


def test_ranks_that_differ_are_named():
    settings = TASKS["mlp"].settings("digits", batch_size=20, micro_batches=4)
    state = begin(TASKS["mlp"], settings, 4)
    with pytest.raises(GroupError, match="the versions of wengert differ among the ranks"):
        check_same(Several(), settings, DATA, state)
    with pytest.raises(GroupError, match="the hashes of the parameters after epoch 2 differ"):
        check_parameters(Several(), state, "after epoch 2")


def changed(name, example):
    """Return the data with another number in one example."""
    array = getattr(DATA, name).copy()
    array[example] += 1
    return dataclasses.replace(DATA, **{name: array})


def test_ranks_compare_all_labels_and_a_bounded_part_of_the_images(monkeypatch):
    known = checksum(DATA)
    for name in ("train_images", "train_labels", "test_images", "test_labels"):
        assert checksum(changed(name, 1)) != known
    monkeypatch.setattr("wengert.train.agreement._COMPARED", DATA.train_images.nbytes // 2)
    known = checksum(DATA)
    assert checksum(changed("train_images", 1)) == known, "images 0, 2, 4 and so on are compared"
    for name, example in (("train_images", 2), ("test_images", 1), ("train_labels", 1)):
        assert checksum(changed(name, example)) != known


def test_processors_have_the_lesser_target_in_common():
    wide, narrow = named("avx512"), named("avx2")._replace(cpu="znver3", level2=1 << 19)
    assert common([wide, wide]) == wide
    both = common([wide, narrow])
    assert (both.cpu, both.level2) == (named("avx2").cpu, 1 << 19)
    assert common([narrow, wide]) == both
    with pytest.raises(ArgumentError, match="one kind"):
        common([wide, named("aarch64")])
