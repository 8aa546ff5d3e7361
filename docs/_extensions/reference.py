"""Write the reference: a page for each public module, and one for each name in its ``__all__``."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import GenericAlias, ModuleType
from typing import TYPE_CHECKING, Any

from project_pages import write_if_new
from repository_links import PAGES

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: The public modules under the headings of the reference.
PARTS = {
    "Derivatives and compilation": [
        "wengert",
        "wengert.sparse",
        "wengert.implicit",
        "wengert.linalg",
        "wengert.testing",
        "wengert.autograd",
        "wengert.autograd.extend",
    ],
    "Many processes": ["wengert.parallel"],
    "Other frameworks": ["wengert.interop"],
    "For scientists": ["wengert.optimize", "wengert.fit", "wengert.integrate", "wengert.random"],
    "Networks": [
        *("wengert.nn", "wengert.optim", "wengert.optim.schedules", "wengert.data", "wengert.train"),
        *("wengert.predict", "wengert.report", "wengert.estimators", "wengert.boost"),
    ],
    "Functions": [
        *("wengert.special", "wengert.scipy.linalg", "wengert.scipy.integrate", "wengert.scipy.stats"),
        *("wengert.scipy.spatial", "wengert.scipy.spatial.distance", "wengert.scipy.spatial.transform"),
        "wengert.scipy.interpolate",
        *("wengert.scipy.fft", "wengert.scipy.signal", "wengert.scipy.sparse", "wengert.scipy.ndimage"),
        "wengert.array_api",
    ],
    "Programs, containers, errors": ["wengert.inspect", "wengert.tree", "wengert.errors"],
}


@dataclass(frozen=True)
class Entry:
    """A public name: the page that describes it is that of the module which defines it first."""

    module: str
    name: str
    value: Any
    home: str
    """The name of its page."""


def modules() -> list[str]:
    return [module for part in PARTS.values() for module in part]


def owner(value: Any, takers: list[str]) -> str:
    """Return the module, among those that export a value, which is nearest to its definition."""
    defined = getattr(value, "__module__", None) or ""
    inside = [module for module in takers if defined == module or defined.startswith(f"{module}.")]
    return max(inside, key=len) if inside else takers[0]


def entries() -> list[Entry]:
    """Return the public names of all modules, except modules that have pages of their own."""
    names = [(module, name) for module in modules() for name in importlib.import_module(module).__all__]
    values = {key: getattr(importlib.import_module(key[0]), key[1]) for key in names}
    values = {key: value for key, value in values.items() if not isinstance(value, ModuleType)}
    exporting: dict[int, list[tuple[str, str]]] = {}
    for key, value in values.items():
        exporting.setdefault(identity(key, value), []).append(key)
    found = []
    for (module, name), value in values.items():
        same = exporting[identity((module, name), value)]
        home = owner(value, [taker for taker, _ in same])
        page = next(f"{taker}.{called}" for taker, called in same if taker == home)
        found.append(Entry(module, name, value, page))
    return found


def is_constant(value: Any) -> bool:
    return not callable(value) or isinstance(value, GenericAlias)


def identity(key: tuple[str, str], value: Any) -> int:
    """Return a number that two exports of one function or class share; constants are told apart by name."""
    return hash(key) if is_constant(value) else id(value)


def comment(name: str) -> str:
    """Return the comment ``#:`` above the definition of a constant, in the module that defines it."""
    from sphinx.pycode import ModuleAnalyzer

    module, _, constant = name.rpartition(".")
    for inner in [place for place in sys.modules if place == module or place.startswith(f"{module}.")]:
        text = ModuleAnalyzer.for_module(inner).find_attr_docs().get(("", constant))
        if text:
            return " ".join(text).strip()
    return ""


def summary(entry: Entry) -> str:
    """Return the first sentence of the documentation, on one line."""
    if is_constant(entry.value):
        return comment(f"{entry.module}.{entry.name}")
    return plain(" ".join((inspect.getdoc(entry.value) or "").split("\n\n")[0].split()))


def directive(value: Any) -> str:
    if isinstance(value, type):
        return "autoexception" if issubclass(value, BaseException) else "autoclass"
    return "autofunction" if inspect.isroutine(value) else "autodata"


def title(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n"


def description(entry: Entry) -> list[str]:
    """Return the directive that describes a public name."""
    name = f"{entry.module}.{entry.name}"
    if is_constant(entry.value):
        value = repr(entry.value)
        shown = [f"   :value: {value}"] if len(value) < 60 else []
        return [f".. py:data:: {name}", *shown, "", f"   {comment(name)}"]
    kind = directive(entry.value)
    options = {"autoclass": ["   :members:"], "autodata": ["   :no-value:"]}
    return [f".. {kind}:: {name}", *options.get(kind, [])]


def object_page(entry: Entry) -> str:
    # The menu at the side shows modules; hundreds of names in it would make each page slow.
    lines = [":orphan:", "", title(entry.name), f"In :doc:`{entry.module} <{entry.module}>`.", ""]
    return "\n".join([*lines, *description(entry), ""])


def module_page(module: str, of_module: list[Entry]) -> str:
    lines = [title(module), f".. automodule:: {module}", "   :no-members:", ""]
    lines += [".. list-table::", "   :widths: 30 70", "   :class: names", ""]
    for entry in of_module:
        lines += [f"   * - :doc:`{entry.name} <{entry.home}>`", f"     - {summary(entry)}"]
    return "\n".join([*lines, ""])


def index_page() -> str:
    lines = [title("Reference"), "Every public name, from the docstrings of the package.", ""]
    for part, of_part in PARTS.items():
        lines += [title(part, "-"), ".. toctree::", "   :maxdepth: 1", "", *(f"   {m}" for m in of_part), ""]
    return "\n".join(lines)


def pages() -> Iterator[tuple[str, str]]:
    """Yield the names of the pages of the reference, and their texts."""
    every = entries()
    yield "index", index_page()
    for module in modules():
        yield module, module_page(module, [entry for entry in every if entry.module == module])
    for entry in every:
        if entry.home == f"{entry.module}.{entry.name}":
            yield entry.home, object_page(entry)


def write(_: Sphinx) -> None:
    folder = PAGES / "reference"
    written = dict(pages())
    for name, text in written.items():
        write_if_new(folder / f"{name}.rst", text)
    for path in folder.glob("*.rst"):
        if path.stem not in written:
            path.unlink()


_LITERAL = re.compile(r"(``.+?``|`[^`]+`)")
_MARKUP = re.compile(r"[|*]|_\b|_$")


def plain(line: str) -> str:
    """Return a line of a docstring for Sphinx: only backquotes are markup, and |x| is an absolute value."""
    parts = _LITERAL.split(line)
    return "".join(part if number % 2 else _MARKUP.sub(r"\\\g<0>", part) for number, part in enumerate(parts))


def escape(_app: Sphinx, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = [line if re.match(r" *(>>>|\.\.\. )", line) else plain(line) for line in lines]


def leave_out(_app: Sphinx, _what: str, _name: str, value: Any, skip: bool, _options: Any) -> bool | None:
    """Leave out what a class has from another library."""
    module = getattr(value, "__module__", None) or "wengert"
    return None if skip or module.startswith("wengert") else True


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write)
    app.connect("autodoc-skip-member", leave_out)
    app.connect("autodoc-process-docstring", escape, priority=100)  # before napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}
