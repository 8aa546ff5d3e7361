"""LLVM IR text to object code, and object code to functions in memory."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import re
import struct
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, cast

from wengert.compiler.llvm import disk_cache
from wengert.compiler.llvm.binding import llvm
from wengert.compiler.llvm.host import borrowed, host, identity
from wengert.compiler.llvm.ir_builder import CONTROL_FLOW
from wengert.compiler.llvm.llvmlite_lock import TURN, in_own_context
from wengert.engine.core.errors import WengertError, message
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.machine.target import Target

_NUMBERS = itertools.count()
#: The header of an object file: the length of the names of its functions, for the linker, and of the file.
_HEAD = struct.Struct("<QQ")
_FUNCTION = re.compile(r"^\s*(define|declare)(?: (internal|private))?\b[^@\n]*@([\w.$-]+)\(", re.MULTILINE)
_WITH_CONTROL_FLOW = re.compile(
    rf"^\s*define\b[^@\n]*@([\w.$-]+)\([^\n]*{CONTROL_FLOW}[^\n]*\n(.*?)^}}", re.MULTILINE | re.DOTALL
)
#: Characters of a function whose loops LLVM unrolls: the time that takes has a bound.
_SHORT = 32_000
_NO_SYMBOLS: Mapping[str, int] = {}
#: Libraries that one linker makes. A linker takes 120 KB, and keeps 8 KB for each library, even a freed one, until it
#: is freed itself.
_GROUP = 16


class CompileError(WengertError, RuntimeError):
    """LLVM refused a program; the message has its reason."""


@contextmanager
def _reporting(requirement: str) -> Generator[None]:
    """Turn LLVM's errors into ours."""
    try:
        yield
    except CompileError:
        raise
    except RuntimeError as error:
        raise CompileError(message("compile", requirement, " ".join(str(error).split()))) from error


@contextmanager
def _module(
    ir_text: str, target: Target, more: Iterable[str] = ()
) -> Generator[tuple[llvm.ModuleRef, llvm.TargetMachine]]:
    """Yield a verified module, in a context that owns its types and constants, and a code generator."""
    with in_own_context(), ExitStack() as opened, borrowed(target) as machine:
        context = llvm.create_context()
        opened.callback(context.close)
        with _reporting("LLVM must accept the program"):
            module = llvm.parse_assembly(ir_text, context)
            for text in more:
                module.link_in(llvm.parse_assembly(text, context))
        opened.callback(module.close)
        module.triple = target.triple
        module.data_layout = str(machine.target_data)
        with _reporting("the program must be well formed"):
            module.verify()
        yield module, machine


class _Functions(NamedTuple):
    """The names of the functions of a module, from its text.

    LLVM would need a few calls for each of them, and after each call a thread has to wait for Python's lock.
    """

    defined: list[str]
    exported: list[str]
    """Those that other modules may call."""
    declared: list[str]

    @classmethod
    def of(cls, ir_text: str) -> _Functions:
        headers: list[tuple[str, str, str]] = _FUNCTION.findall(ir_text)
        return cls(
            [name for keyword, _, name in headers if keyword == "define"],
            [name for keyword, linkage, name in headers if keyword == "define" and not linkage],
            [name for keyword, _, name in headers if keyword == "declare"],
        )


def _optimise(
    module: llvm.ModuleRef, names: Iterable[str], machine: llvm.TargetMachine, ir_text: str
) -> None:
    """Inline the functions that are marked for it, and simplify each function.

    The program is vectorised already and its loops are unrolled as scheduled, so that LLVM's own vectorisers and
    unrollers are left out. The other passes remove common subexpressions, move invariants out of loops, and fold
    instructions and branches. In functions with control flow they also drop conditions that earlier ones imply, and
    loads of what was loaded or stored before. The loops of these are not scheduled, so that LLVM unrolls them if the
    function is short: a processor guesses branches better that have an instruction of their own in each of some turns.
    """
    builder = _pass_builder(machine, 1)
    with _disposing(llvm.create_new_module_pass_manager()) as inliner:
        inliner.add_always_inliner_pass()
        inliner.add_global_dead_code_eliminate_pass()
        inliner.run(module, builder)
    sizes = {name: len(text) for name, text in _WITH_CONTROL_FLOW.findall(ir_text)}
    _simplify(module, [name for name in names if name not in sizes], builder)
    long = [name for name, size in sizes.items() if size > _SHORT]
    short = [name for name, size in sizes.items() if size <= _SHORT]
    if long:
        _simplify(module, long, _pass_builder(machine, 2))
    if short:
        _simplify(module, short, builder)
        with _disposing(llvm.create_new_function_pass_manager()) as unroller:
            unroller.add_loop_unroll_pass()
            _run(unroller, module, short, builder)
        _simplify(module, short, _pass_builder(machine, 3))


def _pass_builder(machine: llvm.TargetMachine, level: int) -> llvm.PassBuilder:
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = options.slp_vectorization = False
    options.loop_unrolling = options.loop_interleaving = False
    return llvm.create_pass_builder(machine, options)


def _simplify(module: llvm.ModuleRef, names: Iterable[str], builder: llvm.PassBuilder) -> None:
    with _disposing(builder.getFunctionPassManager()) as simplifier:
        _run(simplifier, module, names, builder)


def _run(passes: Any, module: llvm.ModuleRef, names: Iterable[str], builder: llvm.PassBuilder) -> None:
    for name in names:
        with contextlib.suppress(NameError):  # inlined everywhere
            passes.run(module.get_function(name), builder)


@contextmanager
def _disposing(passes: Any) -> Generator[Any]:
    """Yield passes, and free their memory afterwards: some 50 KB for a module.

    llvmlite's classes inherit `ObjectRef` first, whose ``_dispose`` does nothing and hides the one that does.
    """
    first: Any = llvm.ffi.ObjectRef
    try:
        yield passes
    finally:
        if type(passes)._dispose is first._dispose:
            hidden = cast("Any", super(first, passes))
            hidden._dispose()
        passes.close()


def _require_symbols(declared: Iterable[str], symbols: Collection[str]) -> None:
    """Raise an error for a function that does not exist."""
    process = ctypes.CDLL(None)
    for name in declared:
        if not (name in symbols or name.startswith("llvm.") or hasattr(process, name)):
            raise CompileError(message("compile", "every function must be defined or given", name))


def compile_module(ir_text: str, target: Target, symbols: Collection[str] = ()) -> bytes:
    """Compile a module of LLVM IR to object code.

    Args:
        ir_text: the module. Functions that are only inlined are ``private`` or ``internal``.
        target: the processor.
        symbols: the functions that the module calls and the process itself does not export.

    Returns:
        The names of the exported functions and the object file, for `load`.

    Raises:
        CompileError: LLVM does not accept the module, or it calls a function that does not exist.

    Example:
        >>> from wengert.compiler.llvm.host import host
        >>> code = compile_module("define i64 @twice(i64 %x) { %y = add i64 %x, %x ret i64 %y }", host())
        >>> import ctypes
        >>> library = load(code)
        >>> ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.address("twice"))(21)
        42
    """
    functions = _Functions.of(ir_text)
    _require_symbols(functions.declared, symbols)
    image = object_file(ir_text, target)
    names = "\n".join(functions.exported).encode()
    return _HEAD.pack(len(names), len(image)) + names + image


def object_file(ir_text: str, target: Target, more: Sequence[str] = ()) -> bytes:
    """Compile modules of LLVM IR to one object file of the target's system, for its linker.

    Internal functions of different modules may have the same names. `CompileError` if LLVM does not accept a module.
    """
    with _module(ir_text, target, more) as (module, machine):
        names: list[str] = [function.name for function in module.functions]
        _optimise(module, names, machine, "\n".join((ir_text, *more)))
        with _reporting("LLVM must have instructions for the program"):
            return machine.emit_object(module)


def _objects(code: bytes) -> Iterator[tuple[list[str], bytes]]:
    """Yield the names of the exported functions and the image of each object file in object code."""
    tail = code
    while True:
        if len(tail) < _HEAD.size:
            raise RuntimeError("it is not complete")
        named, size = _HEAD.unpack_from(tail)
        start = _HEAD.size + named
        names, image, tail = tail[_HEAD.size : start], tail[start : start + size], tail[start + size :]
        if len(image) < size:
            raise RuntimeError("it is not complete")
        yield names.decode().split(), image
        if not tail:
            return


def optimised(ir_text: str, target: Target) -> str:
    """Return a module of LLVM IR after the passes."""
    with _module(ir_text, target) as (module, machine):
        _optimise(module, _Functions.of(ir_text).defined, machine, ir_text)
        return str(module)


def assembly(ir_text: str, target: Target) -> str:
    """Return the assembly of a module of LLVM IR."""
    with _module(ir_text, target) as (module, machine):
        _optimise(module, _Functions.of(ir_text).defined, machine, ir_text)
        with _reporting("LLVM must have instructions for the program"):
            return machine.emit_assembly(module)


class Library:
    """Functions in memory, as long as this object lives."""

    def __init__(self, tracker: llvm.ResourceTracker, linker: llvm.LLJIT) -> None:
        self._tracker = tracker
        self._linker = linker

    def __del__(self) -> None:
        """Free the memory, and after the last library of a linker that of the linker.

        llvmlite does neither when the interpreter ends: workers may still run the code.
        """
        del self._tracker

    def address(self, name: str) -> int:
        """Return the address of a function; `KeyError` if the library does not export it."""
        return int(self._tracker[name])


class _Linkers:
    """Makes a linker for each group of libraries, and holds the newest; libraries hold their own. Used in `TURN`."""

    def __init__(self) -> None:
        self._newest: llvm.LLJIT | None = None
        self._left = 0

    def next(self) -> llvm.LLJIT:
        """Return the linker of the next library."""
        if self._newest is None or not self._left:
            llvm.initialize_native_target()
            self._newest = llvm.create_lljit_compiler(use_jit_link=True, suppress_errors=True)
            self._left = _GROUP
        self._left -= 1
        return self._newest


_LINKERS = _Linkers()


def load(object_code: bytes, symbols: Mapping[str, int] = _NO_SYMBOLS) -> Library:
    """Link the results of `compile_module` into this process, one after the other for modules that call each other.

    ``symbols`` has the addresses of the functions that the process does not export. `CompileError` if the code is
    damaged, or calls a function that does not exist.
    """
    builder = llvm.JITLibraryBuilder().add_current_process()
    for name, address in symbols.items():
        builder.import_symbol(name, address)
    with TURN, _reporting("the object code must link"):
        for names, image in _objects(object_code):
            builder.add_object_img(image)
            for name in names:
                builder.export_symbol(name)
        linker = _LINKERS.next()
        return Library(builder.link(linker, f"wengert{next(_NUMBERS)}"), linker)


def stored_library(name: str, ir_text: str) -> Library:
    """Return functions that all programs share, compiled for this processor or from the disk cache."""
    target = host()
    key = disk_cache.key(name, identity(target), ir_text)
    code = disk_cache.default().get(key)
    if code is not None:
        with contextlib.suppress(CompileError):  # damaged
            return load(code)
    code = compile_module(ir_text, target)
    disk_cache.default().put(key, code)
    return load(code)
