"""Print the time of ``import wengert`` after ``import numpy``; fail above the limit.

Several fresh processes time both imports, one after the other; the figures are medians.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

LIMIT = 1.2
"""The largest ratio of Wengert's import to NumPy's. Ratios depend less on the machine than milliseconds do."""
RUNS = 15

SCRIPT = """
from time import perf_counter as now
start = now()
import numpy
middle = now()
import wengert
print(1e3 * (middle - start), 1e3 * (now() - middle))
"""


def import_times(environment: dict[str, str]) -> list[float]:
    """Return the milliseconds of the import of NumPy, and of wengert after it, in a fresh process."""
    run = [sys.executable, "-c", SCRIPT]
    printed = subprocess.run(run, check=True, capture_output=True, text=True, env=environment).stdout
    return [float(time) for time in printed.split()]


def main() -> int:
    """Measure and print; return 1 above the limit."""
    with tempfile.TemporaryDirectory() as folder:
        # An installed package has bytecode files: a first run fills a folder with them.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        import_times(environment)
        runs = [import_times(environment) for _ in range(RUNS)]
    numpy, wengert = map(statistics.median, zip(*runs, strict=True))
    print(f"import numpy: {numpy:.1f} ms; import wengert after it: {wengert:.1f} ms (medians of {RUNS})")
    print(f"wengert takes {wengert / numpy:.2f} times as long as NumPy; the limit is {LIMIT}")
    return int(wengert > LIMIT * numpy)


if __name__ == "__main__":
    sys.exit(main())
