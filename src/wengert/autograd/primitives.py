"""autograd's `primitive` and `defvjp`: functions whose derivatives are a rule for each argument."""

from __future__ import annotations

import functools
import itertools
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from types import MethodType
from typing import Any

import numpy as np

from wengert.autograd.spaces import SparseObject
from wengert.engine.array.substitutes import holds_box
from wengert.engine.boxes import Box, concrete, own
from wengert.engine.control.custom_derivatives import Call, CustomFunction
from wengert.engine.control.values import strong, zeros
from wengert.engine.core import tree
from wengert.engine.core.dtypes import SEQUENCE, dtype_of, is_complex, is_inexact
from wengert.engine.core.errors import ConcreteError, DtypeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.ops.complex import real
from wengert.engine.ops.conversion import cast

Maker = Callable[..., Any] | None


class _Call(Call):
    """One call of a primitive, with its arguments by position and by name."""

    @property
    def pushes(self) -> bool:
        """Whether there is a rule for tangents."""
        return self.function.jvps is not None

    @property
    def pulls(self) -> bool:
        """Whether there are rules for cotangents; without any rule, the error says that these are missing."""
        return self.function.vjps is not None or self.function.jvps is None

    def value(self, *values: Any) -> tuple[Any, ...]:
        """Call the function on values of which no derivative is wanted."""
        arguments, options = self.packed.rebuild(values)
        return self.output(_dense(self.function.fun(*arguments, **options)))

    def _owners(self, wanted: Sequence[Any]) -> list[int]:
        """Return the position of the argument that each operand is a part of; rules have none for one by name."""
        counts = [child.leaf_count() for child in self.packed.structure.children[0].children]
        ends = [0, *itertools.accumulate(counts)]
        owners = [bisect_right(ends, position) - 1 for position in self.packed.positions]
        if any(owner >= len(counts) for owner, flag in zip(owners, wanted, strict=True) if flag):
            problem = f"{self!r}: a rule has no part for an argument by name; pass it by position"
            raise NotImplementedError(problem)
        return owners

    def _applied(self, primals: Sequence[Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        """Return the result on values of older transforms, and the arguments."""
        arguments, options = self.packed.rebuild(primals)
        return _dense(self.function(*arguments, **options)), arguments, options

    def forward(self, primals: Sequence[Any]) -> tuple[tuple[Any, ...], Any]:
        """Return the outputs, and what the rules take."""
        outputs = self.output(self._applied(primals)[0])
        return outputs, (list(primals), list(outputs))

    def backward(self, residuals: Any, cotangents: Sequence[Any], active: Sequence[bool]) -> list[Any]:
        """Apply the rules of the arguments that are active."""
        primals, outputs = residuals
        arguments, options = self.packed.rebuild(primals)
        owners = self._owners(active)
        wanted = sorted({owner for owner, flag in zip(owners, active, strict=True) if flag})
        rules = self.function.vjps
        if rules is None:
            raise NotImplementedError(f"VJP of {self!r} wrt argnums {tuple(wanted)} not defined")
        made = rules(wanted, tree.unflatten(self.structure, outputs), arguments, options)
        terms = dict(zip(wanted, made(tree.unflatten(self.structure, cotangents)), strict=True))
        structures = self.packed.structure.children[0].children
        parts = {
            owner: self.leaves(structures[owner], _dense(term), f"the cotangent of argument {owner}")
            for owner, term in terms.items()
        }
        starts = [0, *itertools.accumulate(structure.leaf_count() for structure in structures)]
        rows = zip(owners, self.packed.positions, self.types, active, strict=True)
        return [
            self._fitted("a cotangent", parts[owner][position - starts[owner]], type_) if flag else None
            for owner, position, type_, flag in rows
        ]

    def tangents(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[tuple[Any, ...], list[Any]]:
        """Apply the rules for tangents of the arguments that move."""
        answer, arguments, options = self._applied(primals)
        outputs, owners = self.output(answer), self._owners([t is not None for t in tangents])
        moving = sorted({owner for owner, t in zip(owners, tangents, strict=True) if t is not None})
        pairs = zip(tangents, self.types, strict=True)
        directions = self.packed.rebuild([zeros(strong(type_)) if t is None else t for t, type_ in pairs])[0]
        tangent = self.function.jvps(moving, [directions[i] for i in moving], answer, arguments, options)
        leaves = self.leaves(self.structure, _dense(tangent), "the tangent")
        pairs = zip(leaves, outputs, strict=True)
        return outputs, [self._fitted("a tangent", t, strong(type_of(x))) for t, x in pairs]

    def _fitted(self, name: str, derivative: Any, expected: TensorType) -> Any:
        """Return a derivative with the type of its value: one number stands for all, a real value has a real one."""
        if derivative is None or not is_inexact(expected.dtype):
            return None
        if shape_of(derivative) == () != expected.shape:
            derivative = np.broadcast_to(derivative, expected.shape)
        if is_complex(dtype_of(derivative)) and not is_complex(expected.dtype):
            derivative = real(derivative)
        if dtype_of(derivative) != expected.dtype:
            derivative = cast(derivative, dtype=expected.dtype)
        return self.checked(name, derivative, expected)


def _dense(value: Any) -> Any:
    return value.dense() if isinstance(value, SparseObject) else value


class Primitive(CustomFunction):
    """A function with rules of its own, which gets plain values."""

    operation = "primitive"
    doc = "a function with a rule for each argument"
    call_type = _Call

    def __init__(self, fun: Callable[..., Any]) -> None:
        super().__init__(fun)
        self.has_rule = True
        self.is_followed, self.is_constant = False, False
        self.vjps: Callable[..., Any] | None = None
        """Called with the active positions, the result and the arguments; returns a function of the cotangent."""
        self.jvps: Callable[..., Any] | None = None
        """Called with the moving positions, their tangents, the result and the arguments; returns the tangent."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function; transforms that follow its arguments use its rules."""
        if self.is_followed or not _are_followed(arguments, options):
            return self.fun(*arguments, **options)
        if self.is_constant:
            return self.fun(*tree.map_tree(getval, arguments), **options)
        return self.bind((arguments, options), [])

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Return the method of an object."""
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the function, such as ``reduce``."""
        if name in ("fun", "__wrapped__"):  # of a copy that is being made
            raise AttributeError(name)
        return getattr(self.fun, name)

    def __reduce__(self) -> Any:
        return self.__qualname__


def _are_followed(arguments: tuple[Any, ...], options: dict[str, Any]) -> bool:
    for value in arguments:
        if isinstance(value, Box):
            return True
    return holds_box(arguments, options)


def primitive(fun: Callable[..., Any]) -> Any:
    """Return a function that transforms take as one operation, with the rules that `defvjp` and `defjvp` state.

    It gets plain arrays and numbers, so it may call any code. Without a rule for tangents forward mode transposes those
    for cotangents, and the reverse, which must then be made of operations that Wengert knows.

    Args:
        fun: a function of arrays, numbers, containers of them, and settings.

    Returns:
        The function, with the same name.

    Example:
        >>> from wengert.autograd import grad
        >>> @primitive
        ... def log1pexp(x):
        ...     return float(np.log1p(np.exp(x)))
        >>> defvjp(log1pexp, lambda ans, x: lambda g: g / (1.0 + np.exp(-x)))
        >>> print(grad(log1pexp)(0.0))
        0.5
    """
    return Primitive(fun)


def notrace_primitive(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that gets the plain values of its arguments, and whose result has no derivative."""

    @functools.wraps(fun)
    def called(*arguments: Any, **options: Any) -> Any:
        return fun(*map(getval, arguments), **options)

    return called


def register_notrace(trace_type: Any, primitive_fun: Any) -> None:
    """Let a primitive have no derivative, in both modes."""
    _ruled("register_notrace", primitive_fun).is_constant = True


def getval(value: Any) -> Any:
    """Return the plain array or number behind a value, or its parts, through all transforms.

    Raises:
        ConcreteError: only the type of the value is known.

    Example:
        >>> from wengert.autograd import grad
        >>> print(grad(lambda x: x * getval(x))(3.0))
        3.0
    """
    if isinstance(value, Box):
        if (plain := concrete(value)) is None:
            raise ConcreteError(message("getval", "only the type of the value is known here", show(value)))
        return own(plain)
    return tree.map_tree(getval, value) if isinstance(value, (*SEQUENCE, dict)) else value


# -- rules -----------------------------------------------------------------------------------------------


def _ruled(operation: str, fun: Any) -> Primitive:
    """Return a primitive that is to have a rule of the user's."""
    fun = getattr(fun, "__func__", fun)
    if not isinstance(fun, Primitive):
        requirement, got = "rules belong to a function made by primitive", getattr(fun, "__name__", repr(fun))
        raise DtypeError(message(operation, requirement, got))
    fun.is_followed = False
    return fun


def defvjp_argnums(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """State the rule of all arguments at once: ``vjpmaker(argnums, ans, args, kwargs)(g)`` returns their cotangents."""
    _ruled("defvjp", fun).vjps = vjpmaker


def defvjp_argnum(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """State one rule for every argument: ``vjpmaker(argnum, ans, args, kwargs)(g)`` returns its cotangent."""

    def made(argnums: Sequence[int], *given: Any) -> Callable[[Any], list[Any]]:
        pulls = [vjpmaker(argnum, *given) for argnum in argnums]
        return lambda g: [pull(g) for pull in pulls]

    defvjp_argnums(fun, made)


def defvjp(fun: Any, *vjpmakers: Maker, argnums: Iterable[int] | None = None) -> None:
    """State the rules of a primitive for cotangents.

    Args:
        fun: the primitive.
        vjpmakers: for each argument ``vjpmaker(ans, *args, **kwargs)``, which returns a function of the cotangent of
            the result; None for an argument whose derivative is zero.
        argnums: the positions of the arguments that have rules; the first ones by default.

    Raises:
        DtypeError: the function was not made by `primitive`.

    Example:
        >>> from wengert.autograd import grad
        >>> product = primitive(lambda x, y: x * y)
        >>> defvjp(product, lambda ans, x, y: lambda g: g * y, lambda ans, x, y: lambda g: g * x)
        >>> print(grad(product)(2.0, 3.0))
        3.0
    """
    makers = dict(zip(itertools.count() if argnums is None else argnums, vjpmakers))  # noqa: B905 (endless)

    def made(argnum: int, ans: Any, args: Any, kwargs: Any) -> Callable[[Any], Any]:
        maker = _rule_of("VJP", fun, makers, argnum)
        return (lambda g: None) if maker is None else maker(ans, *args, **kwargs)

    defvjp_argnum(fun, made)


def _rule_of(kind: str, fun: Any, rules: dict[int, Any], argnum: int) -> Any:
    if argnum not in rules:
        raise NotImplementedError(f"{kind} of {fun.__name__} wrt argnum {argnum} not defined")
    return rules[argnum]


def defjvp_argnums(fun: Any, jvpmaker: Callable[..., Any]) -> None:
    """State the rule of all arguments: ``jvpmaker(argnums, tangents, ans, args, kwargs)`` returns the tangent."""
    _ruled("defjvp", fun).jvps = jvpmaker


def defjvp_argnum(fun: Any, jvpmaker: Callable[..., Any]) -> None:
    """State one rule: ``jvpmaker(argnum, tangent, ans, args, kwargs)`` returns the part of an argument."""

    def made(argnums: Sequence[int], tangents: Sequence[Any], *given: Any) -> Any:
        terms = [jvpmaker(argnum, g, *given) for argnum, g in zip(argnums, tangents, strict=True)]
        terms = [term for term in terms if term is not None]
        return (
            functools.reduce(lambda x, y: tree.map_tree(lambda a, b: a + b, x, y), terms) if terms else None
        )

    defjvp_argnums(fun, made)


def defjvp(fun: Any, *jvpfuns: Any, argnums: Iterable[int] | None = None) -> None:
    """State the rules of a primitive for tangents.

    Args:
        fun: the primitive.
        jvpfuns: for each argument ``jvpfun(tangent, ans, *args, **kwargs)``, which returns its part of the tangent of
            the result; None for an argument whose derivative is zero; "same" for one in which the function is linear.
        argnums: the positions of the arguments that have rules; the first ones by default.

    Example:
        >>> from wengert.autograd import make_jvp
        >>> product = primitive(lambda x, y: x * y)
        >>> defjvp(product, "same", "same")
        >>> print(*make_jvp(product, argnum=1)(2.0, 3.0)(1.0))
        6.0 2.0
    """
    rules = dict(zip(itertools.count() if argnums is None else argnums, jvpfuns))  # noqa: B905 (endless)

    def made(argnum: int, g: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        rule = _rule_of("JVP", fun, rules, argnum)
        if rule is None:
            return None
        return _linear(fun, argnum, g, args, kwargs) if rule == "same" else rule(g, ans, *args, **kwargs)

    defjvp_argnum(fun, made)


def _linear(fun: Any, argnum: int, g: Any, args: Any, kwargs: Any) -> Any:
    return fun(*args[:argnum], g, *args[argnum + 1 :], **kwargs)


def def_linear(fun: Any) -> None:
    """State that a primitive is linear in each argument: its tangents are its own values."""
    defjvp_argnum(fun, lambda argnum, g, ans, args, kwargs: _linear(fun, argnum, g, args, kwargs))
