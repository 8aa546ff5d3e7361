"""The explorer's page of a graph of 5,000 operations: the time to record it, to open it, and to follow an input.

Needs selenium and Chromium. Usage: ``python benchmarks/explorer.py``
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import wengert as wg

sys.path.append(str(Path(__file__).parents[1] / "examples" / "explorer"))
import chromium

TURNS, REPEATS = 1250, 7
OPENED = "return performance.getEntriesByType('navigation')[0].loadEventEnd"
CHANGED = "const start = performance.now(); setInput(data.inputs[0], 0, arguments[0]); return performance.now() - start"


def iterated(x):
    for _ in range(TURNS):
        x = np.sin(x) * 1.01
        x = x + 0.1 * x
    return x


def main() -> None:
    """Print the times."""
    times = list[float]()
    for _ in range(3):
        start = time.process_time()
        page = wg.explore(iterated)(0.3)
        size = len(page.html) / 1e6
        times.append(time.process_time() - start)
    print(f"{page!r}: {size:.1f} MB, recorded in {statistics.median(times):.1f} s of the processor")
    browser = chromium.start()
    with tempfile.TemporaryDirectory() as folder:
        address = page.save(Path(folder, "page.html")).as_uri()
        opened, changed = list[float](), list[float]()
        for number in range(REPEATS):
            browser.get(address)
            opened.append(browser.execute_script(OPENED))
            changed.append(browser.execute_script(CHANGED, 0.4 + number / 100))
    browser.quit()
    print(f"opened in {statistics.median(opened):.0f} ms, at most {max(opened):.0f} ms")
    print(
        f"all numbers follow an input in {statistics.median(changed):.0f} ms, at most {max(changed):.0f} ms"
    )


if __name__ == "__main__":
    main()
