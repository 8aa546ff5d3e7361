"""Training on several ranks: the same bits as on one, whatever dies on the way. It needs mpi4py and an MPI."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import os
import platform
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.commands import end, hide_pictures, mnist, start, wait_for
from tests.draws import CASES
from wengert.parallel.launch import Mpiexec, find_mpiexec

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("mpi4py") is None and os.environ.get("WENGERT_REQUIRE_MPI") != "1",
        reason="mpi4py is not installed",
    ),
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]
SETTINGS = "--epochs", "4", "--batch-size", "8", "--micro-batches", "4", "--seed", "5"
STEPS = 100
QUICK = 1
"""The number of runs of the quick suite in which a rank is killed; the longer suite has 20."""


def weights(run: Path) -> str:
    return hashlib.sha256((run / "model.safetensors").read_bytes()).hexdigest()


@pytest.fixture(scope="module", autouse=True)
def without_pictures(tmp_path_factory):
    """Draw no pictures, which take half the time of a process."""
    with pytest.MonkeyPatch.context() as patch:
        hide_pictures(tmp_path_factory, patch)
        yield


@pytest.fixture(scope="module")
def reference(tmp_path_factory, small_mnist):
    """Return the hash of the weights that one process learns."""
    folder = tmp_path_factory.mktemp("reference")
    ended = end(start("train", "mlp", *mnist(small_mnist), *SETTINGS, "--out", "run", cwd=folder))
    assert ended.code == 0, ended.err
    return weights(folder / "run")


@pytest.fixture
def job(tmp_path, small_mnist):
    """Start a training job on some ranks in an empty folder."""

    def begin(ranks, *options):
        command = "train", "mlp", *mnist(small_mnist), *SETTINGS, "--out", "run", "--ranks", ranks
        return start(*command, *options, cwd=tmp_path, start_new_session=True)

    return begin


def processes_of(session: int) -> dict[int, list[str]]:
    """Return the command lines of the ranks below a launching process, by their numbers."""
    found: dict[int, tuple[int, list[str]]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            words = (place / "cmdline").read_bytes().decode().split("\0")
        except (OSError, ValueError):  # it has ended
            continue
        found[int(place.name)] = parent, words

    def is_below(number: int) -> bool:
        while number in found and number != session:
            number = found[number][0]
        return number == session

    return {number: words for number, (_, words) in found.items() if number != session and is_below(number)}


def ranks_of(session: int) -> list[int]:
    """Return the processes that train."""
    return [
        number
        for number, words in processes_of(session).items()
        if words[1:3] == ["-m", "wengert"] and "--ranks" not in words
    ]


def is_alive(number: int) -> bool:
    try:
        return (Path("/proc") / str(number) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def ended(numbers, patience=30.0):
    """Return whether all processes end in some seconds."""
    deadline = time.monotonic() + patience
    while any(map(is_alive, numbers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(map(is_alive, numbers))


def run_ranks(count: int, program: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a program by mpiexec alone."""
    mpiexec = find_mpiexec()
    command = mpiexec.command(count, program)
    with tempfile.TemporaryDirectory() as folder:
        variables = mpiexec.environment(count, Path(folder))
        return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300)


def turn(number: int) -> list[pytest.MarkDecorator]:
    """Return the marks of a case: a run takes every second one, and one with another ``WENGERT_CASES`` the others."""
    return [pytest.mark.slow] if (number + CASES) % 2 else []


OF_RUNS = {1: {(2, 2), (4, 1)}, 0: {(2, 1), (3, 2)}}
"""The numbers of ranks and threads of runs with odd and even ``WENGERT_CASES``."""
RANKS_AND_THREADS = [
    pytest.param(*both, marks=[] if both in OF_RUNS[CASES % 2] else pytest.mark.slow)
    for both in itertools.product((1, 2, 3, 4), (1, 2))
]


@pytest.mark.parametrize(("ranks", "threads"), RANKS_AND_THREADS)
def test_ranks_and_threads_change_no_bit(ranks, threads, job, reference, tmp_path):
    finished = end(job(ranks, "--threads", threads))
    assert (finished.code, finished.err) == (0, "")
    assert weights(tmp_path / "run") == reference


@pytest.mark.parametrize(
    "seed", [pytest.param(n, marks=[] if n < QUICK else pytest.mark.slow) for n in range(20)]
)
@pytest.mark.exhaustive
def test_a_killed_rank_changes_no_bit(seed, job, reference, tmp_path):
    draw = random.Random(seed)
    process = job(draw.choice([2, 3, 4]), "--restarts", 1, "--save-every", 0, "--log-every", 1)
    metrics, step = tmp_path / "run" / "metrics.jsonl", draw.randrange(-STEPS // 8, STEPS)
    if step < 0:  # the ranks still load the program, or find one another
        wait_for(lambda: ranks_of(process.pid), process)
        time.sleep(2 * draw.random())
    else:
        wait_for(lambda: metrics.exists() and metrics.read_bytes().count(b"\n") > step, process)
    if victims := ranks_of(process.pid):
        os.kill(draw.choice(victims), signal.SIGKILL)
    finished = end(process)
    assert finished.code == 0, finished.err
    assert "restart" in finished.out or step > STEPS // 2  # it may be too late
    assert weights(tmp_path / "run") == reference


@pytest.mark.parametrize(
    "number", [pytest.param(number, marks=turn(number)) for number in (signal.SIGTERM, signal.SIGINT)]
)
def test_a_signal_saves_and_another_number_of_ranks_goes_on(number, job, reference, tmp_path):
    process = job(2, "--epochs", 4, "--save-every", 1000, "--log-every", 1)
    wait_for(lambda: (tmp_path / "run" / "metrics.jsonl").exists(), process)
    below = processes_of(process.pid)
    os.kill(process.pid, number)
    stopped = end(process)
    assert ended(below)
    assert stopped.code in (0, 128 + number), stopped.err  # 0: it was too late
    resumed = end(start("train", "--resume", "run", "--ranks", 3, cwd=tmp_path))
    assert resumed.code == 0, resumed.err
    assert weights(tmp_path / "run") == reference


@pytest.mark.parametrize("whom", ["launcher", "mpiexec"])
def test_no_process_outlives_the_job(whom, job, tmp_path):
    process = job(2, "--epochs", 1000)
    wait_for(
        lambda: (tmp_path / "run" / "metrics.jsonl").exists() and len(ranks_of(process.pid)) > 1, process
    )
    below = processes_of(process.pid)
    if whom == "launcher":
        process.kill()
    else:
        names = ("mpiexec", "mpiexec.hydra", "prterun")  # Open MPI's goes on as prterun
        (mpiexec,) = [number for number, words in below.items() if Path(words[0]).name in names]
        os.kill(mpiexec, signal.SIGKILL)
        end(process).failed(1, "a rank died", "--resume")
    assert ended(below)
    process.communicate()


def test_an_error_of_one_rank_before_the_run_ends_all(small_mnist, tmp_path):
    train = [sys.executable, "-m", "wengert", "train"]
    fails, waits = (
        shlex.join([*train, *map(str, words)])
        for words in (
            ("--resume", tmp_path / "missing"),
            ("mlp", *mnist(small_mnist), "--micro-batches", 4, "--batch-size", 20, "--out", tmp_path / "run"),
        )
    )
    choice = f"[ ${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}} = 0 ] && exec {fails}; exec {waits}"
    ended = run_ranks(2, ["sh", "-c", choice])
    assert ended.returncode == 1
    assert "missing" in ended.stderr


GREEDY = """
import os, resource
from pathlib import Path
import numpy as np
from wengert import nn
from wengert.train import Task, Variation

RANK = os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK"))

def draw(rng, examples):
    # In the first attempt, the second rank has little memory, and asks for more, once the run is on its way.
    if RANK == "1" and Path("run/metrics.jsonl").exists() and not Path("asked").exists():
        Path("asked").touch()
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), resource.RLIM_INFINITY))
        np.ones(1 << 26)
    return np.zeros(examples)

network = Task(
    "greedy", "a greedy network", lambda rng: nn.Chain(nn.Flatten(), nn.Dense(784, 10, seed=rng)),
    vary=Variation(draw, lambda images, numbers: images), epochs=4, batch_size=20,
)
"""


@pytest.mark.parametrize("restarts", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_a_rank_without_memory_dies(restarts, small_mnist, tmp_path):
    (tmp_path / "greedy.py").write_text(GREEDY)
    options = "--model", "greedy.py:network", "--micro-batches", 4, "--log-every", 1, "--out", "run"
    faults = "--ranks", 2, "--restarts", restarts
    finished = end(start("train", *mnist(small_mnist), *options, *faults, cwd=tmp_path))
    reason = f"rank 1 on {platform.node()}: out of memory"
    if not restarts:
        finished.failed(1, reason, "resume with wengert train --resume", "--ranks 1")
        return
    assert (finished.code, finished.err) == (0, "")
    (line,) = [line for line in finished.out.splitlines() if line.startswith("restart")]
    assert reason in line
    assert "going on with 1, 0 restarts left" in line


def test_a_rank_that_cannot_load_the_program_ends_the_others(small_mnist, tmp_path):
    train = [sys.executable, "-m", "wengert", "train", "mlp", *mnist(small_mnist), "--out", tmp_path / "run"]
    starts = shlex.join(map(str, train))
    rank = "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
    (tmp_path / "click.py").write_text("raise MemoryError")
    choice = f"[ {rank} = 1 ] && export PYTHONPATH={shlex.quote(str(tmp_path))}; exec {starts}"
    ended = run_ranks(2, ["sh", "-c", choice])
    assert ended.returncode != 0
    assert "wengert: out of memory while a rank loads its modules" in ended.stderr


PRINTING = """
import sys
from wengert.app.ranks import join_job

join_job()
sys.stdout.write("to stdout\\n")
sys.stderr.write("to stderr\\n")
"""


def test_lines_of_ranks_tell_their_numbers():
    printed = run_ranks(2, [sys.executable, "-c", PRINTING])
    assert sorted(printed.stderr.splitlines()) == ["rank 1: to stderr", "to stderr"]
    assert sorted(printed.stdout.splitlines()) == ["rank 1: to stdout", "to stdout"]


@pytest.mark.parametrize(
    ("ranks", "options", "code", "words"),
    [
        pytest.param(ranks, *case, marks=turn(number))
        for number, (ranks, *case) in enumerate(
            [
                (5, (), 2, ("micro-batches is 4, fewer than the 5 ranks", "--micro-batches 8")),
                (2, ("--lr", "1e30"), 1, ("the loss became nan", "try a smaller learning rate")),
                (2, ("--min-ranks", 3), 2, ("ranks is 2, fewer than min-ranks, 3",)),
            ]
        )
    ],
)
def test_errors_are_one_line(ranks, options, code, words, job):
    end(job(ranks, *options)).failed(code, *words)


OTHER = """
import sys
from wengert.parallel import Group

group = Group.from_mpi()
group.agree("the versions", "1.0" if group.rank == 0 else "1.1")
"""


def test_open_mpi_keeps_its_files_in_a_new_folder(tmp_path):
    """What a killed ``mpiexec`` leaves there ends no later one that gets its number."""
    mpiexec = find_mpiexec()
    if not mpiexec.is_open_mpi:
        pytest.skip("the mpiexec is MPICH's")
    command = mpiexec.command(2, ["ls", str(tmp_path)])
    printed = subprocess.run(command, env=mpiexec.environment(2, tmp_path), capture_output=True, text=True)
    assert printed.stdout.count("ompi.") == 2, printed


def test_a_failed_rank_ends_the_others(tmp_path):
    (tmp_path / "other.py").write_text(OTHER)
    ran = run_ranks(2, [sys.executable, str(tmp_path / "other.py")])
    assert ran.returncode != 0
    assert "the versions differ among the ranks: 1.0 on rank 0" in ran.stderr


def test_both_kinds_of_mpiexec_get_their_options(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert Mpiexec(Path("/bin/mpiexec"), False).command(2, ["x"]) == ["/bin/mpiexec", "-n", "2", "x"]
    open_mpi = Mpiexec(Path("/bin/mpiexec"), True).command(2, ["x"])
    assert {"--allow-run-as-root", "--bind-to"} <= set(open_mpi)


def test_ranks_that_share_processors_yield_while_they_wait(monkeypatch, tmp_path):
    mpiexec, name = Mpiexec(Path("/bin/mpiexec"), False), "MPIR_CVAR_ENABLE_HEAVY_YIELD"
    monkeypatch.delenv(name, raising=False)
    assert [mpiexec.environment(ranks, tmp_path).get(name) for ranks in (1, 100_000)] == [None, "1"]
    monkeypatch.setenv(name, "0")
    assert mpiexec.environment(100_000, tmp_path)[name] == "0"


def test_without_mpiexec(monkeypatch, wengert):
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr(Path, "exists", lambda self: False)
    wengert("train", "mlp", "--ranks", "2").failed(1, "needs mpiexec", "pip install 'wengert[mpi]'")


def test_without_mpi4py(monkeypatch, wengert):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    wengert("train", "mlp", "--ranks", "2").failed(1, "needs mpi4py", "pip install 'wengert[mpi]'")
