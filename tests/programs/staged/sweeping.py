"""Check many drawn programs of control flow in processes of their own, each with a time limit."""

from __future__ import annotations

import builtins
import json
import os
import random
import re
import signal
import subprocess
import symtable
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.programs.staged.reducing import reduced
from tests.programs.staged.running import MODES, TRACED, WITH_SLOPES, Difference, check
from tests.programs.staged.writing import Writer, arguments

#: The number of programs in one process.
CHUNK = 250
#: The time limits of a program and of a process, in seconds.
LONGEST, LONGEST_CHUNK = 60, 3000


def source_of(seed: int, features: set[str] | None = None) -> str:
    """Return the source of the program of a seed."""
    return Writer(seed, features=features).source()


def chosen(seed: int, share: float) -> list[str]:
    """Return the modes in which a program runs."""
    draw = random.Random(seed)
    first = TRACED[draw.random() < WITH_SLOPES]
    return [first, *(mode for mode, part in MODES.items() if draw.random() < part * share)]


class _Late(BaseException):
    pass


def _ring(*_: Any) -> None:
    raise _Late


def examine(seed: int, share: float, folder: Path | None, features: set[str]) -> dict[str, Any]:
    """Check the program of a seed, and write the smallest program that differs to a file."""
    begin = time.monotonic()
    writer = Writer(seed, features=set(features))
    source = writer.source()
    given, refusals, modes = arguments(seed), list[str](), chosen(seed, share)
    report: dict[str, Any] = {"seed": seed, "features": sorted(writer.draw.features), "says": []}
    signal.signal(signal.SIGALRM, _ring)
    signal.alarm(LONGEST)
    try:
        differences = [*check(source, given, f"seed_{seed}", modes, refusals)]
    except _Late:
        return {**report, "refusals": refusals, "is_late": True}
    finally:
        signal.alarm(0)
    report |= {"refusals": refusals, "modes": modes, "says": [f"{d.mode}: {d.says}" for d in differences]}
    if differences and folder is not None:
        first = differences[0]
        (folder / f"{seed}-whole.py").write_text(source)
        signal.alarm(LONGEST)
        try:
            source = reduced(source, lambda text: fails(text, given, first))
        except _Late:
            pass
        finally:
            signal.alarm(0)
        text = "\n".join(f"# {line}" for says in report["says"] for line in says.splitlines())
        (folder / f"{seed}.py").write_text(f"# seed {seed}\n{text}\n{source}")
    return {**report, "seconds": time.monotonic() - begin}


def fails(source: str, given: Sequence[Any], difference: Difference) -> bool:
    """Return whether a source differs in the same mode, in the same kind."""
    try:
        if not is_whole(source):
            return False
        name = f"smaller_{abs(hash(source))}"
        found = [*check(source, given, name, [difference.mode])]
    except Exception:  # it is no program
        return False
    broken = ("NameError", "TypeError", "AttributeError", "UnboundLocalError", "SyntaxError")
    return any(
        one.kind == difference.kind
        and _end(one.says) == _end(difference.says)
        and not any(word in one.says and word not in difference.says for word in broken)
        for one in found
    )


def _end(says: str) -> str:
    """Return the class of the exception that plain Python raises, or no text."""
    return "".join(re.findall(r"instead of Raised\(kind='(\w+)'", says))


def is_whole(source: str) -> bool:
    """Return whether a source defines all names that it uses."""
    module = symtable.symtable(source, "smaller", "exec")
    defined = {symbol.get_name() for symbol in module.get_symbols()} | {*dir(builtins)}
    waiting = [*module.get_children()]
    while waiting:
        table = waiting.pop()
        waiting += table.get_children()
        if any(symbol.is_global() and symbol.get_name() not in defined for symbol in table.get_symbols()):
            return False
    return True


@dataclass
class Tally:
    """The results so far."""

    programs: int = 0
    late: list[int] = field(default_factory=list[int])
    """The seeds of those that did not end in their time."""
    modes: Counter[str] = field(default_factory=Counter[str])
    refusals: Counter[str] = field(default_factory=Counter[str])
    different: list[str] = field(default_factory=list[str])

    def add(self, report: dict[str, Any]) -> None:
        """Count the report of a program."""
        self.programs += 1
        self.late += [report["seed"]] * report.get("is_late", False)
        self.modes.update(report.get("modes", []))
        self.refusals.update(map(reason, report.get("refusals", [])))
        self.different += [f"seed {report['seed']}: {says[:300]}" for says in report["says"]]

    def text(self) -> str:
        """Return the results as a text."""
        lines = [f"{count:6d}  {mode}" for mode, count in self.modes.items()]
        lines += ["refused:", *(f"{count:6d}  {text}" for text, count in self.refusals.most_common(60))]
        seeds = f" ({', '.join(map(str, self.late))})" if self.late else ""
        end = f"{len(self.late)} of them not to the end{seeds}, {len(self.different)} differences"
        return "\n".join([*lines, *self.different, f"{self.programs} programs, {end}"])


def reason(text: str) -> str:
    """Return why a program was refused, without names and numbers."""
    text = re.sub(r"\s*\[[^\]]*\.py:\d+\]", "", text)
    text = re.sub(r"^(trace|jit|vmap|jit vmap|trace grad|jit grad): ", "", text)
    text = re.sub(r"\b[a-zA-Z]\w?\d*\b(?= the same)|\b[suq]\d+\b|give \S+ the", "…", text)
    return text.split("\n")[0][:170]


def chunk(seeds: Sequence[int], options: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Check seeds in a process, and yield reports, even if the process crashes."""
    command = [sys.executable, "-m", "tests.programs.staged", "--lines", *options]
    environment = {**os.environ, "WENGERT_CACHE": "off", "OPENBLAS_NUM_THREADS": "1", "WENGERT_THREADS": "1"}
    bounds = ["--seed", str(seeds[0]), "--count", str(len(seeds))]
    done = 0
    with subprocess.Popen(
        [*command, *bounds], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        watch = threading.Timer(LONGEST_CHUNK, process.kill)
        watch.start()
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            if line.startswith("{"):
                done += 1
                yield json.loads(line)
        problem = process.stderr.read()[-300:]
        watch.cancel()
    if done < len(seeds):
        yield {"seed": seeds[done], "says": [f"the process ended: {problem}"]}
        if done + 1 < len(seeds):
            yield from chunk(seeds[done + 1 :], options)


def sweep(seeds: range, jobs: int, options: Sequence[str]) -> Tally:
    """Check many programs in several processes, and print differences as they appear."""
    tally, begin = Tally(), time.monotonic()
    parts = [seeds[first : first + CHUNK] for first in range(0, len(seeds), CHUNK)]
    with ThreadPoolExecutor(jobs) as pool:
        for _ in pool.map(lambda part: _count(tally, chunk(part, options)), parts):
            print(f"{tally.programs} programs, {time.monotonic() - begin:.0f} s", flush=True)
    return tally


def _count(tally: Tally, reports: Iterator[dict[str, Any]]) -> None:
    for report in reports:
        tally.add(report)
        for says in report["says"]:
            print(f"seed {report['seed']}: {says[:300]}", flush=True)
