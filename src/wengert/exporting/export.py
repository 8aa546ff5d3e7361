"""`export`: carry a compiled function to places without Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from wengert.compiler.freestanding.function import Function, typed
from wengert.compiler.freestanding.names import check_apart, check_function
from wengert.compiler.freestanding.program import Freestanding, freestanding, parameters
from wengert.compiler.jit import Jitted
from wengert.compiler.llvm.object_code import object_file
from wengert.engine.core.progress import Bar
from wengert.engine.machine.target import Target
from wengert.engine.transforms.staging import evaluate
from wengert.exporting.c_files import write_c
from wengert.exporting.c_source.files import write_source
from wengert.exporting.onnx.model import write_onnx
from wengert.exporting.saved import save
from wengert.exporting.targets import in_the_order_of, target_named
from wengert.exporting.wasm_files import resident, write_wasm


class Export:
    """A function for arguments of certain types, to be written as files. Made by `export`."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self._fun: Jitted[..., Any] | Callable[..., Any] = fun
        self.functions: list[Function] = []

    def add(self, /, *args: Any, **kwargs: Any) -> Export:
        """Add the function for arguments of other types: ``step_2``, ``step_3`` and so on in the files.

        Returns:
            This object.

        Example:
            >>> import numpy as np, wengert as wg
            >>> wg.export(np.sum, np.ones(3)).add(np.ones(100))
            <export of sum for f64[3]; f64[100]>
        """
        self.functions.append(typed(self._fun, args, kwargs))
        return self

    def c(
        self, path: str | Path, *, target: str = "host", like: str | None = None, source: bool = False
    ) -> list[Path]:
        """Write the function as C: a header, an object file, a test program, a description.

        ``export.c("out/step")`` writes four files:

        ==============  =========================================================================================
        step.h          an entry ``int step(const float *x, ..., void *arena)``, C99 and C++
        step.o          the code: it calls no library but ``memcpy`` and ``memset``, allocates nothing, starts no thread
        step_test.c     a program that compares each result at the example arguments, and a directional derivative
        step.json       names, shapes, dtypes, memory and errors for other tools
        ==============  =========================================================================================

        With ``source=True`` it writes ``step.h``, ``step.c`` and ``step_test.c``: C99 that people can read, with loops,
        the user's lines as comments, and no header but ``math.h`` and those of types. Its results are those of the
        object file to rounding. Intermediate arrays lie in a struct of the caller; there is no allocation, recursion
        or variable that outlives a call.

        Parameters stand in the order of the arguments and the results, the items of a dict in the dict's own order.

        Args:
            path: the files without their endings; the last part is the name of the function in C.
            target: the processor: ``host``, ``x86-64-v2``, ``x86-64-v3``, ``x86-64-v4``, ``aarch64``, ``armv7``,
                ``riscv64``, ``cortex-m4f``, ``cortex-m7``, ``cortex-m55``, ``wasm32``, ``macos-arm64``,
                ``windows-x86-64``, or ``triple:cpu:+features``.
            like: the name of another target, in whose order the code does its operations, so that the results of
                both have equal bits.
            source: write source, not an object file; the target only tells whether loops are written for vectors.

        Returns:
            The paths of the files.

        Raises:
            UnsupportedError: an operation calls NumPy or SciPy.
            ArgumentError: no target has this name; the last part of the path is not an identifier of C, is a name of
                its library or that of an argument or result; the function raises an error at the example arguments.

        Example:
            >>> import numpy as np, tempfile, wengert as wg
            >>> folder = tempfile.mkdtemp()
            >>> files = wg.export(wg.grad(lambda x: np.sum(np.sin(x))), np.ones(3)).c(f"{folder}/slope")
            >>> [file.name for file in files]
            ['slope.h', 'slope.o', 'slope_test.c', 'slope.json']
        """
        with Bar("export") as bar:
            stem, processor, programs = self._programs(path, target, like, bar)
            if source:
                bar.stage("source and its test")
                return write_source(programs, stem, self._fun)
            first, *more = (program.text for program in programs)
            bar.stage(f"machine code for {target}")
            code = object_file(first, processor, more)
            bar.stage("files and their test")
            return write_c(programs, code, stem)

    def wasm(self, path: str | Path, *, like: str | None = None) -> list[Path]:
        """Write the function as WebAssembly: a module without imports, and JavaScript that calls it.

        ``export.wasm("web/predict")`` writes ``predict.wasm``, ``predict.mjs`` and ``predict.d.ts``::

            import {load} from "./predict.mjs";
            const predict = await load("predict.wasm");   // in a page, a worker or Node.js
            const {out} = predict({x: new Float32Array(784)});

        The leaves of donated arguments are the state of the module: they begin as the examples, and
        ``predict.arrays`` shows them between calls. The target has vectors of 16 bytes (``simd128``).

        Args:
            path: the files without their endings; the last part is the name of the function.
            like: the name of another target, in whose order the code does its operations.

        Returns:
            The paths of the files.

        Raises:
            MissingExtraError: there is no linker: neither ``wasm-ld`` nor the extra ``wasm``.
            UnsupportedError: an operation calls NumPy or SciPy.
            ArgumentError: the last part of the path is not an identifier of C, or a name of its library.

        Example:
            >>> import numpy as np, tempfile, wengert as wg
            >>> stem = tempfile.mkdtemp() + "/slope"
            >>> files = wg.export(wg.grad(lambda x: np.sum(x**3)), np.ones(3)).wasm(stem)  # doctest: +SKIP
        """
        with Bar("export") as bar:
            stem, processor, programs = self._programs(path, "wasm32", like, bar)
            first, *more = map(resident, programs)
            bar.stage("machine code for wasm32")
            code = object_file(first, processor, more)
            bar.stage("the linker")
            return write_wasm(programs, code, stem)

    def _programs(
        self, path: str | Path, target: str, like: str | None, bar: Bar
    ) -> tuple[Path, Target, list[Freestanding]]:
        """Return the path without an ending, the processor, and each function compiled for it."""
        stem = Path(path)
        check_function(stem.name)
        processor = target_named(target)
        if like is not None:
            processor = in_the_order_of(processor, target_named(like))
        programs: list[Freestanding] = []
        for number, function in enumerate(self.functions, 1):
            name = f"{stem.name}_{number}" if number > 1 else stem.name
            check_apart(name, (leaf.name for leaf, _ in parameters(function)))
            bar.stage(f"compile {name}")
            programs.append(freestanding(function, name, processor))
        return stem, processor, programs

    def save(self, path: str | Path) -> Path:
        """Write the function as one file that `wengert.load` reads, in any process with Wengert.

        The file holds the graph as text, the containers as JSON, and constants as ``.npy``; no pickle, no code.

        Args:
            path: the file; its name usually ends in ``.wg``.

        Returns:
            The path.

        Raises:
            UnsupportedError: an operation is a Python function: a custom rule of a derivative.
            ArgumentError: a key of a dict or a setting of a dataclass cannot be written as JSON.
            OSError: the file cannot be written; an earlier file stays unchanged.

        Example:
            >>> import numpy as np, tempfile, wengert as wg
            >>> path = wg.export(np.tanh, np.ones(3)).save(tempfile.mkdtemp() + "/tanh.wg")
            >>> wg.load(path)(np.zeros(3))
            array([0., 0., 0.])
        """
        with Bar("export") as bar:
            bar.stage("results at the example arguments")
            with np.errstate(all="ignore"):
                results = [evaluate(function.traced, *function.values) for function in self.functions]
            bar.stage(f"write {path}")
            save(self.functions, results, Path(path))
        return Path(path)

    def onnx(self, path: str | Path) -> list[Path]:
        """Write the function as an ONNX model of opset 21, which onnxruntime and other runtimes carry out.

        Inputs and outputs have the names of the leaves: ``params_w``, ``out_0``; a result that replaces a donated
        argument is ``params_w_out``. ONNX's checker, with its inference of shapes, has accepted the model. Gradients
        and training steps are models, too. Matrix products are ``MatMul``, convolutions ``Conv`` and
        ``ConvTranspose``, loops ``Scan`` and ``Loop``, branches ``If``. A model raises no errors: an index that is
        out of range is the runtime's concern, and the factor of a matrix that is not positive definite is NaN.

        Args:
            path: the file; further functions of `add` are in ``predict_2.onnx`` and so on beside it.

        Returns:
            The paths of the files.

        Raises:
            UnsupportedError: an operation has no form in ONNX; no file is written.
            MissingExtraError: the package onnx is not installed: ``pip install 'wengert[onnx]'``.

        Example:
            >>> import numpy as np, tempfile, wengert as wg
            >>> folder = tempfile.mkdtemp()
            >>> files = wg.export(wg.grad(lambda x: np.sum(np.sin(x))), np.ones(3)).onnx(
            ...     f"{folder}/slope.onnx"
            ... )
            >>> [file.name for file in files]
            ['slope.onnx']
        """
        first = Path(path)
        stems = (f"{first.stem}_{n}" if n > 1 else first.stem for n in range(1, len(self.functions) + 1))
        with Bar("export") as bar:
            bar.stage("ONNX and its checker")
            return write_onnx(list(zip(map(first.with_stem, stems), self.functions, strict=True)))

    def __repr__(self) -> str:
        types = "; ".join(
            ", ".join(str(leaf.type) for leaf in function.arguments) for function in self.functions
        )
        return f"<export of {self.functions[0].name} for {types}>"


def export(fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Export:
    """Trace a function for arguments like some examples, to carry it to where Python is not.

    Gradients and whole training steps leave as well as predictions: everything that `wengert.jit` compiles to native
    code. The examples give types, and the tests that are written with the code.

    Args:
        fun: a function that `wengert.jit` accepts, or one that it returned. The leaves of donated arguments
            (``wengert.jit(step, donate=0)``) are read and written in place where the function returns a container
            like it: a training step updates its state.
        *args: example arguments: arrays, numbers and containers of them.
        **kwargs: example arguments by name.

    Returns:
        An object with a method for each kind of file.

    Raises:
        DtypeError: an argument is neither array nor number.
        ConcreteError: the trace needs the value of an argument.
        ArgumentError: the function depends on a value of another transform.

    Example:
        >>> import numpy as np, wengert as wg
        >>> wg.export(wg.value_and_grad(lambda x: np.sum(x * x)), np.ones(3))
        <export of value_and_grad(<lambda>) for f64[3]>
    """
    return Export(fun).add(*args, **kwargs)
