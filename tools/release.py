"""Build the archives of a release, check them, and try them in clean environments.

    python tools/release.py [--out dist] [--python 3.12 ...] [--build-only]

Needs ``pip install -e '.[release]'``. It writes the source archive, the wheel, and the recipe for conda-forge with the
checksum of the source archive. Then each Python of this machine that the package supports gets the wheel without and
with extras, and the lowest one the lowest versions that ``pyproject.toml`` allows, too. Each environment runs
``wengert doctor`` and ``tools/smoke.py``.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = ("images", "plot", "sklearn", "tensorboard")
"""The extras that tools/smoke.py uses."""
LARGEST = 1 << 20
"""Bytes of a file: a larger one is data, which no archive has."""
ADDRESS = "https://pypi.org/packages/source/w/wengert/wengert-${{ version }}.tar.gz"


class Environment(NamedTuple):
    """An environment to try the wheel in."""

    python: Path
    extras: tuple[str, ...]
    is_lowest: bool = False

    @property
    def version(self) -> str:
        """The version of Python, such as 3.12."""
        return self.python.name.removeprefix("python")

    def __str__(self) -> str:
        versions = "lowest versions" if self.is_lowest else "newest versions"
        return f"{self.python.name}, {versions}, {'with' if self.extras else 'without'} extras"


# -- archives --------------------------------------------------------------------------------------------


def build(out: Path) -> tuple[Path, Path]:
    """Build the source archive, and the wheel from it; return both.

    Raises:
        SystemExit: the wheel of this tree differs from the wheel of the source archive.
    """
    command = [sys.executable, "-m", "build"]
    subprocess.run([*command, "--outdir", str(out), str(ROOT)], check=True, stdout=subprocess.DEVNULL)
    (wheel,), (source,) = out.glob("*.whl"), out.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["--wheel", "--outdir", folder, str(ROOT)]
        subprocess.run([*command, *arguments], check=True, stdout=subprocess.DEVNULL)
        if files_of_wheel(Path(folder, wheel.name)) != files_of_wheel(wheel):
            raise SystemExit(f"{wheel.name}: the wheel of the tree is not that of {source.name}")
    return source, wheel


def files_of_wheel(wheel: Path) -> dict[str, bytes]:
    """Return the files of a wheel by their names."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def files_of_source(source: Path) -> dict[str, bytes]:
    """Return the files of a source archive by their paths below its folder."""
    with tarfile.open(source) as archive:
        found = ((member, archive.extractfile(member)) for member in archive if member.isfile())
        return {member.name.partition("/")[2]: file.read() for member, file in found if file}


def package() -> dict[str, bytes]:
    """Return the files of the package in this tree by their names in a wheel."""
    folder = ROOT / "src"
    paths = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def problems_of_wheel(files: dict[str, bytes], expected: dict[str, bytes]) -> Iterator[str]:
    """Yield how a wheel differs from the package, or lacks what a wheel must have."""
    metadata = {name: content for name, content in files.items() if ".dist-info/" in name}
    held = {name: content for name, content in files.items() if name not in metadata}
    yield from (f"{name} is missing" for name in sorted(expected.keys() - held.keys()))
    yield from (f"{name} does not belong there" for name in sorted(held.keys() - expected.keys()))
    yield from (
        f"{name} differs from the tree" for name in held.keys() & expected if held[name] != expected[name]
    )
    endings = {PurePosixPath(name).name for name in metadata}
    yield from (
        f"the metadata lack {name}" for name in sorted({"LICENSE", "METADATA", "entry_points.txt"} - endings)
    )
    text = next((content for name, content in metadata.items() if name.endswith("/METADATA")), b"").decode()
    yield from (
        f"the readme has the relative link {link}" for link in re.findall(r"\]\(([\w/.]+\.(?:md|png))", text)
    )
    yield from _too_large(files)


def problems_of_source(files: dict[str, bytes]) -> Iterator[str]:
    """Yield what a source archive lacks, and what does not belong there."""
    needed = ("LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml", "PKG-INFO")
    yield from (f"{name} is missing" for name in needed if name not in files)
    yield from (
        f"{name} is missing" for name in ("src/wengert/py.typed", "tests/conftest.py") if name not in files
    )
    for name in files:
        parts = set(PurePosixPath(name).parts)
        if parts & {"__pycache__", ".venv", "build", "dist", "runs", ".git"}:
            yield f"{name} does not belong there"
    yield from _too_large(files)


def _too_large(files: dict[str, bytes]) -> Iterator[str]:
    for name, content in files.items():
        if len(content) > LARGEST:
            yield f"{name} has {len(content)} bytes: an archive holds no data"


def check(source: Path, wheel: Path) -> None:
    """Check both archives.

    Raises:
        SystemExit: with what is wrong.
    """
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", str(source), str(wheel)], check=True)
    found = [
        *(f"{wheel.name}: {problem}" for problem in problems_of_wheel(files_of_wheel(wheel), package())),
        *(f"{source.name}: {problem}" for problem in problems_of_source(files_of_source(source))),
    ]
    if found:
        raise SystemExit("\n".join(found))


def released_recipe(recipe: str, digest: str) -> str:
    """Return the recipe of this tree with the source archive as its source.

    Args:
        recipe: the text of ``recipe/recipe.yaml``.
        digest: the SHA-256 of the source archive.
    """
    head, _, rest = recipe.partition("source:\n  path: ..\n")
    head = "".join(
        line for line in head.splitlines(True) if not line.startswith("#")
    )  # they tell of this tree
    return f"{head}source:\n  url: {ADDRESS}\n  sha256: {digest}\n{rest}"


# -- environments ----------------------------------------------------------------------------------------


def interpreters() -> Iterator[Path]:
    """Yield a Python of each version that the package supports, the lowest first, from PATH and of pyenv."""
    lowest = int(PROJECT["requires-python"].removeprefix(">=3."))
    places = [Path(place) for place in os.environ["PATH"].split(os.pathsep)]
    places += sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/*/bin"))
    found: dict[int, Path] = {}
    for python in (path for place in places for path in place.glob("python3.*")):
        minor = re.fullmatch(r"python3\.(\d+)", python.name)
        if minor and int(minor[1]) >= lowest and int(minor[1]) not in found and _makes_environments(python):
            found[int(minor[1])] = python
    yield from (found[minor] for minor in sorted(found))


def _makes_environments(python: Path) -> bool:
    return subprocess.run([python, "-c", "import ensurepip, venv"], capture_output=True).returncode == 0


def environments(pythons: Iterable[Path]) -> Iterator[Environment]:
    """Yield the environments in which a release must work."""
    for place, python in enumerate(pythons):
        for extras in ((), EXTRAS):
            yield Environment(python, extras)
            if place == 0:
                yield Environment(python, extras, is_lowest=True)


def wanted(versions: Sequence[str] | None, known: Sequence[Environment]) -> list[Environment]:
    """Return the environments of some versions of Python, such as 3.12; all if none are named.

    Raises:
        SystemExit: this machine has no Python of a version.
    """
    present = list(dict.fromkeys(environment.version for environment in known))
    missing = [version for version in versions or () if version not in present]
    if missing or not present:
        names = ", ".join(missing) or "of a supported version"
        raise SystemExit(f"no Python {names} here makes environments; found: {', '.join(present) or 'none'}")
    return [environment for environment in known if not versions or environment.version in versions]


def attempt(environment: Environment, wheel: Path) -> None:
    """Install a wheel in a new environment and use it there.

    Raises:
        subprocess.CalledProcessError: with the output of the command that fails.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        clean |= {"WENGERT_CACHE": str(folder / "cache"), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

        def run(*command: str | Path) -> None:
            subprocess.run(
                command,
                check=True,
                cwd=folder,
                env=clean,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )

        run(environment.python, "-m", "venv", folder / "venv")
        python, pip = folder / "venv" / "bin" / "python", [folder / "venv" / "bin" / "pip", "install", "-q"]
        if environment.is_lowest:
            lowest = [sys.executable, ROOT / "tools" / "lowest_versions.py", *environment.extras]
            (folder / "lowest.txt").write_text(
                subprocess.run(lowest, check=True, capture_output=True, text=True).stdout
            )
            run(*pip, "-r", folder / "lowest.txt", wheel)
        else:
            extras = f"[{','.join(environment.extras)}]" if environment.extras else ""
            run(*pip, f"wengert{extras} @ {wheel.resolve().as_uri()}")
        run(folder / "venv" / "bin" / "pip", "check")
        run(python.with_name("wengert"), "doctor")
        run(python, ROOT / "tools" / "smoke.py", *([] if environment.extras else ["--without-extras"]))


def main() -> None:
    """Build, check and try a release."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--out", type=Path, default=ROOT / "dist", help="an empty or new folder [default: dist]"
    )
    parser.add_argument("--python", nargs="+", metavar="3.N", help="try the wheel on these versions alone")
    parser.add_argument("--build-only", action="store_true", help="leave the environments out")
    arguments = parser.parse_args()
    if arguments.out.exists() and any(arguments.out.iterdir()):
        parser.error(f"--out: the folder must be empty; {arguments.out} is not")
    chosen = [] if arguments.build_only else wanted(arguments.python, list(environments(interpreters())))
    source, wheel = build(arguments.out)
    check(source, wheel)
    recipe = arguments.out / "recipe" / "recipe.yaml"
    recipe.parent.mkdir()
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    recipe.write_text(released_recipe((ROOT / "recipe" / "recipe.yaml").read_text("utf-8"), digest), "utf-8")
    print(source, wheel, recipe, sep="\n")
    failed = False
    for environment in chosen:
        start = time.monotonic()
        try:
            attempt(environment, wheel)
            outcome = "works"
        except subprocess.CalledProcessError as error:
            outcome, failed = f"fails: {error.cmd}\n{error.stdout}", True
        print(f"{environment} [{time.monotonic() - start:.0f} s]: {outcome}", flush=True)
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
