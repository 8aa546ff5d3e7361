"""Saved functions: one file that holds a traced function, and gives it back in another process.

The file is a zip archive without pickle or code::

    functions.json          containers, types and options of each function; the format; the version
    1/graph.txt             the traced graph as text; its constants are further inputs
    1/constants/0.npy       their values
    1/arguments/0.npy       self-test vectors: example arguments
    1/results/0.npy         and the results there

The last 64 bytes, the comment of the archive, are the SHA-256 of all bytes before them.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from wengert._version import __version__
from wengert.compiler.freestanding.function import Function
from wengert.compiler.jit import Jitted, jit
from wengert.engine.core import tree
from wengert.engine.core.dtypes import NUMPY_VALUE, PYTHON_TYPE
from wengert.engine.core.errors import (
    DtypeError,
    GraphError,
    ShapeError,
    UnsupportedError,
    WengertError,
    located,
    message,
)
from wengert.engine.core.files import replacing
from wengert.engine.core.shapes import size
from wengert.engine.ir.graph import Graph
from wengert.engine.ir.parser import parse
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.transforms.staging import evaluate
from wengert.exporting.checked import check_graph, check_type
from wengert.exporting.containers import from_json, rearranged, to_json

FORMAT = 1
"""The format of files that this version writes; it reads all formats up to this one."""
_DIGEST = 64
_MOST_HEADER = 10_240
"""The bytes in which the header of an array ends."""
_FREE_TEXT, _MOST_PACKED = 1 << 20, 100
"""The bytes that a text may have, and those for each byte of it in the archive: its memory follows the file's size."""


class SavedFunctionError(WengertError, ValueError):
    """A file that holds no saved function, is damaged, or is newer than this version."""


@dataclass(frozen=True)
class Saved:
    """A function as a file holds it."""

    name: str
    graph: Graph
    accepted: tree.Structure
    returned: tree.Structure
    types: tuple[TensorType, ...]
    paths: tuple[str, ...]
    fixed: dict[int, Any]
    donated: tuple[int, ...]
    flushes: bool
    arguments: tuple[Any, ...]
    results: tuple[Any, ...]

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Return the results in their containers."""
        computed = iter(evaluate(self.graph, *map(_converted, leaves, self.types)))
        every = range(self.returned.leaf_count())
        return tree.unflatten(
            self.returned, [self.fixed[n] if n in self.fixed else next(computed) for n in every]
        )


# -- writing ---------------------------------------------------------------------------------------------


def save(functions: Sequence[Function], results: Sequence[Sequence[Any]], path: Path) -> None:
    """Write functions, with their results at the example arguments, as one file: completely or not at all."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        stated: list[Any] = []
        for number, (function, values) in enumerate(zip(functions, results, strict=True), 1):
            _refuse_python(function.traced)
            stated.append(_facts(function))
            graph, constants = _without_constants(function.traced)
            _write_text(archive, f"{number}/graph.txt", graph.text(full=True))
            arrays = {"constants": constants, "arguments": function.values, "results": values}
            for folder, members in arrays.items():
                for place, value in enumerate(members):
                    archive.writestr(f"{number}/{folder}/{place}.npy", _npy(value))
        head = {"format": FORMAT, "wengert": __version__, "functions": stated}
        _write_text(archive, "functions.json", json.dumps(head, indent=1))
        archive.comment = b"0" * _DIGEST
    body = content.getvalue()[:-_DIGEST]
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as stream:
        stream.write(body + hashlib.sha256(body).hexdigest().encode())


def _write_text(archive: zipfile.ZipFile, name: str, text: str) -> None:
    """Write a text as a member that `_Members.text` reads."""
    content = text.encode()
    is_dense = len(content) <= _longest_text(len(zlib.compress(content)) // 2)
    archive.writestr(name, content, zipfile.ZIP_DEFLATED if is_dense else zipfile.ZIP_STORED)


def _facts(function: Function) -> dict[str, Any]:
    """Return the facts that a file states of a function beside its graph."""
    return {
        "name": function.name,
        "arguments": to_json(function.accepted),
        "results": to_json(function.returned),
        "types": [[leaf.type.dtype.str, leaf.type.shape, leaf.type.weak] for leaf in function.arguments],
        "paths": [leaf.path for leaf in function.arguments],
        "constant results": [[place, _constant(value)] for place, value in function.fixed.items()],
        "donated": function.donated,
        "flushes subnormals": function.flushes,
    }


def _constant(value: Any) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    requirement = "a result that is a constant must be a number or a string to be saved"
    raise UnsupportedError(message("export", requirement, type(value).__name__))


def _refuse_python(graph: Graph) -> None:
    """Raise `UnsupportedError` where an operation holds a Python function."""
    for equation in graph.equations:
        if any(_is_python(value) for value in equation.params.values()):
            requirement = (
                "a custom rule, yours or that of wg.implicit, is a Python function, which cannot be saved"
            )
            hint = "compile it for C with .c(path), which needs no rule"
            text = message("export", requirement, equation.primitive, hint)
            raise UnsupportedError(located(text, equation.location))
        for inner in equation.graphs():
            _refuse_python(inner)


def _is_python(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_is_python, value))
    plain = (
        type(None),
        bool,
        int,
        float,
        complex,
        str,
        slice,
        np.dtype,
        np.generic,
        np.ndarray,
        Graph,
        type(...),
    )
    return not isinstance(value, plain)


def _without_constants(graph: Graph) -> tuple[Graph, list[Any]]:
    """Return a graph whose constants are further inputs, and their values."""
    variables = tuple(var for var, _ in graph.constants)
    return replace(graph, inputs=(*graph.inputs, *variables), constants=()), [
        value for _, value in graph.constants
    ]


def _npy(value: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.ascontiguousarray(value).reshape(np.shape(value)), allow_pickle=False)
    return stream.getvalue()


# -- reading ---------------------------------------------------------------------------------------------


def load(path: str | os.PathLike[str]) -> Jitted[..., Any]:
    """Return the function that `Export.save` wrote: compiled when called, differentiable, batchable, exportable.

    Nothing in the file is executed but its graph, by this library. Arguments come in the containers of the examples; a
    class that this process has not imported is replaced by one with the same fields, and any container with the same
    keys is accepted for it.

    Args:
        path: the file.

    Returns:
        The function, as `wengert.jit` returns it.

    Raises:
        SavedFunctionError: the file is damaged, holds no function, or was written in a newer format.
        OSError: the file cannot be read.

    Example:
        >>> import numpy as np, tempfile, wengert as wg
        >>> path = tempfile.mkdtemp() + "/energy.wg"
        >>> _ = wg.export(lambda x: np.sum(x**2), np.ones(3)).save(path)
        >>> energy = wg.load(path)
        >>> float(energy(np.arange(3.0))), wg.grad(energy)(np.arange(3.0))
        (5.0, array([0., 2., 4.]))
    """
    functions = read(Path(path))

    def function(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree.flatten((args, kwargs))
        for saved in functions:
            ordered = rearranged(leaves, structure, saved.accepted)
            if ordered is not None and all(map(_is_of_type, ordered, saved.types)):
                return saved(ordered)
        raise _misfit(functions, structure, leaves)

    function.__name__ = function.__qualname__ = functions[0].name
    return jit(function, donate=functions[0].donated, flush_subnormals=functions[0].flushes)


def read(path: Path) -> list[Saved]:
    """Return the functions in a file; whatever is wrong with it, the error is `SavedFunctionError`."""
    content = path.read_bytes()
    body, digest = content[:-_DIGEST], content[-_DIGEST:]
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise SavedFunctionError(
            message("load", "the file must be a saved function, complete and unchanged", str(path))
        )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _functions(_Members(archive, len(content)))
    except _NewerFormatError as newer:
        requirement = f"this version reads files up to format {FORMAT}"
        raise SavedFunctionError(
            message("load", requirement, f"{path} of {newer}", "install a newer Wengert")
        ) from None
    except Exception as problem:  # a file is data: rules and containers refuse damage by errors of many kinds
        requirement = f"{path} must hold a function that this version knows"
        raise SavedFunctionError(message("load", requirement, str(problem) or repr(problem))) from None


class _NewerFormatError(Exception):
    """The file has a format that this version does not read."""


class _Members:
    """The members of an archive of a number of bytes, none of which is unpacked to more than it promises."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self._archive = archive
        self._infos = {info.filename: info for info in archive.infolist()}
        if sum(info.compress_size for info in archive.infolist()) > size:
            raise GraphError("members of the archive overlap")

    def text(self, name: str) -> str:
        """Return the text of a member."""
        info = self._infos[name]
        if info.file_size > _longest_text(info.compress_size):
            raise GraphError(f"{name} unpacks to {info.file_size:,} bytes, which no text does")
        return self._archive.read(info).decode()

    def arrays(self, folder: str, types: Sequence[TensorType]) -> tuple[Any, ...]:
        """Return the arrays in a folder, which must have these types; their headers are compared first."""
        if f"{folder}/{len(types)}.npy" in self._infos:
            raise GraphError(f"{folder} must hold {len(types)} arrays")
        return tuple(self._array(f"{folder}/{place}.npy", type_) for place, type_ in enumerate(types))

    def _array(self, name: str, type_: TensorType) -> Any:
        info = self._infos[name]
        count = size(type_.shape) * type_.dtype.itemsize
        with self._archive.open(info) as stream:
            start = io.BytesIO(stream.read(_MOST_HEADER))
            np.lib.format.read_magic(start)
            shape, by_columns, dtype = np.lib.format.read_array_header_1_0(start)
            header = start.tell()
            is_of_type = (shape, dtype.newbyteorder("=")) == (type_.shape, type_.dtype) and not by_columns
            if not is_of_type or info.file_size != header + count:
                got = f"{dtype}{list(shape)} in {info.file_size:,} bytes"
                raise GraphError(f"{name} must hold {type_}, not {got}")
            content = start.read() + stream.read()
        return np.frombuffer(content, dtype).astype(type_.dtype).reshape(shape)


def _longest_text(packed: int) -> int:
    """Return how many bytes a text may have that takes so many in the archive."""
    return _FREE_TEXT + _MOST_PACKED * packed


def _functions(members: _Members) -> list[Saved]:
    head = json.loads(members.text("functions.json"))
    if head["format"] > FORMAT:
        raise _NewerFormatError(f"format {head['format']}, written by Wengert {head['wengert']}")
    if not head["functions"]:
        raise GraphError("the file holds no function")
    functions = [_read(members, number, facts) for number, facts in enumerate(head["functions"], 1)]
    if any(saved.donated != functions[0].donated for saved in functions):
        raise GraphError("the functions must donate the same arguments")
    return functions


def _read(members: _Members, number: int, facts: Any) -> Saved:
    graph = parse(members.text(f"{number}/graph.txt"))
    types = tuple(_type(*stated) for stated in facts["types"])
    cut = len(types)
    if graph.constants or graph.input_types[:cut] != types:
        raise GraphError(f"the graph must take {show(*types)}")
    check_graph(graph)
    constants = members.arrays(f"{number}/constants", graph.input_types[cut:])
    bound = tuple(zip(graph.inputs[cut:], constants, strict=True))
    saved = Saved(
        name=facts["name"],
        graph=replace(graph, inputs=graph.inputs[:cut], constants=bound),
        accepted=from_json(facts["arguments"]),
        returned=from_json(facts["results"]),
        types=types,
        paths=tuple(facts["paths"]),
        fixed={place: _constant(value) for place, value in facts["constant results"]},
        donated=tuple(facts["donated"]),
        flushes=facts.get("flushes subnormals", False),
        arguments=members.arrays(f"{number}/arguments", types),
        results=members.arrays(f"{number}/results", graph.output_types),
    )
    _check_facts(saved)
    return saved


def _type(dtype: Any, shape: Any, weak: Any) -> TensorType:
    type_ = TensorType(np.dtype(dtype).newbyteorder("="), tuple(shape), weak)
    check_type(type_)
    return type_


def _check_facts(saved: Saved) -> None:
    """Raise `GraphError` where names, counts and containers of a function do not fit its graph."""
    count, results = len(saved.types), saved.returned.leaf_count()
    call = [part.kind for part in (saved.accepted, *saved.accepted.children)]
    arguments = saved.accepted.children[0].children if call == [tuple, tuple, dict] else ()
    whole = (*saved.donated, *saved.fixed)
    fits = (
        all(type(text) is str for text in (saved.name, *saved.paths))
        and all(type(number) is int for number in whole)
        and type(saved.flushes) is bool
        and all(type(type_.weak) is bool for type_ in saved.types)
        and saved.accepted.leaf_count() == count == len(saved.paths)
        and results == len(saved.graph.outputs) + len(saved.fixed)
        and all(0 <= place < results for place in saved.fixed)
        and not any(value is None for value in saved.fixed.values())  # None is a container
        and all(0 <= number < len(arguments) for number in saved.donated)
        and len({*saved.donated}) == len(saved.donated)
    )
    if (
        not fits
        or call != [tuple, tuple, dict]
        or not all(type(key) is str for key in saved.accepted.children[1].keys)
    ):
        raise GraphError("names, counts and containers must be those of the graph")
    _, again = tree.flatten(tree.unflatten(saved.returned, range(results)))
    if again != saved.returned:
        raise GraphError("the containers of the results must hold them")


# -- arguments -------------------------------------------------------------------------------------------


def _is_of_type(leaf: Any, expected: TensorType) -> bool:
    """Return whether an argument has the type of the example, or is a number that becomes it exactly."""
    actual = type_of(leaf)
    if actual.shape != expected.shape:
        return False
    return actual.dtype == expected.dtype or (
        actual.weak and np.can_cast(actual.scalar, expected.dtype, "same_kind")
    )


def _converted(leaf: Any, expected: TensorType) -> Any:
    """Return an argument as a number of Python, or as an array, as the example was."""
    actual = type_of(leaf)
    if actual == expected:
        return leaf
    if expected.weak and isinstance(leaf, NUMPY_VALUE):
        return leaf.item()
    if actual.weak and not expected.weak and type(leaf) in (bool, int, float, complex):
        return expected.dtype.type(leaf)
    if expected.weak and type(leaf) in (bool, int):
        return PYTHON_TYPE[expected.dtype.kind](leaf)
    return leaf


def _misfit(functions: Sequence[Saved], structure: tree.Structure, leaves: Sequence[Any]) -> WengertError:
    """Return the error for arguments of other types than the examples."""
    name = functions[0].name
    for saved in functions:
        ordered = rearranged(leaves, structure, saved.accepted)
        for path, type_, leaf in zip(saved.paths, saved.types, ordered or (), strict=ordered is not None):
            if not _is_of_type(leaf, type_):
                kind = ShapeError if type_of(leaf).shape != type_.shape else DtypeError
                return kind(message(name, f"{path} must be {show(type_)}, as the saved example", show(leaf)))
    accepted = " or ".join(tree.show(saved.accepted) for saved in functions)
    return ShapeError(
        message(name, f"the arguments must be in containers like {accepted}", tree.show(structure))
    )
