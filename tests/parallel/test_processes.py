"""`wengert.parallel.map` on other processes: what travels, killed workers, killed parents, other executors."""

from __future__ import annotations

import functools
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import parallel
from wengert.engine.core.errors import UnsupportedError
from wengert.parallel.identity import digest
from wengert.parallel.launch import find_mpiexec
from wengert.parallel.packing import packed, unpacked

ITEMS = np.random.default_rng(0).standard_normal((300, 4))
FACTOR = 2.0


def doubled(x: Any) -> Any:
    return FACTOR * x


def made(matrix: Any) -> Any:
    def product(x, power=2):
        return again(x, power)

    def again(x, power):
        return np.sum(matrix @ x) ** power if power else product(x, 1)

    return product


def _there_and_back(function: Any) -> Any:
    return unpacked(packed("map", function, function, shares_main=False))


@pytest.mark.parametrize(
    "function",
    [
        np.sin,
        doubled,
        lambda x: doubled(x) + 1,
        made(np.eye(4)),
        functools.partial(made(np.eye(4)), power=3),
        wg.grad(made(np.eye(4))),
        wg.vmap(wg.grad(lambda x: x**2)),
        wg.jit(wg.value_and_grad(made(np.eye(4)))),
        wg.nn.Dense(4, 2, seed=0),
    ],
)
def test_functions_travel(function):
    x = np.arange(4.0)
    left, right = (wg.tree.leaves(f(x)) for f in (function, _there_and_back(function)))
    assert all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))
    assert digest(function) == digest(_there_and_back(function))


DIGEST = """
from wengert.parallel.identity import digest

NAMES = {"alpha", "beta", ("gamma", 1), "delta"}

def chosen(x):
    return x if x in NAMES or x in {"epsilon", "zeta", "eta"} else chosen

NAMES.add(chosen)
print(digest(chosen), digest({"names": frozenset(["theta", "iota", "kappa"])}), digest({1, 2}) == digest({1, 3}))
"""


def test_the_digest_of_a_set_is_the_same_in_each_process():
    printed = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        for seed in (1, 2)
    }
    assert len(printed) == 1
    assert printed.pop().split()[2] == "False"


def test_the_digest_of_arrays_is_that_of_their_content():
    zeros = np.zeros(2)
    assert digest([zeros, zeros]) == digest([zeros, np.zeros(2)])
    different = [zeros], [-zeros], [zeros.astype(np.float32)], [zeros.reshape(1, 2)], [zeros, zeros]
    assert len(set(map(digest, different))) == len(different)


CLASSES = """
from wengert.parallel.identity import digest

class Base:
    def rate(self):
        return {rate}

class Model(Base):
    power = {power}

    @property
    def factor(self):
        return {factor}

    @staticmethod
    def start():
        return {start}

def run(x):
    return Model().rate() * x

print(digest(run), digest(Model()), digest(Model().rate))
"""


def test_the_digest_of_a_function_tells_its_classes_apart():
    def digests(**changed):
        text = CLASSES.format(**{"rate": 1, "power": 2, "factor": 3, "start": 4} | changed)
        printed: list[str] = []
        names = {"__name__": "program", "print": lambda *given: printed.extend(given)}
        exec(compile(text, "program.py", "exec"), names)
        return printed

    first = digests()
    assert digests() == first
    for name in ("rate", "power", "factor", "start"):
        assert all(a != b for a, b in zip(digests(**{name: 9}), first, strict=True)), name


def test_functions_of_the_main_module_take_their_variables_along():
    space: dict[str, Any] = {"__name__": "__main__", "np": np}
    text = """
SCALE = 3
def inner(x):
    return SCALE * x
def outer(x, depth=1):
    return outer(inner(x), 0) if depth else np.sin(x).sum()
"""
    exec(text, space)
    outer = _there_and_back(space["outer"])
    assert outer(np.ones(2)) == np.sin(3.0) * 2
    assert outer.__globals__ is not space


def test_what_cannot_travel_is_named():
    with open(os.devnull) as file:
        function = functools.partial(print, file=file)
        with pytest.raises(
            UnsupportedError, match=r"partial\(print\) must be sent.*cannot pickle.*ThreadPoolExecutor"
        ):
            parallel.map(function, ITEMS)


def test_processes_have_the_bits_of_vmap():
    weights = np.random.default_rng(1).standard_normal(4)
    function = wg.value_and_grad(lambda x: np.sum(np.tanh(x * weights)))
    results = parallel.map(function, ITEMS, workers=2)
    assert all(np.array_equal(a, b) for a, b in zip(results, wg.vmap(function)(ITEMS), strict=True))


def killing(marks: str, times: int, x: Any) -> Any:
    """Kill this process the first times that item 40 comes, and leave a mark."""
    done = len(os.listdir(marks))
    if x == 40 and done < times:
        Path(marks, str(done)).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return x


@pytest.mark.parametrize(("times", "slow"), [(1, False), pytest.param(9, True, marks=pytest.mark.slow)])
def test_killed_workers(tmp_path, times, slow):
    function = functools.partial(killing, str(tmp_path), times)
    call = functools.partial(parallel.map, function, np.arange(60), workers=2, vectorized=False, chunk=10)
    if times < 3:
        assert call().tolist() == list(range(60))
        assert len(os.listdir(tmp_path)) == times
    else:
        with pytest.raises(parallel.MapError, match="3 workers died in items 40 to 49 of 60"):
            call()
        assert len(os.listdir(tmp_path)) == 3


SWEEP = """
import os, sys, time
import numpy as np
from wengert import parallel

def slow(x):
    with open("calls", "a") as file:
        file.write(f"{int(x)}\\n")
    time.sleep(0.05)
    return x * x

if __name__ == "__main__":
    result = parallel.map(slow, np.arange(30), workers=int(sys.argv[1]), vectorized=False, chunk=2, journal="journal")
    print(*result)
"""


def processes(text: str) -> int:
    """Return the number of processes whose environment has some text."""
    found = 0
    for place in Path("/proc").glob("[0-9]*"):
        try:
            found += text.encode() in (place / "environ").read_bytes()
        except OSError:
            continue
    return found


def wait_for(condition: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="it counts processes in /proc")
def test_a_killed_parent_leaves_no_worker_and_loses_only_the_chunks_in_hand(tmp_path):
    (tmp_path / "sweep.py").write_text(SWEEP)
    calls = tmp_path / "calls"
    environment = os.environ | {"SWEEP": str(tmp_path)}
    command = [sys.executable, "sweep.py"]
    first = subprocess.Popen([*command, "2"], cwd=tmp_path, env=environment)
    wait_for(lambda: calls.exists() and len(calls.read_text().split()) >= 10)
    first.kill()
    first.wait()
    wait_for(lambda: processes(f"SWEEP={tmp_path}") == 0)
    second = subprocess.run(
        [*command, "1"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert second.stdout.split() == [str(x * x) for x in range(30)]
    again = len(calls.read_text().split()) - 30
    assert again <= 2 * 2 * 2  # two workers, each with two chunks of two items in hand


def program(tmp_path: Path, text: str, *, stdin: bool = False) -> subprocess.CompletedProcess[str]:
    text = textwrap.dedent(text)
    (tmp_path / "program.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-" if stdin else "program.py"],
        input=text if stdin else None,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.slow
def test_an_interactive_program(tmp_path):
    ended = program(
        tmp_path,
        """
        import numpy as np
        from wengert import parallel
        scale = 2
        def helper(x): return scale * x
        print(parallel.map(lambda x: helper(x) + 1, np.arange(3), workers=2))
        """,
        stdin=True,
    )
    assert ended.stdout == "[1 3 5]\n", ended.stderr


@pytest.mark.slow
def test_a_program_without_a_guard(tmp_path):
    ended = program(
        tmp_path,
        """
        import numpy as np
        from wengert import parallel
        print(parallel.map(np.sin, np.arange(3.0), workers=2))
        """,
    )
    assert ended.returncode == 1
    assert re.search(
        'WorkerError: map: the workers end before they begin.*if __name__ == "__main__"', ended.stderr
    )
    assert "must not start workers again" in ended.stderr


@pytest.mark.slow
def test_dask(tmp_path):
    pytest.importorskip("distributed")
    ended = program(
        tmp_path,
        """
        import numpy as np
        import wengert as wg
        from dask.distributed import Client
        from wengert import parallel
        weights = np.arange(4.0)
        if __name__ == "__main__":
            items = np.random.default_rng(0).random((300, 4))
            loss = wg.grad(lambda x: np.sum(np.sin(weights * x)))
            with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
                with client.get_executor() as executor:
                    result = parallel.map(loss, items, executor=executor, workers=2)
            print(np.array_equal(result, wg.vmap(loss)(items)))
        """,
    )
    assert ended.stdout == "True\n", ended.stderr


@pytest.mark.slow
def test_ray(tmp_path):
    pytest.importorskip("ray")
    ended = program(
        tmp_path,
        """
        from concurrent.futures import Executor
        import numpy as np
        import ray
        import wengert as wg
        from wengert import parallel

        class RayExecutor(Executor):
            def submit(self, function, *arguments):
                return ray.remote(function).remote(*arguments).future()

        weights = np.arange(4.0)
        if __name__ == "__main__":
            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
            items = np.random.default_rng(0).random((300, 4))
            loss = wg.grad(lambda x: np.sum(np.sin(weights * x)))
            result = parallel.map(loss, items, executor=RayExecutor(), workers=2)
            print(np.array_equal(result, wg.vmap(loss)(items)))
        """,
    )
    assert ended.stdout.endswith("True\n"), ended.stderr


@pytest.mark.slow
def test_mpi(tmp_path):
    pytest.importorskip("mpi4py")
    (tmp_path / "program.py").write_text(
        textwrap.dedent(
            """
            import numpy as np
            import wengert as wg
            from mpi4py.futures import MPICommExecutor
            from wengert import parallel
            weights = np.arange(4.0)
            items = np.random.default_rng(0).random((300, 4))
            loss = wg.grad(lambda x: np.sum(np.sin(weights * x)))
            with MPICommExecutor() as executor:
                if executor is not None:
                    result = parallel.map(loss, items, executor=executor)
                    print(np.array_equal(result, wg.vmap(loss)(items)))
            """
        )
    )
    mpiexec = find_mpiexec()
    ended = subprocess.run(
        mpiexec.command(3, [sys.executable, "program.py"]),
        cwd=tmp_path,
        env=mpiexec.environment(3, tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.stdout == "True\n", ended.stderr
