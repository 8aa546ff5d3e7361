"""Plant faults in a copy of the tree, one at a time, and print which test finds each.

    python tools/mutate.py                        # all faults, two at a time
    python tools/mutate.py --only cosine sum_of_squares --gate

``tools/mutations.toml`` lists the faults. Each names a file, the text that it replaces, and the tests nearby. The tests
of the unchanged copy run first. For each fault the cases of the quick run among the tests nearby run first, until one
fails, then, with ``--gate``, the other cases of these tests. A fault that survives is what the tests cannot see: write
the test that finds it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[1]
FAULTS = Path(__file__).with_name("mutations.toml")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (?P<test>.+?)(?: - .*)?$", re.MULTILINE)
#: The runs that look for a fault, in order, with the marker of their cases.
QUICK = "README's command", "not slow and not rest and not long"
GATE = "the gate", "(rest or long) and not slow"


@dataclass(frozen=True)
class Fault:
    """A replacement of text in a file of ``src/wengert``.

    Attributes:
        name: a short name.
        kind: what the changed code is: a rule, a pass, a kernel...
        file: the file, below ``src/wengert``.
        old: the text, which the file has once.
        new: the text in its place.
        tests: the files of tests nearby, below ``tests``.
        match: of these, the tests whose names match, as pytest's ``-k`` takes it; all if empty.
    """

    name: str
    kind: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    match: str = ""

    @contextmanager
    def planted(self, tree: Path) -> Iterator[None]:
        """Change the file in a copy of the tree, and change it back."""
        path = tree / "src/wengert" / self.file
        text, changed = path.read_text("utf-8"), self.changed(tree)
        _write(path, changed)
        try:
            yield
        finally:
            _write(path, text)

    def changed(self, tree: Path) -> str:
        """Return the text of the file with the fault; raise `ValueError` if the replaced text is not there once."""
        text = (tree / "src/wengert" / self.file).read_text("utf-8")
        if (count := text.count(self.old)) != 1 or self.old == self.new:
            raise ValueError(
                f"{self.name}: {self.file} must have the replaced text once, and has it {count} times"
            )
        return text.replace(self.old, self.new)


@dataclass(frozen=True)
class Verdict:
    """What found a fault (None: no test), and how many seconds that took."""

    fault: Fault
    run: str | None
    test: str
    seconds: float


def faults(only: Sequence[str] = ()) -> list[Fault]:
    """Return the listed faults; all, or those of some names."""
    rows = tomllib.loads(FAULTS.read_text("utf-8"))["fault"]
    listed = [Fault(**{**row, "tests": tuple(row["tests"])}) for row in rows]
    if unknown := set(only) - {fault.name for fault in listed}:
        raise ValueError(f"no fault is called {', '.join(sorted(unknown))}")
    return [fault for fault in listed if not only or fault.name in only]


def _write(path: Path, text: str) -> None:
    """Write a file with a time of its own: Python keeps compiled modules by the second and the size."""
    before = path.stat().st_mtime
    path.write_text(text, "utf-8")
    os.utime(path, (before + 2, before + 2))


def _copy(folder: str) -> Path:
    files = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    for name in filter(None, files.decode().split("\0")):
        if (ROOT / name).is_file():
            (target := Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
    return Path(folder)


def first_failure(tree: Path, tests: Sequence[str], match: str, marker: str, seconds: float) -> str | None:
    """Return the first failing test of some files in a copy of the tree; None if all pass."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "--tb=no",
        "-p",
        "no:cacheprovider",
        "-m",
        marker,
        "-k",
        match,
    ]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "CI": "1"}  # the same draws in each run
    try:
        done = subprocess.run(
            [*command, *(f"tests/{test}" for test in tests)],
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return f"no end after {seconds:.0f} s"
    if done.returncode in (0, 5):  # 5: no case has the marker
        return None
    found = _FAILED.search(done.stdout)
    return found["test"] if found else (done.stdout + done.stderr).strip().splitlines()[-1]


def verdict(fault: Fault, tree: Path, runs: Sequence[tuple[str, str]], seconds: float) -> Verdict:
    """Plant a fault in a copy of the tree, and look for it."""
    start = time.monotonic()
    with fault.planted(tree):
        for name, marker in runs:
            if test := first_failure(tree, fault.tests, fault.match, marker, seconds):
                return Verdict(fault, name, test, time.monotonic() - start)
    return Verdict(fault, None, "", time.monotonic() - start)


def verdicts(
    chosen: Sequence[Fault], runs: Sequence[tuple[str, str]], jobs: int, seconds: float
) -> Iterator[Verdict]:
    """Yield the verdicts of faults as they are known."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            trees.put(_copy(f"{folder}/{number}"))

        def found(fault: Fault) -> Verdict:
            tree = trees.get()
            try:
                return verdict(fault, tree, runs, seconds)
            finally:
                trees.put(tree)

        yield from pool.map(found, chosen)


def _unchanged(chosen: Sequence[Fault], runs: Sequence[tuple[str, str]], seconds: float) -> str | None:
    """Return a test nearby that fails without a fault."""
    tests = sorted({test for fault in chosen for test in fault.tests})
    with tempfile.TemporaryDirectory() as folder:
        tree = _copy(folder)
        return next(
            (test for _, marker in runs if (test := first_failure(tree, tests, "", marker, seconds))), None
        )


def main() -> int:
    """Print a row for each fault; return 1 if one survives."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=(), help="names of faults")
    parser.add_argument(
        "--gate", action="store_true", help="run the cases that README's command leaves out, too"
    )
    parser.add_argument(
        "--trust", action="store_true", help="do not run the tests of the unchanged tree first"
    )
    parser.add_argument("-j", "--jobs", type=int, default=2, help="how many faults at a time")
    parser.add_argument("--seconds", type=float, default=900.0, help="the limit of one run of tests")
    given = parser.parse_args()
    chosen, runs = faults(given.only), (QUICK, GATE) if given.gate else (QUICK,)
    for fault in chosen:
        fault.changed(ROOT)
    if not given.trust and (failing := _unchanged(chosen, runs, 20 * given.seconds)):
        print(f"{failing} fails in the unchanged tree")
        return 2
    found = {name: 0 for name, _ in runs}
    for result in verdicts(chosen, runs, given.jobs, given.seconds):
        fault, run = result.fault, result.run
        row = (fault.name, fault.kind, run or "SURVIVES", result.test, f"{result.seconds:.0f} s")
        print("|", " | ".join(row), "|", flush=True)
        if run:
            found[run] += 1
    print(", ".join(f"{count} found by {name}" for name, count in found.items()), f"of {len(chosen)}")
    return int(sum(found.values()) < len(chosen))


if __name__ == "__main__":
    sys.exit(main())
