"""The comparison: the same work for all contestants, correct numbers, the messages and files of the command."""

from __future__ import annotations

import contextlib
import inspect
import json
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from tests.benchmarks import benchmark
from wengert.app import cli
from wengert.data import digit_set, load
from wengert.engine.core import tree

bench = benchmark("bench")
contest, engine, measurements, plot, shared, workloads = (
    benchmark(f"harness.{name}")
    for name in ("contest", "engine", "measurements", "plot", "shared", "workloads")
)
Epoch, Round, Trial, Worker = contest.Epoch, contest.Round, contest.Trial, contest.Worker
agreement, difference = contest.agreement, contest.difference
Contestant, contestants, is_installed = bench.Contestant, bench.contestants, bench.is_installed
Contest, ContestantError, Process = engine.Contest, engine.ContestantError, engine.Process

OURS = Contestant("wengert", "jit")


@pytest.fixture
def command(wengert, monkeypatch):
    """Run the program of the comparison as the command does its subcommands."""
    monkeypatch.setitem(cli.command.commands, "bench", bench.command)
    return lambda *arguments: wengert("bench", *arguments)


@pytest.fixture(scope="module")
def dataset():
    return digit_set(train=300, test=100)


def test_all_contestants_get_the_same_inputs(dataset, tmp_path):
    drawn = workloads.draw("cnn", dataset, 250, 3, 7)
    shared.save(tmp_path, drawn)
    loaded = shared.load(tmp_path)
    for array, saved in zip(tree.leaves(loaded), tree.leaves(drawn), strict=True):
        np.testing.assert_array_equal(array, saved)
    assert loaded.order.shape == (3, 2, 100)
    assert loaded.order.max() < len(loaded.images) == 250
    assert all(len(set(epoch.ravel())) == 200 for epoch in loaded.order)
    assert not np.array_equal(loaded.order[0], loaded.order[1])
    assert not np.array_equal(loaded.order, workloads.draw("cnn", dataset, 250, 3, 8).order)


@contextlib.contextmanager
def working(contestant, network, dataset, folder, epochs=1):
    shared.save(folder, workloads.draw(network, dataset, None, epochs, 0))
    with contextlib.closing(Worker(contestant, Round(network, 1, 0), folder)) as worker:
        yield worker


def by_hand(network, dataset):
    """Train for an epoch by the task and gradient descent in NumPy; return the losses and the weights."""
    task, drawn = workloads.NETWORKS[network], workloads.draw(network, dataset, None, 1, 0)
    structure = tree.flatten(task.build(np.random.default_rng(0)))[1]
    model, losses = tree.unflatten(structure, drawn.weights), []
    for rows in drawn.order[0]:
        inputs = task.prepare(drawn.images[rows])
        (loss, _), slope = wg.value_and_grad(task.loss, has_aux=True)(model, inputs, drawn.labels[rows])
        model = tree.map_tree(lambda p, g: p - np.float32(drawn.rate) * g, model, slope)
        losses.append(float(loss))
    return losses, tree.leaves(model)


def test_a_worker_trains_from_the_first_weights(dataset, tmp_path):
    with working(OURS, "rnn", dataset, tmp_path) as worker:
        prepared = worker.request("prepare")
        weights, _ = worker.weights()
        for weight, first in zip(weights, shared.load(tmp_path).weights, strict=True):
            np.testing.assert_array_equal(weight, first)
        answer = worker.request("epoch", 0)
        weights, peak = worker.weights()
    losses, expected = by_hand("rnn", dataset)
    np.testing.assert_allclose(answer["losses"], losses, rtol=1e-5)
    for weight, correct in zip(weights, expected, strict=True):
        np.testing.assert_allclose(weight, correct, rtol=1e-4, atol=1e-6)
    assert prepared["first"] > 0 < answer["seconds"]
    assert 10e6 < prepared["before"] <= peak < 4e9
    assert answer["fresh"] >= 0


def test_the_error_of_a_failed_contestant_has_the_reason(tmp_path):
    raises = pytest.raises(ContestantError, match=r"wengert jit: FileNotFoundError: .*data.npz")
    with contextlib.closing(Worker(OURS, Round("rnn", 1, 0), tmp_path)) as worker, raises:
        worker.request("prepare")


def replying(code):
    """Return a process that runs a program on the module `engine`."""
    return Process([sys.executable, "-c", f"from harness.engine import *\n{code}"], engine.environment(1))


def test_contestants_take_turns_and_those_that_fail_leave():
    class Counter:
        def __init__(self, last):
            self.count, self.last = 0, last

        def add(self, number):
            print("noise")
            self.count += number
            if self.count > self.last:
                raise SystemExit("that is too much")
            return self.count

    program = f"{textwrap.dedent(inspect.getsource(Counter))}\nserve(1, lambda: Counter(LAST))"
    counts, failures = [], []
    with Contest(lambda process, error: failures.append(str(error).split(": ")[1])) as contest:
        for last in (10, 3):
            process = replying(program.replace("LAST", str(last)))
            contest.add(process, lambda process: counts.append(process.request("add", 1)))
        for number in (2, 3):
            contest.turn(lambda process, number=number: counts.append(process.request("add", number)))
        assert len(contest.contestants) == 1
    assert counts == [1, 1, 3, 3, 6]
    assert failures == ["that is too much"]


PEERS = ("torch", "jax", "tensorflow")


SINGLE = Contestant("torch", "eager"), OURS


@pytest.mark.skipif(not is_installed("torch"), reason="torch is not installed")
@pytest.mark.parametrize("network", workloads.NETWORKS)
def test_losses_are_those_of_torch_step_by_step(network, mnist_folder):
    mnist, examples = load("mnist", mnist_folder), 100 * workloads.NETWORKS[network].batch_size
    assert agreement(network, mnist, examples, 100) < 1e-9
    assert agreement(network, mnist, examples, 10 if network == "cnn" else 100, SINGLE) < 1e-4


@pytest.mark.parametrize("library", PEERS)
@pytest.mark.parametrize("network", workloads.NETWORKS)
def test_the_first_losses_of_every_library_agree(network, library, dataset, tmp_path):
    if not is_installed(library):
        pytest.skip(f"{library} is not installed")
    losses, _ = by_hand(network, dataset)
    for contestant in contestants(network, library):
        if contestant.variant == "compile":  # takes half a minute
            continue
        with working(contestant, network, dataset, tmp_path) as worker:
            worker.request("prepare")
            theirs = worker.request("epoch", 0)["losses"]
            weights, _ = worker.weights()
        assert len(theirs) == len(losses)
        assert difference(losses, theirs, 10) < 1e-4
        assert [weight.shape for weight in weights] == [w.shape for w in shared.load(tmp_path).weights]


def run(contestant=OURS, *, seed=0, seconds=(2.0, 4.0), losses=(2.0, 1.0), score=0.5):
    epochs = [Epoch(time, 10_000_000, 1.5, score) for time in seconds]
    return Trial("cnn", contestant, 1, seed, 0.25, 100_000_000, 150_000_000, list(losses), epochs)


JAX = Contestant("jax", "jit")


def test_the_table():
    trials = [
        run(),
        run(JAX, seconds=(6.0, 4.0), losses=(2.0, 1.00001)),
        run(seed=1, score=0.6),
        run(JAX, seed=1, seconds=(8.0, 20.0), score=0.6),
    ]
    ours, jax = measurements.lines(trials)
    assert (ours.seconds, ours.ratio) == (3.0, 1.0)
    assert (jax.seconds, jax.ratio) == (7.0, 3.5)  # of 3, 1, 4 and 5
    assert jax.score == (pytest.approx(0.55), pytest.approx(0.0707, abs=1e-4))
    assert jax.difference == pytest.approx(1e-5)
    rows = measurements.table([ours, jax]).splitlines()
    assert len({len(row) for row in rows}) == 1
    cells = [cell.strip() for cell in rows[3].strip("|").split("|")]
    expected = ["cnn", "1", "jax jit", "7", "3.50 x", "0.25", "150", "100", "10"]
    assert cells == [*expected, "55.00% ± 7.07%", "1.5 ± 0", "1e-05"]
    (alone,) = measurements.lines([run(JAX)])
    assert "nan" not in measurements.table([alone])


@pytest.mark.parametrize("second", [1.01, float("nan")])
def test_different_losses_are_an_error(second):
    measurements.check([run(), run(JAX, losses=(2.0, 1.0 + 1e-6))])
    with pytest.raises(
        measurements.DisagreementError, match=r"jax jit differ by .* from those of wengert jit"
    ):
        measurements.check([run(), run(JAX, losses=(2.0, second))])


def test_the_picture():
    pytest.importorskip("matplotlib")
    assert plot.comparison([run(), run(JAX), run(seed=1)])[:4] == b"\x89PNG"


@pytest.mark.usefixtures("no_pictures")
def test_the_command(command, monkeypatch):
    monkeypatch.setattr(bench, "is_installed", lambda library: library == "wengert")
    options = "--data digits --limit 300 --epochs 2 --seeds 1 --threads 1,999 --networks rnn --out results"
    ended = command(*options.split())
    assert (ended.code, ended.err) == (0, "")
    assert "torch is not installed and left out" in ended.out
    assert "999 threads are left out" in ended.out
    table = Path("results/table.md").read_text("utf-8")
    assert table in ended.out
    assert table.count("\n") == 3
    about = json.loads(Path("results/results.json").read_text("utf-8"))
    assert [(run["seed"], len(run["epochs"]), len(run["losses"])) for run in about["runs"]] == [(1, 2, 3)]
    assert about["settings"]["networks"] == ["rnn"]
    first, second = about["runs"][0]["epochs"]
    assert second["test_loss"] < first["test_loss"]


@pytest.fixture
def without_processes(monkeypatch):
    """Hold rounds in which each contestant of an unknown library fails, and the others need no time."""

    def hold(round_, chosen, dataset, examples, epochs, failed):
        for contestant in chosen:
            if contestant.library == "unknown":
                failed(contestant, ContestantError(f"{contestant}: KeyError: 'unknown'"))
        return [run(one, seed=round_.seed) for one in chosen if one.library != "unknown"]

    monkeypatch.setattr(bench, "hold", hold)
    return hold


OPTIONS = "--data digits --limit 100 --epochs 1 --threads 1 --networks rnn --libraries wengert --out results"


@pytest.mark.usefixtures("without_processes", "no_pictures")
def test_a_contestant_that_fails_is_left_out_and_the_others_go_on(command, monkeypatch):
    broken = Contestant("wengert", "jit"), Contestant("unknown", "library")
    monkeypatch.setattr(bench, "contestants", lambda network, library: list(broken))
    ended = command(*OPTIONS.split(), "--seeds", "0,1")
    assert ended.code == 0
    assert ended.out.count("rnn: left out: unknown library: KeyError: 'unknown'") == 1
    assert Path("results/table.md").read_text("utf-8").count("wengert jit") == 1
    about = json.loads(Path("results/results.json").read_text("utf-8"))
    assert [run["seed"] for run in about["runs"]] == [0, 1]


@pytest.mark.usefixtures("no_pictures")
def test_measurements_are_kept_after_ctrl_c(command, monkeypatch, without_processes):
    rounds = []

    def interrupted(round_, *arguments):
        rounds.append(round_)
        if len(rounds) == 2:
            raise KeyboardInterrupt
        return without_processes(round_, *arguments)

    monkeypatch.setattr(bench, "hold", interrupted)
    ended = command(*OPTIONS.split())
    assert ended.code == 130
    assert "stopped by Ctrl-C" in ended.out
    assert Path("results/table.md").read_text("utf-8") in ended.out
    assert [run["seed"] for run in json.loads(Path("results/results.json").read_text("utf-8"))["runs"]] == [0]


def test_the_failure_of_every_contestant_is_an_error(command, monkeypatch):
    monkeypatch.setattr(bench, "contestants", lambda network, library: [Contestant("unknown", "library")])
    ended = command(*OPTIONS.split(), "--seeds", "0")
    ended.failed(1, "every contestant failed")
    assert "rnn: left out: unknown library: " in ended.out


@pytest.mark.usefixtures("without_processes", "no_pictures")
def test_a_comparison_of_different_losses_fails(command, monkeypatch):
    monkeypatch.setattr(measurements, "FIRST_TOLERANCE", -1.0)
    monkeypatch.setattr(bench, "contestants", lambda network, library: [OURS, OURS])
    ended = command(*OPTIONS.split(), "--seeds", "0")
    ended.failed(1, "losses of wengert jit differ")
    assert Path("results/results.json").exists()


def test_wrong_options(command, tmp_path):
    command("--networks", "cnn,transformer").failed(2, "transformer", "bench --help")
    command("--threads", "0").failed(2, "--threads")
    command("--limit", "5").failed(2, "--limit")
    command("--data", "digits", "--data-dir", "x").failed(2, "--data-dir needs")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    command("--out", "full").failed(1, "is not empty")
