"""Methods of plain arrays in a second run, as ``A.dot(w)``, and products with pandas' tables, as ``df @ w``.

NumPy's functions and operators leave a box to Wengert. The methods of an array are written in C, and convert it; so
does pandas in ``df @ w``. A copied function has other code, in which ``method(A, "dot")(w)`` stands for ``A.dot(w)``:
the array's own method unless an argument is a box. The arrays stay as they are: their class, identity and memory.

Python compiles this code from the source of the function. If the source is not that of the code, the code stays.
"""

from __future__ import annotations
import __future__

import ast
import dis
import functools
import linecache
import threading
from collections.abc import Iterable, Iterator
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from wengert.engine.array.array import Array
from wengert.engine.boxes import Box
from wengert.engine.core import tree
from wengert.engine.core.by_identity import ByIdentity
from wengert.engine.core.dtypes import NUMPY_SCALAR, NUMPY_VALUE, check_plain
from wengert.engine.core.labelled import is_table, values_of
from wengert.engine.core.parsing import statements
from wengert.engine.transforms.builtin_names import BUILTINS

#: The methods of arrays that convert a box; those that write into the array refuse one, with the line.
METHODS = {
    *("choose", "clip", "compress", "dot", "max", "min"),
    *("prod", "searchsorted", "std", "sum", "take", "var"),
}
#: What calls the two functions in copied code.
_METHOD, _PRODUCT = "__wengert_method__", "__wengert_product__"
#: The flags of code that was compiled with features of later versions.
FEATURES = [getattr(__future__, name).compiler_flag for name in __future__.all_feature_names]


# -- what copied code calls ------------------------------------------------------------------------------


def method(owner: Any, name: str) -> Any:
    """Return an attribute of an object; a method of a plain array that takes boxes.

    Example:
        >>> method(np.arange(3.0), "dot")(np.ones(3))
        np.float64(3.0)
    """
    attribute = getattr(owner, name)
    if isinstance(owner, Box) or name not in METHODS:
        return attribute
    if isinstance(owner, NUMPY_VALUE):
        is_own = isinstance(owner, NUMPY_SCALAR) or getattr(type(owner), name) is getattr(np.ndarray, name)
        return functools.partial(_call, owner, name) if is_own and owner.dtype.kind in "biufc" else attribute
    is_product = name == "dot" and is_table(type(owner))
    return functools.partial(product, owner) if is_product else attribute


def _call(owner: Any, name: str, /, *arguments: Any, **options: Any) -> Any:
    """Call a method of an array, or that of a box if an argument is or contains one.

    The array itself is the operand, not a box of it: what a tape keeps is then safe from later writes.
    """
    if not any(isinstance(leaf, Box) for leaf in tree.leaves((arguments, options))):
        return getattr(owner, name)(*arguments, **options)
    check_plain(name, owner)
    return getattr(Array, name)(owner, *arguments, **options)


def product(left: Any, right: Any) -> Any:
    """Return ``one @ other``; pandas' tables give their values to boxes.

    Example:
        >>> product(np.ones(3), np.arange(3.0))
        np.float64(3.0)
    """
    if isinstance(right, Box) and is_table(type(left)):
        return values_of(left) @ right
    return left @ right


BUILTINS.update({_METHOD: method, _PRODUCT: product})


# -- copied code -----------------------------------------------------------------------------------------


_lock = threading.Lock()
#: The instruction of ``a @ b`` and its argument.
_MATMUL = next(
    (step.opcode, step.arg)
    for step in dis.get_instructions(compile("a @ b", "", "eval"))
    if step.opname == "BINARY_OP"
)


def calling_methods(code: CodeType, scope: dict[str, Any]) -> CodeType:
    """Return the code of a copied function, which calls `method` and `product` where it may need them."""
    return _made.of(code, scope) or code


#: By identity, because Python compares code without its file.
_made = ByIdentity(lambda code, scope: code_from_source(code, scope) if _may_need(code) else None)


def _may_need(code: CodeType) -> bool:
    """Return whether code names a method of arrays, or multiplies by ``@``."""
    steps = zip(code.co_code[::2], code.co_code[1::2], strict=True)
    return (
        not METHODS.isdisjoint(code.co_names)
        or any(step == _MATMUL for step in steps)
        or any(map(_may_need, _inner(code)))
    )


def _inner(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def code_from_source(code: CodeType, scope: dict[str, Any]) -> CodeType | None:
    """Return the code with the calls; None if the source does not give the code that Python runs."""
    lines = tuple(linecache.getlines(code.co_filename, scope))
    try:
        with _lock:
            pairs = [*_source(code.co_filename, lines).codes(code, scope)]
        return made_for(code, pairs)
    except (SyntaxError, ValueError, RecursionError):
        return None


def made_for(code: CodeType, pairs: Iterable[tuple[CodeType, CodeType]]) -> CodeType | None:
    """Return the code that was made for the user's own; None if no source gives that, instruction by instruction.

    Args:
        code: the user's own.
        pairs: code that the source gives, with the code that was made for it.
    """
    for users, made in pairs:
        is_same = users == code and users.co_linetable == code.co_linetable
        if is_same and made.co_freevars == code.co_freevars:
            return made
    return None


@functools.lru_cache(maxsize=16)
def _source(filename: str, lines: tuple[str, ...]) -> _Source:
    return _Source(filename, "".join(lines))


class _Source:
    """The statements of a file, of which each is compiled once as it is, and once with the calls."""

    def __init__(self, filename: str, text: str) -> None:
        self._filename = filename
        self._statements = statements(text)
        self._imports = [node for node in self._statements if imports(node)]
        """Python compiles a call of an attribute otherwise if the name of its object is imported."""
        self._pairs: dict[int, list[tuple[CodeType, CodeType]]] = {}

    def codes(self, code: CodeType, scope: dict[str, Any]) -> Iterator[tuple[CodeType, CodeType]]:
        """Yield the functions in the statements that hold the first line of code, as they are and with the calls."""
        for number, node in enumerate(self._statements):
            first = min([node.lineno, *(part.lineno for part in getattr(node, "decorator_list", ()))])
            if first <= code.co_firstlineno <= (node.end_lineno or first):
                if number not in self._pairs:
                    flags = sum(flag for flag in FEATURES if code.co_flags & flag)
                    modules = {name for name, value in scope.items() if isinstance(value, ModuleType)}
                    before = self._compiled(node, flags)
                    after = self._compiled(Calling(modules).visit(node), flags)
                    self._pairs[number] = [*_both(before, after)]
                yield from self._pairs[number]

    def _compiled(self, node: ast.stmt, flags: int) -> CodeType:
        body = [*(statement for statement in self._imports if statement is not node), node]
        return compile(ast.Module(body, []), self._filename, "exec", flags, dont_inherit=True)


def imports(node: ast.stmt) -> bool:
    """Return whether a statement, which is not a function or class, contains an import."""
    is_scope = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    return not is_scope and any(isinstance(part, (ast.Import, ast.ImportFrom)) for part in ast.walk(node))


def _both(before: CodeType, after: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    yield before, after
    for left, right in zip(_inner(before), _inner(after), strict=True):
        yield from _both(left, right)


class Calling(ast.NodeTransformer):
    """Put calls of `method` and `product` in the place of methods and products.

    Args:
        modules: names that stand for modules, whose functions are not methods.
    """

    def __init__(self, modules: set[str]) -> None:
        self._modules = modules

    def visit_Call(self, node: ast.Call) -> Any:
        """Keep a method whose arguments name nothing: none is a box."""
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        if isinstance(node.func, ast.Attribute) and not any(map(_names, arguments)):
            node.func.value = self.visit(node.func.value)
            return node
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Replace a method that is read."""
        self.generic_visit(node)
        is_module = isinstance(node.value, ast.Name) and node.value.id in self._modules
        if node.attr not in METHODS or is_module or not isinstance(node.ctx, ast.Load):
            return node
        return _call_of(node, _METHOD, node.value, ast.Constant(node.attr))

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        """Replace a matrix product."""
        self.generic_visit(node)
        return _call_of(node, _PRODUCT, node.left, node.right) if isinstance(node.op, ast.MatMult) else node


def _names(node: ast.expr) -> bool:
    return any(isinstance(part, (ast.Name, ast.Starred)) for part in ast.walk(node))


def _call_of(node: ast.expr, name: str, *arguments: ast.expr) -> ast.expr:
    call = ast.Call(ast.Name(name, ast.Load()), [*arguments], [])
    for part in (call.func, *arguments[-1:], call):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, node)
    return call
