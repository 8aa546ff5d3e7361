"""The process of a contestant, and the environment in which it runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from wengert.bench import shared
from wengert.bench.contestants import Contestant
from wengert.core.errors import WengertError


class ContestantError(WengertError, RuntimeError):
    """A contestant ended before its time."""


class Round(NamedTuple):
    """What all contestants train side by side."""

    network: str
    threads: int
    seed: int


class Answering:
    """A process that answers each line that it is sent by a line of JSON.

    Args:
        command: what is run.
        environment: of the process.
    """

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self._words = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the process)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            text=True,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the one who asks; without him, it ends
        )

    def request(self, line: str) -> Any:
        """Return the answer to a line; `ContestantError` with the last words of a process that has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(line, file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self._process.wait()
            self._words.seek(0)
            words = [text.strip() for text in self._words.read().splitlines() if text.strip()]
            last = words[-1] if words else f"it ended with code {self._process.returncode}"
            raise ContestantError(f"{self}: {last}")
        return json.loads(answer)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._words.close()


class Worker(Answering):
    """The process of one contestant."""

    def __init__(self, contestant: Contestant, round_: Round, folder: Path) -> None:
        self.contestant = contestant
        self._folder = folder
        self._own = tempfile.TemporaryDirectory()
        arguments = (*contestant, round_.network, str(round_.threads), str(folder))
        super().__init__(
            [sys.executable, "-m", "wengert.bench.worker", *arguments],
            environment(round_.threads, self._own.name),
        )

    def __str__(self) -> str:
        return str(self.contestant)

    def weights(self) -> tuple[list[Any], int]:
        """Return the weights, and the most memory that the process had."""
        answer = self.request("weights learned")
        return shared.load_arrays(self._folder, "learned"), answer["peak"]

    def close(self) -> None:
        """End the process."""
        super().close()
        self._own.cleanup()


def environment(threads: int, cache: str | None = None) -> dict[str, str]:
    """Return the environment in which a library takes so many threads.

    Args:
        threads: how many.
        cache: a new folder, in which nothing compiled before is found; by default, the user's own.
    """
    names = ("OMP", "OPENBLAS", "MKL", "NUMBA")
    caches = {} if cache is None else {"WENGERT_CACHE": cache, "TORCHINDUCTOR_CACHE_DIR": cache}
    return {
        **os.environ,
        **{f"{name}_NUM_THREADS": str(threads) for name in names},
        **caches,
        "WENGERT_THREADS": str(threads),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
