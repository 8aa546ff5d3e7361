"""Functions as C source in this process: compiled by gcc with all warnings as errors, and called through ctypes."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wengert.compiler.freestanding.function import Function, typed
from wengert.compiler.freestanding.program import parameters
from wengert.engine.core import tree
from wengert.exporting.c_source.files import texts
from wengert.exporting.targets import target_named

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic"]


class Sources:
    """Functions to be written into one folder, and compiled together."""

    def __init__(self, folder: Path, target: str = "host") -> None:
        self.folder = folder
        self.target = target_named(target)
        self.functions: dict[str, Function] = {}

    def add(self, fun: Callable[..., Any], args: Sequence[Any], name: str = "") -> str:
        """Write a function for arguments like some examples, and return its name."""
        name = name or f"f{len(self.functions)}"
        function = typed(fun, args, {})
        _, contents = texts({name: function}, name, self.target, fun)
        for file, text in contents.items():
            (self.folder / file).write_text(text)
        self.functions[name] = function
        return name

    def compiled(self, *flags: str, compiler: str = "gcc") -> Callable[..., Any]:
        """Compile all; return ``call(name, *args)``, which gives the leaves of the results or raises the error."""
        files = [self.folder / f"{name}.c" for name in self.functions]
        library = self.folder / "all.so"
        command = [compiler, *STRICT, *(flags or ["-O1"]), "-shared", "-fPIC", *files, "-o", library, "-lm"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:5000]
        loaded = ctypes.CDLL(str(library))
        return lambda name, *args: self._call(loaded, name, args)

    def _call(self, library: Any, name: str, args: Sequence[Any]) -> list[Any]:
        function = self.functions[name]
        given = tree.leaves(args)
        types = [leaf.type for leaf in function.arguments]
        arguments = [np.array(x, t.dtype, order="C") for x, t in zip(given, types, strict=True)]
        results = [
            arguments[function.places[n]]
            if n in function.places
            else np.zeros(leaf.type.shape, leaf.type.dtype)
            for n, leaf in enumerate(function.results)
        ]
        arrays = dict(zip([leaf.name for leaf in function.arguments], arguments, strict=True))
        arrays |= dict(zip([leaf.name for leaf in function.results], results, strict=True))
        passed = [ctypes.c_void_p(arrays[leaf.name].ctypes.data) for leaf, _ in parameters(function)]
        header = (self.folder / f"{name}.h").read_text()
        work = re.search(r"struct \w+ \{(.*?)\};", header, re.DOTALL)
        size = sum(map(int, re.findall(r"\[(\d+)\]", work[1]))) if work else 0
        memory = np.full(size + 1, np.nan)
        passed += [ctypes.c_void_p(memory.ctypes.data)] * bool(work)
        code = getattr(library, name)(*passed)
        if code:
            explain = getattr(library, f"{name}_error")
            explain.restype = ctypes.c_char_p
            raise RuntimeError(explain(code).decode())
        return results
