"""``python -m tests.programs.staged --seed 0 --count 5000 -j 2 --out differing``: drawn control flow, staged.

Programs that differ are written to a folder: as drawn, and as small as possible.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.programs.staged.sweeping import examine, source_of, sweep


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.programs.staged", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help="how many programs")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--out", type=Path, help="the folder for programs that differ")
    parser.add_argument(
        "--share", type=float, default=1.0, help="factor of the programs that run in each mode"
    )
    parser.add_argument("--with", dest="features", default="", help="features that all programs have: a,b")
    parser.add_argument("--show", action="store_true", help="print the programs instead")
    parser.add_argument("--lines", action="store_true", help="one line of JSON for each program")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.count)
    features = {name for name in options.features.split(",") if name}
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
    if options.show:
        for seed in seeds:
            print(source_of(seed, features))
        return 0
    if options.lines:
        for seed in seeds:
            print(json.dumps(examine(seed, options.share, options.out, features)), flush=True)
        return 0
    arguments = ["--share", str(options.share), "--with", options.features]
    if options.out is not None:
        arguments += ["--out", str(options.out)]
    tally = sweep(seeds, options.jobs, arguments)
    print(tally.text())
    return bool(tally.different)


if __name__ == "__main__":
    sys.exit(main())
