"""LLVM IR text to object code, and object code to functions in memory."""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import threading
import weakref
from collections.abc import Mapping

from llvmlite import binding as llvm

from wengert.backend import cache
from wengert.backend.target import Target, host, machine
from wengert.errors import WengertError, message

#: LLVM serves one thread at a time.
_LOCK = threading.RLock()
_NUMBERS = itertools.count()
#: What stands between the names of the functions and the object file: the linker wants to know what is looked up.
_END = b"\0"
_NO_SYMBOLS: Mapping[str, int] = {}


class CompileError(WengertError, RuntimeError):
    """A program that LLVM refused, with its reason."""


class _Reporting:
    """Turns LLVM's errors into ours."""

    def __init__(self, requirement: str) -> None:
        self._requirement = requirement

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, RuntimeError) and not isinstance(error, CompileError):
            raise CompileError(message("compile", self._requirement, " ".join(str(error).split()))) from error


class _Module:
    """A verified module in a context of its own, which takes its types and constants along when it is left.

    Whatever LLVM does for us, it does between entering and leaving, and so under the lock.
    """

    def __init__(self, ir_text: str, target: Target) -> None:
        self._text = ir_text
        self._target = target

    def __enter__(self) -> llvm.ModuleRef:
        _LOCK.acquire()
        context = llvm.create_context()
        self._open: list[llvm.ContextRef | llvm.ModuleRef] = [context]
        try:
            with _Reporting("LLVM must accept the program"):
                module = llvm.parse_assembly(self._text, context)
            self._open.append(module)
            module.triple = self._target.triple
            module.data_layout = str(machine(self._target).target_data)
            with _Reporting("the program must be well formed"):
                module.verify()
        except BaseException:
            self.__exit__()
            raise
        return module

    def __exit__(self, *exception: object) -> None:
        while self._open:
            self._open.pop().close()
        _LOCK.release()


def _optimise(module: llvm.ModuleRef, target: Target) -> None:
    """Inline what is marked for it, and simplify each function.

    The program is in vectors already and its loops are unrolled as the schedule wants them, so that the passes which
    guess at that are left out. What remains removes common subexpressions, moves invariants out of loops, and folds
    instructions and branches.
    """
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_vectorization = options.slp_vectorization = False
    options.loop_unrolling = options.loop_interleaving = False
    builder = llvm.create_pass_builder(machine(target), options)
    inliner = llvm.create_new_module_pass_manager()
    inliner.add_always_inliner_pass()
    inliner.add_global_dead_code_eliminate_pass()
    inliner.run(module, builder)
    simplifier = builder.getFunctionPassManager()
    for function in module.functions:
        if not function.is_declaration:
            simplifier.run(function, builder)


def _require_symbols(module: llvm.ModuleRef, symbols: Mapping[str, int]) -> None:
    """Raise an error for a function that is called and that no one provides."""
    process = ctypes.CDLL(None)
    for function in module.functions:
        name = str(function.name)
        given = name in symbols or name.startswith("llvm.")
        if function.is_declaration and not given and not hasattr(process, name):
            raise CompileError(message("compile", "every function must be defined or given", name))


def _exports(module: llvm.ModuleRef) -> bytes:
    """Return the names of the functions that a module offers, a line each."""
    offered = (f for f in module.functions if not f.is_declaration and f.linkage is llvm.Linkage.external)
    return "".join(f"{function.name}\n" for function in offered).encode()


def compile_module(ir_text: str, target: Target, symbols: Mapping[str, int] = _NO_SYMBOLS) -> bytes:
    """Compile a module of LLVM IR to object code.

    Args:
        ir_text: the module. Functions that are only to be inlined are ``private`` or ``internal``.
        target: the processor.
        symbols: the functions that the module calls and the process itself does not export.

    Raises:
        CompileError: LLVM does not accept the module, or it calls a function that there is not.

    Example:
        >>> from wengert.backend.target import host
        >>> code = compile_module("define i64 @twice(i64 %x) { %y = add i64 %x, %x ret i64 %y }", host())
        >>> import ctypes
        >>> library = load(code)
        >>> ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.address("twice"))(21)
        42
    """
    with _Module(ir_text, target) as module:
        _require_symbols(module, symbols)
        _optimise(module, target)
        with _Reporting("LLVM must have instructions for the program"):
            return _exports(module) + _END + machine(target).emit_object(module)


def optimised(ir_text: str, target: Target) -> str:
    """Return a module of LLVM IR as it is after the passes."""
    with _Module(ir_text, target) as module:
        _optimise(module, target)
        return str(module)


def assembly(ir_text: str, target: Target) -> str:
    """Return the instructions that a module of LLVM IR becomes."""
    with _Module(ir_text, target) as module:
        _optimise(module, target)
        with _Reporting("LLVM must have instructions for the program"):
            return machine(target).emit_assembly(module)


class Library:
    """Functions in memory, which stay there for as long as this object lives."""

    def __init__(self, tracker: llvm.ResourceTracker) -> None:
        self._tracker = tracker
        weakref.finalize(self, _unload, tracker).atexit = False

    def address(self, name: str) -> int:
        """Return where a function begins; `KeyError` if the library does not offer it."""
        return int(self._tracker[name])


def _unload(tracker: llvm.ResourceTracker) -> None:
    """Give the memory of a library back."""
    with _LOCK:
        tracker.close()


@functools.cache
def _linker() -> llvm.LLJIT:
    """Return the linker of this process."""
    llvm.initialize_native_target()
    return llvm.create_lljit_compiler(use_jit_link=True, suppress_errors=True)


def load(object_code: bytes, symbols: Mapping[str, int] = _NO_SYMBOLS) -> Library:
    """Link object code into this process.

    Args:
        object_code: what `compile_module` returned, in this process or in another one.
        symbols: addresses of the functions that the process itself does not export.

    Raises:
        CompileError: the object code is damaged, or calls a function that there is not.
    """
    names, _, image = object_code.partition(_END)
    builder = llvm.JITLibraryBuilder().add_object_img(image).add_current_process()
    for name in names.decode().split():
        builder.export_symbol(name)
    for name, address in symbols.items():
        builder.import_symbol(name, address)
    with _LOCK, _Reporting("the object code must link"):
        return Library(builder.link(_linker(), f"wengert{next(_NUMBERS)}"))


def stored_library(name: str, ir_text: str) -> Library:
    """Return functions that are the same in all programs, compiled for this processor, or as they are on the disk.

    Args:
        name: what they are called in the cache.
        ir_text: the module.
    """
    target = host()
    key = cache.key(name, target.identity, ir_text)
    code = cache.default().get(key)
    if code is None:
        code = compile_module(ir_text, target)
        cache.default().put(key, code)
    return load(code)


if hasattr(os, "register_at_fork"):
    # A child must not inherit LLVM, or its lock, from the middle of the work of a thread that it does not have.
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)
