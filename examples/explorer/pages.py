"""Write the explorer's pages of the six programs, and pictures of them where Chromium and selenium are installed.

Usage: ``python examples/explorer/pages.py [FOLDER] [--no-pictures]``; the default is build/explorer.
"""

import argparse
from pathlib import Path

import chromium
import numpy as np
import programs

import wengert as wg
from wengert.data import digits
from wengert.train import TASKS

ROOT = Path(__file__).parents[2]
SIZE = 1200, 800


def arguments():
    """Return the arguments of each program, and the mode and the step of its picture."""
    rng = np.random.default_rng(3)
    weights = {
        "w1": rng.normal(size=(3, 4)),
        "b1": np.zeros(4),
        "w2": rng.normal(size=(4, 1)),
        "b2": np.zeros(1),
    }
    x = rng.normal(size=(6, 3))
    images, labels = digits(2)
    images = TASKS["cnn"].prepare(images)
    model = TASKS["cnn"].build(np.random.default_rng(0))
    return {
        "product": ((1.0, 2.0, -4.0), "forward", 2),
        "report": ((2.0, 5.0), "reverse", 10),
        "newton": ((2.0,), "forward", 9),
        "network": ((weights, x, np.sin(x[:, :1])), "reverse", 17),
        "cnn": ((model, images, labels.astype(np.int64)), "forward", 6),
        "kalman": ((0.1, 1.0, np.cumsum(rng.normal(size=12)) + np.arange(12)), "reverse", 40),
    }


def screenshots(folder, pages):
    """Save a picture beside each page."""
    browser = chromium.start()
    chromium.resize(browser, *SIZE)
    for name, (_, mode, step) in pages.items():
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
    folder = chosen.folder
    folder.mkdir(parents=True, exist_ok=True)
    pages = arguments()
    for name, (given, _, _) in pages.items():
        print(wg.explore(getattr(programs, name))(*given).save(folder / f"{name}.html"))
    if not chosen.no_pictures and chromium.is_installed():
        try:
            screenshots(folder, pages)
        except ImportError:
            print("no pictures: selenium is not installed")


if __name__ == "__main__":
    main()
