"""Programs that catch the error of a conversion: they give NumPy's numbers, or an error that names their line."""

from __future__ import annotations

import contextlib
import copy
import math
import pprint
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import ConcreteError, LostDerivativeError

Program = Callable[[Any], Any]
AT = 3.0
VALUES: dict[str, Callable[[Program], Any]] = {
    "grad": lambda f: wg.value_and_grad(f)(AT)[0],
    "jvp": lambda f: wg.jvp(f, (AT,), (1.0,))[0],
    "grad of grad": lambda f: wg.value_and_grad(lambda x: wg.value_and_grad(f)(x)[0])(AT)[0],
    "jet": lambda f: wg.jet(f, (AT,), ((1.0, 0.0),))[0],
    "vmap": lambda f: wg.vmap(f)(np.full(2, AT))[0],
    "jit": lambda f: wg.jit(f)(AT),
    "jit of grad": lambda f: wg.jit(wg.value_and_grad(f))(AT)[0],
}
every_transform = pytest.mark.parametrize("transform", VALUES)


def test_numbers_of_a_program_that_needs_none_are_those_of_numpy() -> None:
    def program(x: Any) -> Any:
        try:
            scale = float(x)
        except TypeError:
            scale = 100.0
        return x * scale

    for name, value_of in VALUES.items():
        assert value_of(program) == AT * AT, name
    assert wg.grad(program)(AT) == 2 * AT


def by_except(x: Any) -> Any:
    try:
        return x * int(x)
    except TypeError:
        return x


def by_bare_except(x: Any) -> Any:
    try:
        return x * int(x)
    except:  # noqa: E722
        return x


def by_suppress(x: Any) -> Any:
    with contextlib.suppress(ValueError, TypeError):
        return x * int(x)
    return x


def in_a_generator(x: Any) -> Any:
    def parts() -> Iterator[Any]:
        try:
            yield int(x)
        except TypeError:
            yield 1

    return x * sum(parts())


def in_an_inner_transform(x: Any) -> Any:
    def inner(y: Any) -> Any:
        try:
            return y * int(x)
        except TypeError:
            return y

    return x * wg.grad(inner)(2.0)


def as_another_error(x: Any) -> Any:
    try:
        return x * int(x)
    except TypeError:
        raise ValueError("an integer, please") from None


def among_library_probes(x: Any) -> Any:
    try:
        scale = int(x)
    except TypeError:
        scale = 1
    for _ in range(3):
        assert repr(np.ma.getmask(x)) == repr(np.ma.nomask)
        pprint.pformat(x)
    return x * scale


CATCHING = [
    *(by_except, by_bare_except, by_suppress, in_a_generator, in_an_inner_transform),
    *(as_another_error, among_library_probes),
]


@pytest.mark.parametrize("transform", [name for name in VALUES if name not in ("jit", "vmap")])
@pytest.mark.parametrize("program", CATCHING)
def test_a_lost_number_raises_although_the_program_catches_its_error(
    program: Program, transform: str
) -> None:
    with pytest.raises(
        (LostDerivativeError, ConcreteError), match=r"int\(x\).*the program caught this error"
    ) as problem:
        VALUES[transform](program)
    assert "test_caught_conversions.py:" in str(problem.value)


@pytest.mark.parametrize("program", CATCHING)
def test_a_compiled_program_converts_where_python_does(program: Program) -> None:
    for name in ("jit", "vmap"):
        with contextlib.suppress(ConcreteError):  # of a generator, which is not staged, and of texts
            assert VALUES[name](program) == program(AT)


def test_a_condition_without_a_value_is_staged_although_the_program_catches_its_error() -> None:
    def program(x: Any) -> Any:
        try:
            return x if x > 0 else -x
        except TypeError:
            return -x

    assert wg.grad(program)(AT) == 1.0
    for name in ("vmap", "jit", "jit of grad"):
        assert VALUES[name](program) == AT


def test_an_error_that_the_program_names_is_its_own_affair() -> None:
    def by_name(x: Any) -> Any:
        try:
            return x * int(x)
        except (wg.errors.LostDerivativeError, wg.errors.ConcreteError):
            return 7.0 * x

    def by_context(x: Any) -> Any:
        with contextlib.suppress(wg.WengertError):
            return x * int(x)
        return 7.0 * x

    for program in (by_name, by_context):
        for name, value_of in VALUES.items():
            assert value_of(program) == 7 * AT, name


def test_the_innermost_handler_counts() -> None:
    def program(x: Any) -> Any:
        try:
            try:
                return x * int(x)
            except TypeError:
                return x
        except wg.WengertError:
            return 7.0 * x

    with pytest.raises(LostDerivativeError, match="went on"):
        wg.grad(program)(AT)


def test_what_numpy_refuses_too_is_no_lost_number() -> None:
    def program(x: Any) -> Any:
        try:
            return float(x * np.ones(3))
        except TypeError:
            pass
        try:
            return [1.0, 2.0][x]  # pyright: ignore[reportCallIssue,reportArgumentType]
        except TypeError:
            return x

    for name, value_of in VALUES.items():
        assert value_of(program) == AT, name


def test_probes_of_libraries_do_not_count() -> None:
    def program(x: Any) -> Any:
        assert math.isclose(np.ndim(x), 0)
        assert hasattr(x, "real")
        assert pprint.pformat({"x": x})
        assert not isinstance(copy.copy([x])[0], str)
        return x * 2.0

    for name, value_of in VALUES.items():
        assert value_of(program) == 2 * AT, name


def test_nothing_is_kept_of_a_caught_error() -> None:
    def program(x: Any, fails: bool) -> Any:
        return by_except(x) if fails else x * x

    with pytest.raises(LostDerivativeError):
        wg.grad(program)(AT, True)
    assert wg.grad(program)(AT, False) == 2 * AT
