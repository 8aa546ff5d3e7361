"""Hints for operations that a value inside a transform does not support, made from the user's own line.

Python and NumPy convert a value to a number without a reason: ``math.sin(x)``, ``np.zeros(n)`` and ``range(n)`` all
arrive as a conversion. The source of the user's line shows the reason.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import dis
import math
import re
import sys
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from wengert.engine.array.operators import FUNCTIONS
from wengert.engine.array.substitutes import (
    CALLERS,
    FAMILY,
    SUBSTITUTES,
    class_name,
    family_name,
    name_of_substitute,
    substitute_for,
)
from wengert.engine.boxes import RUNNING, Box
from wengert.engine.core.dtypes import SEQUENCE, WITHOUT_MASK
from wengert.engine.core.errors import OTHERWISE, calls_inside, methods_inside, public_module, user_frame
from wengert.engine.core.labelled import is_labelled
from wengert.engine.core.parsing import expression_of
from wengert.engine.ops.elementwise import UFUNCS

#: Replacements for functions of SciPy and of `math`, by name; `wengert.special` fills it.
INSTEAD: dict[str, str] = {}
_VARIABLE = "write wg.grad(f)(x), or make x a wg.Variable"
#: Hints for attributes of other libraries' arrays.
ATTRIBUTES = {
    "at": "write x[i] = v or x[i] += v: it changes x as NumPy does",
    "detach": "write wg.stop_gradient(x)",
    "backward": _VARIABLE,
    "requires_grad_": _VARIABLE,
    "numpy": "leave x as it is, or write wg.stop_gradient(x) for its values alone",
    "unsqueeze": "write np.expand_dims(x, axis)",
    "permute": "write x.transpose(axes)",
    "block_until_ready": "leave it out: calls return when they are finished",
    "resize": "write y = x[:n] for fewer elements, or np.pad(x, (0, n)) for more",
    "view": "write x.astype(dtype) to convert it, wg.stop_gradient(x).view(dtype) for its memory",
    "mm": "write x @ y",
    "pow": "write x**n",
    "zero_": "write x[...] = 0",
    "contiguous": "leave it out",
    **dict.fromkeys(("cuda", "cpu", "to", "device_put"), "leave it out: programs run on the processor"),
    **dict.fromkeys(("float", "double"), "write x.astype(np.float64), or np.float32"),
    **dict.fromkeys(
        ("data", "ctypes", "strides", "tofile", "byteswap", "setflags", "base"),
        "use the memory of wg.stop_gradient(x), or of an array outside",
    ),
}


def instead_of_attribute(name: str) -> str:
    """Return a hint for an attribute that arrays lack, as those of other libraries' arrays; else an empty string."""
    if name in ATTRIBUTES:
        return ATTRIBUTES[name]
    function = getattr(np, name, None)
    rest = "" if getattr(function, "nin", 2) == 1 else ", ..."
    return f"write np.{name}(x{rest})" if _works_on_boxes(function) else ""


_OF_MATH = {
    "pow": "np.power",
    "fsum": "np.sum",
    "dist": "np.linalg.norm of the difference",
    "factorial": "np.exp(wengert.special.lgamma(n + 1))",
}
_UNLIKE_NUMPYS = {"remainder"}
_NOTHING = object()
_PACKAGES = {"scipy": "SciPy", "sklearn": "scikit-learn"}
_SIZE = "a size must be known: name it in static_argnums of wg.jit, or take it from a shape, such as len(x)"
#: The hint for a range with an unknown end or step.
RANGE = f"write start + step * np.arange(n) for a known n; {_SIZE}"
_STATIC = r"name (\w+) in static_argnums of wg\.jit"
_AS_IT_IS = "leave an array as it is, or write wengert.numpy.asarray, which also takes lists of values"
_OF_SIZE = """zeros ones empty eye identity tri linspace logspace geomspace tile repeat reshape resize broadcast_to
    split array_split indices"""
_CONVERTING = "asarray asanyarray ascontiguousarray asfortranarray require"
_EQUATION = (
    "write wg.implicit.root, fixed_point or minimum, with the derivatives of the implicit function theorem: solver= "
    "takes one of SciPy's, except in wg.jit and wg.vmap"
)
_SPARSE = (
    "place followed elements by a coo, csr, csc, dia or bsr class, diags, bmat or block_diag, which follow them, "
    "or keep them in an array: wg.sparse.solve(pattern, b, data=x) solves (docs/sparse.md)"
)
_OWN = "the functions of wengert.numpy and wengert.special"
#: The modules whose functions of NumPy's names mean the same as NumPy's.
_SAME_NAMES = ("scipy.special", "scipy.linalg", "scipy.fft")
#: Hints for functions, or for all functions of a module, that compute with plain arrays.
_OF_ROOMS = {
    **{f"scipy.integrate.{name}": f"write wg.integrate.{name}" for name in ("quad", "cubature", "solve_ivp")},
    "scipy.integrate": "write wg.integrate.quad, cubature or solve_ivp",
    "scipy.optimize.curve_fit": "write wg.optimize.curve_fit, whose estimates have derivatives",
    "scipy.optimize.least_squares": "write wg.optimize.levenberg_marquardt, or wg.optimize.curve_fit for data",
    "scipy.optimize": _EQUATION,
    "scipy.sparse.linalg": "write wg.sparse.solve for a sparse matrix, wg.linear_solve where a function multiplies",
    "scipy.sparse": _SPARSE,
    "scipy.linalg": "write the function of np.linalg or wengert.scipy.linalg",
    "scipy.spatial": "find neighbours of wg.stop_gradient(x), and take these elements of x",
    "numpy.ma": "write np.where(mask, a, b), or where=mask in np.sum and its like",
    "numpy.random": "draw standard numbers and scale them, or write wengert.random, which draws by keys",
}
_OF_NUMPY = {
    **dict.fromkeys(_OF_SIZE.split(), _SIZE),
    "arange": RANGE,
    "full": f"write wengert.numpy.full for a value; {_SIZE}",
    **dict.fromkeys(_CONVERTING.split(), _AS_IT_IS),
    "array": "write wengert.numpy.array for np.array, np.stack of a list, x.copy() for a copy",
    **dict.fromkeys(
        ("nditer", "ndenumerate", "broadcast"),
        "write operations on whole arrays, or x[i] for i in np.ndindex(x.shape)",
    ),
    **dict.fromkeys(("asmatrix", "bmat", "matrix"), "write arrays of two axes, and np.block to join them"),
    "as_strided": "write np.lib.stride_tricks.sliding_window_view(x, n), or x[i] with an array of positions",
    "vectorize": "write wg.vmap(f)(x), f of whole arrays, or wengert.numpy.vectorize(f)",
}
_OF_PYTHON = {
    "float": "leave x as it is, or write x.astype(float); convert it outside, where its number is known",
    "int": "write x.astype(int); for a size that must be known, name it in static_argnums of wg.jit",
    "range": "write wg.fori_loop(0, n, body, init) for the loop, or name n in static_argnums of wg.jit",
    "max": "write np.max for max, np.maximum of two values",
    "min": "write np.min for min, np.minimum of two values",
    "sorted": "write np.sort for sorted",
    "any": "write np.any for any",
    "all": "write np.all for all",
    "complex": "write a + 1j * b for complex(a, b), x.astype(complex) for complex(x)",
}
#: The hint for a slice with an unknown end.
SLICE = (
    "the length of a slice must be known: write x[start + np.arange(length)] for a part that starts anywhere, "
    "np.where(np.arange(len(x)) < n, x, 0) for the first n, or name n in static_argnums of wg.jit"
)
_ASSIGNED = (
    "make the array with wengert.numpy.zeros, with wengert.numpy.array of a plain one, or with np.zeros_like(x) of a "
    "differentiated or traced value x (an argument, or a value computed from it)"
)
#: Methods that write into an array.
_WRITING = ("fill", "put", "__setitem__")
_JOINED = (
    "write np.concatenate for np.r_, np.column_stack for np.c_, or wengert.numpy.r_ and wengert.numpy.c_"
)
_SUBSCRIPT = "write wengert.numpy.take(x, i), or wengert.numpy.array(x)[i], for a plain array or a list x"
_SAVED = (
    "a value inside a transform cannot be written to a file",
    "save its numbers: wg.stop_gradient(x)",
    "return it and save the result",
)
_COUNTED = (
    "this works on plain integers, which have no derivative",
    "pass the numbers: wg.stop_gradient(x)",
    "compute it outside and pass the result as an argument",
)
_OF_INTEGERS = """gcd lcm bitwise_count packbits unpackbits ix_ ravel_multi_index unravel_index busday_count
    busday_offset is_busday datetime_as_string isnat"""
#: Functions without derivatives: the requirement, the hint for known values, and the hint for others.
_WITHOUT_DERIVATIVES = {
    **dict.fromkeys(("save", "savez", "savez_compressed", "savetxt"), _SAVED),
    **dict.fromkeys(_OF_INTEGERS.split(), _COUNTED),
}


def without_derivative(function: Any, has_value: bool) -> tuple[str, str] | None:
    """Return requirement and hint for a NumPy function that cannot have derivatives; None for others."""
    name = getattr(function, "__name__", "")
    if function is not getattr(np, name, None) or name not in _WITHOUT_DERIVATIVES:
        return None
    requirement, for_known, for_others = _WITHOUT_DERIVATIVES[name]
    return requirement, for_known if has_value else for_others


def advised(hint: str) -> str:
    """Return a hint as it is in a traced graph; elsewhere without static arguments, which only `jit` has."""
    return hint if RUNNING.traced else re.sub(_STATIC, r"let \1 be a number that no transform follows", hint)


def way_out(operation: str) -> str:
    """Return a replacement for the operation of the user's line, or an empty string.

    Args:
        operation: ``index``, or the name of a conversion.
    """
    return advised(_way_out(operation))


def _way_out(operation: str) -> str:
    frame = user_frame()
    if frame is None:
        return ""
    if _is_masked(frame):
        return f"numpy.ma computes with plain arrays; for a {np.ma.MaskedArray.__name__}, {WITHOUT_MASK}"
    expression = expression_of(frame)
    if isinstance(expression, ast.Subscript) and operation == "index" and _is_slice(expression.slice, frame):
        return SLICE
    if dis.opname[frame.f_code.co_code[frame.f_lasti]] in ("STORE_SUBSCR", "STORE_SLICE"):
        return _ASSIGNED
    if isinstance(expression, ast.Call):
        return _instead_of_call(expression, frame, operation)
    if isinstance(expression, ast.Subscript):
        container = value_of(expression.value, frame)
        return _JOINED if container is np.r_ or container is np.c_ else _SUBSCRIPT
    return ""


def _is_masked(frame: FrameType) -> bool:
    """Return whether the user's line called a function of `numpy.ma` with a masked array."""
    inner: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while inner is not None and inner is not frame:
        is_inside = inner.f_globals.get("__name__", "").startswith("numpy.ma")
        if is_inside and any(isinstance(value, np.ma.MaskedArray) for value in inner.f_locals.values()):
            return True
        inner = inner.f_back
    return False


def _is_slice(subscript: ast.expr, frame: FrameType) -> bool:
    return any(
        isinstance(value_of(part, frame), slice)
        or (isinstance(part, ast.Call) and value_of(part.func, frame) is slice)
        or _has_computed_end(part)
        for part in ast.walk(subscript)
    )


def _has_computed_end(part: ast.AST) -> bool:
    ends = (part.lower, part.upper, part.step) if isinstance(part, ast.Slice) else ()
    return any(end is not None and not isinstance(end, ast.Constant) for end in ends)


def value_of(name: ast.AST, frame: FrameType, otherwise: Any = None) -> Any:
    """Return the value of a name such as ``x``, ``np.linalg.norm`` or ``stats.norm.pdf``; no code of the user's runs.

    A family of distributions stands for the distributions that its calls return.

    Args:
        name: the expression.
        frame: where it is evaluated.
        otherwise: the result for most other expressions.
    """
    if isinstance(name, ast.Name):
        for names in (frame.f_locals, frame.f_globals, vars(builtins)):
            with contextlib.suppress(KeyError):  # the globals of a second run look names up elsewhere
                return names[name.id]
    if isinstance(name, ast.Attribute):
        owner = value_of(name.value, frame)
        if isinstance(owner, ModuleType) or _is_family(owner):
            return getattr(owner, name.attr, None)
        kind: type[object] = owner.__class__
        if kind.__module__.startswith(("numpy.", "scipy.")):  # such as a random generator
            return getattr(kind, name.attr, None)
        with contextlib.suppress(AttributeError):
            return object.__getattribute__(owner, "__dict__").get(name.attr, otherwise)
    if isinstance(name, ast.Call):
        family = value_of(name.func, frame)
        return family if _is_family(family) else otherwise
    return otherwise


def _is_family(value: Any) -> bool:
    """Return whether a value is one of SciPy's families of distributions, or one of its distributions."""
    module, name = class_name(value)
    return module.startswith("scipy.stats.") and name.endswith((FAMILY, "_frozen"))


def _instead_of_call(call: ast.Call, frame: FrameType, operation: str) -> str:
    if operation != "index" and (hint := _instead_of_method(call, frame)):
        return hint
    function = value_of(call.func.func if isinstance(call.func, ast.Call) else call.func, frame)
    function = np.vectorize if isinstance(function, np.vectorize) else function
    inside = getattr(function, "__wrapped__", None)
    function = inside if _works_on_boxes(inside) else function  # `wengert.numpy` wraps NumPy's functions
    name = getattr(function, "__name__", "")
    is_creation = getattr(function, "__module__", "") == "wengert.numpy.creation"
    if function is getattr(builtins, name, _NOTHING):
        return _OF_PYTHON.get(name, "")
    if isinstance(function, type) and issubclass(function, np.generic):
        return f"leave x as it is, or write x.astype(np.{name})"
    if is_creation or any(
        function is getattr(module, name, _NOTHING) for module in (np, np.lib.stride_tricks)
    ):
        if name in _WITHOUT_DERIVATIVES:
            return _WITHOUT_DERIVATIVES[name][1]
        return _OF_NUMPY.get(name) or _of_list(f"numpy.{name}", function, call, frame, operation)
    if function is getattr(np.linalg, name, _NOTHING):
        return _of_list(f"numpy.linalg.{name}", function, call, frame, operation)
    if function is getattr(math, name, _NOTHING):
        replacement = _OF_MATH.get(name) or ("" if name in _UNLIKE_NUMPYS else counterpart(name))
        known_only = "write it with NumPy: math computes with known numbers"
        return f"write {replacement} for math.{name}" if replacement else known_only
    return _of_foreign(function)


def _instead_of_method(call: ast.Call, frame: FrameType) -> str:
    """Return a replacement for a method of a plain array, or an empty string."""
    method = call.func
    if not isinstance(method, ast.Attribute):
        return ""
    owner, name = value_of(method.value, frame), method.attr
    if not (owner is None or isinstance(owner, np.ndarray)) or not hasattr(np.ndarray, name):
        return ""
    if name in _WRITING:
        return _ASSIGNED
    if not _works_on_boxes(getattr(np, name, None)):
        return ""
    arguments = (
        [method.value, *call.args] if name != "compress" else [*call.args[:1], method.value, *call.args[1:]]
    )
    called = ast.Call(ast.Name(f"np.{name}"), arguments, call.keywords)
    return f"write {ast.unparse(called)} for {ast.unparse(call)}"


def _of_list(name: str, function: Any, call: ast.Call, frame: FrameType, operation: str) -> str:
    """Return a replacement for a call that passes a list of boxes to a function of arrays, or an empty string."""
    if operation == "index" or not _works_on_boxes(function):
        return ""
    called = name.replace("numpy", "np", 1)
    arguments = [_stacked(argument, frame) for argument in call.args]
    if not any(arguments):  # the source does not show which argument is a list
        arguments[:1] = ["np.stack([...])"]
    shown = ", ".join([argument or "..." for argument in arguments] + ["..."] * bool(call.keywords))
    return (
        f"NumPy does not look into lists: write {called}({shown}), wengert.numpy.array of nested lists; "
        f"wengert.{name} takes lists as they are"
    )


def _stacked(argument: ast.expr, frame: FrameType) -> str:
    """Return the array to pass instead of a list of boxes; an empty string for other arguments."""
    if isinstance(argument, ast.List | ast.Tuple):
        if not any(isinstance(part, ast.Name) for part in ast.walk(argument)):  # of numbers alone
            return ""
        is_nested = any(isinstance(part, ast.List | ast.Tuple) for part in argument.elts)
        return "wengert.numpy.array([...])" if is_nested else "np.stack([...])"
    value = value_of(argument, frame)
    is_list = isinstance(value, SEQUENCE) and any(isinstance(part, Box) for part in value)
    return "np.stack([...])" if is_list or isinstance(argument, ast.ListComp) else ""


def _works_on_boxes(function: Any) -> bool:
    return callable(function) and (function in FUNCTIONS or function in UFUNCS)


def counterpart(*names: str) -> str:
    """Return the full name of the first function among ``names`` that works inside a transform, or an empty string."""
    for name in names:
        if name in INSTEAD:
            return INSTEAD[name]
        for module, prefix in ((np, "np"), (np.linalg, "np.linalg")):
            if _works_on_boxes(getattr(module, name, None)):
                return f"{prefix}.{name}"
    return ""


def instead_of(*names: str) -> str:
    """Return a hint for a function without a derivative, by its names; an empty string without a counterpart."""
    replacement = counterpart(*names)
    return f"write {replacement}" if replacement else ""


def _instead_of_table() -> str:
    """Return a replacement for a table of pandas on the user's line, or an empty string."""
    frame = user_frame()
    expression = frame and expression_of(frame)
    if isinstance(expression, ast.BinOp):
        table = expression.left
    elif isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute):
        table = expression.func.value
    else:
        return ""
    text = ast.unparse(table)
    return (
        f"write {text}.to_numpy() for {text}" if frame and is_labelled(type(value_of(table, frame))) else ""
    )


def instead_of_package(otherwise: str) -> str:
    """Return a hint for a running function of another package; an empty string if none is running."""
    package, running = calls_inside()
    if not package:
        return ""
    if hint := instead_of_distribution():
        return hint
    function = _called()
    if _module_of(function).partition(".")[0] != package and running:
        function = running[-1]  # SciPy wraps its functions: the first behind the wrappers
    replacement = (
        _substitute(function) or _of_same_meaning(function) or _of_room(function) or _instead_of_table()
    )
    name = "" if replacement else _full_name(function)
    place = name and f" in {name}"
    return f"{_PACKAGES.get(package, package)} computes with plain arrays{place}: {replacement or otherwise}"


def instead_of_distribution() -> str:
    """Return a hint for a running method of one of SciPy's distributions that has no rule, or an empty string."""
    running = ((owner, name) for owner, name in methods_inside() if _is_family(owner))
    methods = [(owner, name) for owner, name in running if hasattr(owner, name)]  # no wrappers
    if not methods:
        return ""
    owner, method = methods[-1]
    name = family_name(owner)
    called = f"scipy.stats.{name}" + (f".{method}" if method[0] != "_" else "")
    substitute_for(owner)  # fills the table
    functions = {full: getattr(own, "functions", None) for full, own in SUBSTITUTES.items()}
    families: dict[str, tuple[str, ...]] = {
        full: names
        for full, names in functions.items()
        if names and getattr(SUBSTITUTES[full], "is_listed", True)
    }
    family_methods = functions.get(f"scipy.stats.{name}")
    if method in (family_methods or ()):
        return ""
    room, names = (f"scipy.stats.{name}", family_methods) if family_methods else ("scipy.stats", families)
    others = ", ".join(sorted(full.rpartition(".")[2] for full in names))
    return (
        f"Wengert has no rule for {called}: write its formula with {_OWN}, or take of wengert.{room} {others}"
    )


def instead_of_called(frame: FrameType) -> str:
    """Return what to write for the call of a package's function that a frame evaluates."""
    call = expression_of(frame)
    function = value_of(call.func, frame) if isinstance(call, ast.Call) else None
    package = _module_of(function).partition(".")[0] if function is not None else ""
    hint = (
        (_substitute(function) or _of_same_meaning(function) or _of_room(function))
        if function is not None
        else ""
    )
    return (
        f"{_PACKAGES.get(package, package or 'the package')} computes with plain arrays: {hint or OTHERWISE}"
    )


def _full_name(function: Any) -> str:
    """Return the name by which a program reaches a function, such as ``scipy.stats.entropy``, or an empty string."""
    module, name = _module_of(function), getattr(function, "__name__", "")
    return f"{module}.{name}" if hasattr(sys.modules.get(module), name) else ""


def _module_of(function: Any) -> str:
    """Return the public module of a function, a class or a method."""
    owner = getattr(function, "__objclass__", None) or function
    return public_module(getattr(owner, "__module__", None) or "")


def _of_same_meaning(function: Any) -> str:
    """Return a hint for a function of the same name, from the modules whose names mean the same."""
    return instead_of(getattr(function, "__name__", "")) if _module_of(function) in _SAME_NAMES else ""


def _of_room(function: Any) -> str:
    """Return a hint for a function of a module that has one, by the name of the function or for all of them."""
    module, name = _module_of(function), getattr(function, "__name__", "")
    while module:
        full = f"{module}.{name}"
        if (hint := _OF_ROOMS.get(full) or _OF_ROOMS.get(module)) is not None:
            return f"for {full}, {hint}"
        module = module.rpartition(".")[0]
    return ""


def _of_foreign(function: Any) -> str:
    """Return a hint for a function of a library that is written in C; an empty string for other functions."""
    module, name = _module_of(function), getattr(function, "__name__", "")
    if not name or module.partition(".")[0] not in ("numpy", "scipy") or _works_on_boxes(function):
        return ""
    return (
        _substitute(function)
        or _of_room(function)
        or f"{module}.{name} computes with plain arrays: {OTHERWISE}"
    )


def _substitute(function: Any) -> str:
    """Return a hint for a function of SciPy's of which Wengert has its own; an empty string for others."""
    own = substitute_for(function)
    if own is None or own in CALLERS:
        return ""
    name = name_of_substitute(own)
    return f"write {name}" if name.startswith("wengert.scipy.") else ""


def _called() -> Any:
    frame = user_frame()
    expression = expression_of(frame) if frame else None
    return value_of(expression.func, frame) if isinstance(expression, ast.Call) and frame else None
