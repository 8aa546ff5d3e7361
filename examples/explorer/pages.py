"""Write the explorer's pages of the seven programs and the five lessons, and pictures of them if Chromium is installed.

Usage: ``python examples/explorer/pages.py [FOLDER] [--no-pictures]``; the default is build/explorer.
"""

import argparse
from pathlib import Path

import chromium
import lessons
import numpy as np
import programs

import wengert as wg
from wengert.data import digits
from wengert.train import TASKS

ROOT = Path(__file__).parents[2]
SIZE = 1200, 800


def pages():
    """Return the function of each page, its arguments, and the mode and the step of its picture."""
    rng = np.random.default_rng(3)
    weights = {
        "w1": rng.normal(size=(3, 4)),
        "b1": np.zeros(4),
        "w2": rng.normal(size=(4, 1)),
        "b2": np.zeros(1),
    }
    x = rng.normal(size=(6, 3))
    images, labels = digits(2)
    model = TASKS["cnn"].build(np.random.default_rng(0))
    positions = np.cumsum(rng.normal(size=12)) + np.arange(12)
    return {
        "product": (programs.product, (1.0, 2.0, -4.0), "forward", 2),
        "report": (programs.report, (2.0, 5.0), "reverse", 10),
        "newton": (programs.newton, (2.0,), "forward", 9),
        "bouncing": (programs.bouncing, (2.0, 0.0), "nests", 4),
        "network": (programs.network, (weights, x, np.sin(x[:, :1])), "reverse", 17),
        "cnn": (programs.cnn, (model, TASKS["cnn"].prepare(images), labels.astype(np.int64)), "forward", 6),
        "kalman": (programs.kalman, (0.1, 1.0, positions), "reverse", 40),
        "dual": (lessons.dual, (2.0,), "forward", 2),
        "reverse": (lessons.reverse, (2.0, 5.0), "reverse", 12),
        "checkpointed": (lessons.checkpointed, (0.5,), "adjoint", 6),
        "nested": (lessons.nested, (1.0,), "forward", 2),
        "kinks": (lessons.kinks, (3.0, 3.0), "reverse", 13),
    }


def write(folder):
    """Write the page of each program to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (function, arguments, _, _) in pages().items():
        yield wg.explore(function)(*arguments).save(folder / f"{name}.html")


def screenshots(folder):
    """Save a picture beside each page."""
    browser = chromium.start()
    chromium.resize(browser, *SIZE)
    for name, (_, _, mode, step) in pages().items():
        browser.get((folder / f"{name}.html").resolve().as_uri())
        browser.execute_script(f"choose('{mode}'); go({step})")
        browser.save_screenshot(str(folder / f"{name}.png"))
        print(folder / f"{name}.png")
    browser.quit()


def main():
    """Write the pages and the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "explorer")
    parser.add_argument("--no-pictures", action="store_true", help="write the pages alone")
    chosen = parser.parse_args()
    for page in write(chosen.folder):
        print(page)
    if not chosen.no_pictures and chromium.is_installed():
        try:
            screenshots(chosen.folder)
        except ImportError:
            print("no pictures: selenium is not installed")


if __name__ == "__main__":
    main()
