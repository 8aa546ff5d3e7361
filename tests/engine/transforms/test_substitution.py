"""Programs with plain imports: values that NumPy, SciPy or `math` would lose are followed in a second run."""

from __future__ import annotations

import functools
import gc
import math
import numbers
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from math import exp
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.linalg as la
import scipy.ndimage
import scipy.sparse.linalg
import scipy.stats
from scipy.linalg import expm
from scipy.spatial.distance import cdist
from scipy.special import log_softmax, logsumexp, softmax
from scipy.stats import gamma, norm

import wengert as wg
from tests.heaps import young_heap as young_heap  # a fixture
from wengert.engine.core.errors import LostDerivativeError
from wengert.engine.transforms import substitution
from wengert.engine.transforms.staging import evaluate

# -- programs of a scientist, in plain NumPy and SciPy -----------------------------------------------------


def into_a_buffer(x: Any) -> Any:
    y = np.zeros(4)
    y[0] = x
    for i in range(1, 4):
        y[i] = y[i - 1] * x + np.sin(x)
    return y[-1]


def from_a_list(x: Any) -> Any:
    return np.array([[x, 1.0], [x * x, x]]) @ np.array([1.0, x])


def of_a_list(x: Any) -> Any:
    return np.mean([x, x**2, 1.0]) + np.linalg.norm([x, 2.0])


def added_to_plain(x: Any) -> Any:
    total = np.zeros(3)
    total += x * np.arange(3.0)
    np.add.at(total, [0, 0], x)
    return total


def named_in_full(x: Any) -> Any:
    return scipy.linalg.expm(x * np.array([[0.0, 1.0], [-1.0, 0.0]]))


FAMILIES = {"normal": (norm, np.array([0.5])), "exponential": (scipy.stats.expon, np.array([2.0]))}


def of_a_default(x: Any, function: Any = expm, *, family: Any = norm) -> Any:
    return function(x * np.eye(2)) + family.logcdf(x)


def of_a_table_with_data(x: Any) -> Any:
    return sum(family.logcdf(x) * data for name, (family, data) in FAMILIES.items() if name == "normal")


def of_a_list_of_families() -> Callable[[Any], Any]:
    families = [scipy.stats.expon, norm]
    return lambda x: sum(family.logsf(x) for family in families)


def of_exponentials(x: Any) -> Any:
    rows = x * np.arange(6.0).reshape(2, 3)
    return logsumexp(rows, axis=1)[0] + softmax(rows)[0] + log_softmax(rows, axis=1)[1]


def of_floats(x: Any) -> Any:
    counts: dict[str, Any] = defaultdict(float)
    counts["a"] += float(np.sum(x * np.ones(2)))
    table = np.array([x, 1], dtype=float).astype(float) + np.zeros(2, float)
    return sum(map(float, table)) * float(np.array(counts["a"])) + float(x > 0)


def of_types(x: Any) -> Any:
    def scaled(value: float, by: float | None = None) -> float:
        return value * (float("2") if by is None else by)

    assert isinstance(1.0, float)
    assert not isinstance(1, float)
    assert issubclass(np.float64, float)
    assert {float: "number"}[(1.0).__class__] == "number"
    assert (2.0).__class__ in (float, complex)
    assert float.fromhex("0x1p1") == 2.0
    return float(scaled(x))


def by_another_name(x: Any) -> Any:
    return la.expm(x * np.eye(2)) + expm(np.full((2, 2), x))


def imported_inside(x: Any) -> Any:
    from math import cos

    import scipy.linalg as inner

    return inner.expm(np.array([[x]]))[0, 0] * cos(x)


def of_math(x: Any) -> Any:
    parts = math.sin(x) + math.atan2(x, 2.0) + exp(x) + math.pow(x, 3) + math.log(x) + math.log(x, 3.0)
    return parts + math.erf(x) + math.lgamma(x) + math.sqrt(x) + math.hypot(x, 1.0) + math.pi


def helper(x: Any) -> Any:
    return la.expm(x * np.ones((2, 2)))


def through_a_function(x: Any) -> Any:
    return helper(x).sum() + KERNELS["second"](x)


def first_kernel(x: Any) -> Any:
    return math.exp(-x)


def second_kernel(x: Any) -> Any:
    return math.exp(-x * x)


KERNELS = {"first": first_kernel, "second": second_kernel}
with_two = functools.partial(lambda a, x: a * math.sin(x), 2.0)


def through_a_partial_function(x: Any) -> Any:
    return with_two(x)


def recursive(x: Any, depth: int = 4) -> Any:
    return math.sin(x) if depth == 0 else recursive(x, depth - 1) * x


def nested(x: Any) -> Any:
    def scaled(y: Any) -> Any:
        return math.exp(y) * x

    return sum(map(scaled, [x, 2 * x]))


def closing_over() -> Callable[[Any], Any]:
    factor = 3.0

    def inner(x: Any) -> Any:
        return math.sin(x) * factor

    def again(x: Any, count: int = 2) -> Any:
        return inner(x) if count == 0 else again(x, count - 1) + inner(x)

    return again


class Oscillator:
    """A model with state, methods that call one another, and every kind of method."""

    def __init__(self, stiffness: float) -> None:
        self.stiffness = stiffness

    def matrix(self, x: Any) -> Any:
        return np.array([[0.0, 1.0], [-self.stiffness * x, 0.0]])

    @property
    def unit(self) -> Any:
        return self.scaled(1.0)

    @staticmethod
    def weight(x: Any) -> Any:
        return math.cos(x)

    @classmethod
    def scaled(cls, factor: float) -> Oscillator:
        return Oscillator(factor)

    def state(self, x: Any) -> Any:
        return la.expm(self.matrix(x)) @ np.array([1.0, x]) * self.weight(x) + self.unit.matrix(x)[1, 0]


class Damped(Oscillator):
    def __init__(self, stiffness: float, damping: float) -> None:
        super().__init__(stiffness)
        self.damping = damping

    def matrix(self, x: Any) -> Any:
        matrix = super().matrix(x)
        matrix[1, 1] = -self.damping * x
        return matrix


@dataclass(frozen=True)
class Kernel:
    length: float

    def __call__(self, x: Any) -> Any:
        points = np.array([[0.0], [1.0], [2.0]]) * x
        return np.exp(-cdist(points, points) / self.length)


MODEL = Damped(2.0, 0.3)
KERNEL = Kernel(1.5)


def of_an_object(x: Any) -> Any:
    return MODEL.state(x)


def of_a_new_object(x: Any) -> Any:
    model = Damped(2.0, 0.3)
    assert isinstance(model, Damped)
    assert isinstance(MODEL, Oscillator)
    return model.state(x)


def of_an_object_that_is_called(x: Any) -> Any:
    return KERNEL(x)


def simpson(x: Any) -> Any:
    grid = np.linspace(0.0, 1.0, 11)
    return scipy.integrate.simpson(np.exp(grid * x), x=grid)


def of_a_polynomial(x: Any) -> Any:
    polynomial = np.poly1d([x, 1.0, x**2])
    assert isinstance(polynomial, np.poly1d)
    return polynomial(2.0) + polynomial.deriv()(x)


def of_distributions(x: Any) -> Any:
    parts = norm.logpdf(x, 0.3, 2.0) + LOG_DENSITY(x) + PRIOR.logpdf(x) + scipy.stats.expon(scale=x).cdf(1.0)
    return parts + norm(x, 1.0).ppf(0.3)


LOG_DENSITY = norm.logpdf
PRIOR = gamma(2.0, scale=1.5)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    program.__name__: program
    for program in (
        *(
            into_a_buffer,
            from_a_list,
            of_a_list,
            added_to_plain,
            named_in_full,
            by_another_name,
            imported_inside,
        ),
        *(
            of_math,
            through_a_function,
            through_a_partial_function,
            recursive,
            of_a_default,
            of_a_polynomial,
            of_distributions,
            of_a_table_with_data,
            of_a_list_of_families(),
            of_exponentials,
            of_floats,
            of_types,
            nested,
            closing_over(),
            simpson,
        ),
        *(of_an_object, of_a_new_object, of_an_object_that_is_called),
    )
} | {"method": MODEL.state, "object": KERNEL, "partial": with_two}
POINT = 0.7


@np.vectorize
def decorated(x: Any) -> Any:
    return math.sin(x)


@np.vectorize(otypes=[float])
def decorated_with_types(x: Any) -> Any:
    return math.exp(x)


@functools.lru_cache
def cached(x: Any) -> Any:
    return math.cos(x)


PROGRAMS["vectorized outside"] = lambda x: (
    decorated([x, x]).sum() + decorated_with_types(x * np.ones(2)).sum()
)


def in_a_thread(x: Any) -> Any:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(math.sin(x)))
    thread.start()
    thread.join()
    return results[0] if results else None


PROGRAMS["library's"] = math.sin
PROGRAMS["circulant"] = lambda x: la.circulant(x * np.arange(3.0))
TABLE_OF_SQUARES = np.arange(9.0).reshape(3, 3) ** 2
AXES = (np.arange(3.0), np.arange(3.0))
PROGRAMS["lists of coordinates"] = lambda x: (
    scipy.ndimage.map_coordinates(TABLE_OF_SQUARES, [[x], [x + 0.8]], order=1)[0]
    + scipy.interpolate.RegularGridInterpolator(AXES, TABLE_OF_SQUARES)([[1.2, x]])[0]
    + scipy.interpolate.interpn(AXES, TABLE_OF_SQUARES, [[1.2, x]])[0]
)
PROGRAMS["cached"] = lambda x: cached(x) + math.sin(x)


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_are_right_in_every_mode(name: str) -> None:
    program, step = PROGRAMS[name], 1e-6
    value = np.asarray(program(POINT))
    slope = (np.asarray(program(POINT + step)) - np.asarray(program(POINT - step))) / (2 * step)
    for derivative in (wg.jacrev(program), wg.jacfwd(program), wg.derivative(program)):
        np.testing.assert_allclose(derivative(POINT), slope, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(wg.jvp(program, (POINT,), (1.0,))[1], slope, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(wg.vmap(program)(np.array([POINT, POINT])), [value, value], rtol=1e-12)
    np.testing.assert_allclose(wg.jit(program)(POINT), value, rtol=1e-13)
    graph = wg.trace(wg.jacrev(program))(POINT)
    np.testing.assert_allclose(evaluate(graph, *graph.arguments)[0], slope, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(wg.linearize(program, POINT)[1](1.0), slope, rtol=1e-6, atol=1e-8)
    wg.trace(program)(POINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_value_that_another_thread_loses_is_followed() -> None:
    assert wg.grad(in_a_thread)(POINT) == pytest.approx(math.cos(POINT))


def test_values_that_are_keys_say_so() -> None:
    with pytest.raises(wg.WengertError, match=r"unhashable.*float\(wg.stop_gradient\(x\)\). \[test_subst"):
        wg.grad(lambda x: {(x, 1): 2 * x}[x, 1])(POINT)


def test_plain_arrays_of_the_second_run_are_plain_for_libraries() -> None:
    kept = []

    def program(x: Any) -> Any:
        kept.append(scipy.sparse.csr_matrix(np.eye(2)) @ scipy.sparse.linalg.cg(np.eye(2), np.ones(2))[0])
        return math.sin(x) * kept[-1][0]

    assert wg.grad(program)(POINT) == pytest.approx(math.cos(POINT))
    assert [type(value) for value in kept] == [np.ndarray, np.ndarray]


def test_a_program_runs_again_only_once() -> None:
    runs: list[int] = []

    def program(x: Any) -> Any:
        runs.append(1)
        return math.sin(x)

    gradient = wg.grad(program)
    gradient(0.3)
    assert len(runs) == 2
    gradient(0.3)
    wg.jit(program)(0.3)
    assert len(runs) == 4


def test_a_program_that_loses_nothing_runs_once_as_it_is() -> None:
    kinds: list[Any] = []

    def program(x: Any) -> Any:
        kinds.append(np.zeros(2))
        return np.sum(kinds[-1] + x)

    wg.grad(program)(1.0)
    assert [type(kind) for kind in kinds] == [np.ndarray]


def test_the_second_run_reads_the_users_names_as_they_are_now(monkeypatch: pytest.MonkeyPatch) -> None:
    assert wg.grad(through_a_function)(POINT) == pytest.approx(wg.grad(through_a_function)(POINT))
    monkeypatch.setitem(globals(), "helper", lambda x: np.array([math.sin(x)]))
    slope = math.cos(POINT) - 2 * POINT * math.exp(-(POINT**2))
    assert wg.grad(through_a_function)(POINT) == pytest.approx(slope)


def test_objects_are_shared_with_the_program() -> None:
    class Counter:
        def __init__(self) -> None:
            self.count = 0

        def value(self, x: Any) -> Any:
            self.count += 1
            return math.sin(x)

    counter = Counter()
    wg.grad(lambda x: counter.value(x))(0.5)
    assert counter.count == 2


def test_nothing_is_patched() -> None:
    before = np.zeros, math.sin, scipy.linalg.expm, globals()["np"], globals()["helper"], Damped.matrix
    wg.grad(lambda x: of_a_new_object(x).sum())(POINT)
    after = np.zeros, math.sin, scipy.linalg.expm, globals()["np"], globals()["helper"], Damped.matrix
    assert all(one is other for one, other in zip(before, after, strict=True))


def test_other_threads_see_plain_names() -> None:
    kinds: list[type] = []
    thread = threading.Thread(target=lambda: kinds.append(type(np.zeros(2))))

    def program(x: Any) -> Any:
        if isinstance(np.zeros(1), wg.Array) and not thread.ident:
            thread.start()
            thread.join()
        return math.sin(x)

    wg.grad(program)(1.0)
    assert kinds == [np.ndarray]


def test_plain_arguments_reach_scipys_own_function() -> None:
    seen: list[type] = []

    def program(x: Any) -> Any:
        matrix = la.expm(PLAIN)
        seen.append(type(matrix))
        return math.sin(x) * matrix[0, 0]

    wg.grad(program)(1.0)
    assert set(seen) == {np.ndarray}


PLAIN = np.eye(2)


def test_functions_and_distributions_may_be_arguments() -> None:
    def negative_log_likelihood(x: Any, family: Any, function: Any, times: Any) -> Any:
        return -np.sum(family.logpdf(times, scale=np.exp(x))) + np.sum(function(x * np.eye(2)))

    times = np.array([0.5, 1.0, 2.0])
    for family in (scipy.stats.expon, norm):
        wg.check_grads(
            lambda x, family=family: negative_log_likelihood(x, family, expm, times), (POINT,), order=1
        )
        expected = wg.grad(lambda x, family=family: negative_log_likelihood(x, family, expm, times))(POINT)
        assert wg.grad(negative_log_likelihood)(POINT, family, expm, times) == pytest.approx(expected)


def test_an_error_of_both_runs_is_that_of_the_first() -> None:
    with pytest.raises(LostDerivativeError, match="stop_gradient") as caught:
        wg.grad(lambda x: x.item() * np.zeros(2)[0])(1.0)
    assert "test_substitution.py" in str(caught.value)
    with pytest.raises(ZeroDivisionError):
        wg.grad(lambda x: math.sin(x) / (1 // 0))(1.0)


@pytest.mark.parametrize("function", [math.sin, scipy.linalg.expm, scipy.linalg.hadamard])
def test_a_function_of_a_library_has_one_substitute(function: Callable[..., Any]) -> None:
    assert substitution.with_substitutes(function) is substitution.with_substitutes(function)


def test_it_can_be_turned_off(without_substitutes: None) -> None:
    with pytest.raises(LostDerivativeError):
        wg.grad(lambda x: math.sin(x))(1.0)


def test_inside_other_transforms() -> None:
    inner = wg.jit(of_math)
    assert wg.grad(inner)(POINT) == pytest.approx(wg.grad(of_math)(POINT))
    assert wg.grad(wg.grad(of_math))(POINT) == pytest.approx(wg.hessian(of_math)(POINT))
    batch = np.array([0.4, 0.9])
    expected = [wg.grad(of_math)(x) for x in batch]
    np.testing.assert_allclose(wg.jit(wg.vmap(wg.grad(of_math)))(batch), expected, rtol=1e-12)
    np.testing.assert_allclose(wg.checkpoint(into_a_buffer)(POINT), into_a_buffer(POINT))
    assert wg.grad(wg.checkpoint(into_a_buffer))(POINT) == pytest.approx(wg.grad(into_a_buffer)(POINT))


def test_data_stays_the_users(rng: np.random.Generator) -> None:
    values: list[Any] = [
        1,
        2.0,
        "a",
        None,
        np.eye(2),
        [1, 2],
        (1.0,),
        {"a": 1},
        {1},
        rng,
        np.float64(1.0),
        wg,
        np.random,
    ]
    for value in values:
        assert substitution.with_substitutes(value) is value


# -- state of the program, which the second run shares ---------------------------------------------------

COUNT = 0


def counting(x: Any) -> Any:
    global COUNT
    COUNT += 1
    return math.sin(x) * COUNT


def test_names_of_a_global_statement_are_those_of_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "COUNT", 0)
    assert wg.grad(counting)(POINT) == pytest.approx(2 * math.cos(POINT))
    assert COUNT == 2
    monkeypatch.setitem(globals(), "COUNT", 10)
    assert wg.grad(counting)(POINT) == pytest.approx(11 * math.cos(POINT))
    assert COUNT == 11


def test_closures_and_defaults_are_read_in_each_run() -> None:
    def scaled(function: Any) -> Any:
        return lambda x: 2 * function(x)

    def program(x: Any, last: Any = math.sin) -> Any:
        return inner(x) + outer(x) + last(x)

    inner, outer = scaled(math.sin), math.sin
    assert wg.grad(program)(POINT) == pytest.approx(4 * math.cos(POINT))
    inner, outer = scaled(math.exp), math.exp
    program.__defaults__ = (math.exp,)
    assert wg.grad(program)(POINT) == pytest.approx(4 * math.exp(POINT))
    outer = len
    with pytest.raises(TypeError):
        wg.grad(program)(POINT)


def test_methods_that_the_program_replaces_are_read_in_each_run() -> None:
    class Model:
        def value(self, x: Any) -> Any:
            return math.sin(x)

    model = Model()

    def program(x: Any) -> Any:
        return model.value(x)

    assert wg.grad(program)(POINT) == pytest.approx(math.cos(POINT))
    Model.value = lambda self, x: math.exp(x)  # type: ignore[method-assign]
    assert wg.grad(program)(POINT) == pytest.approx(math.exp(POINT))


def test_functions_and_classes_keep_what_the_program_writes_to_them() -> None:
    class Model:
        made = 0

        def __init__(self) -> None:
            Model.made += 1

        @classmethod
        def value(cls, x: Any) -> Any:
            cls.last = "value"
            return math.sin(x)

    def program(x: Any) -> Any:
        program.calls = getattr(program, "calls", 0) + 1
        return Model().value(x)

    wg.grad(program)(POINT)
    assert (Model.made, program.calls) == (2, 2)
    assert vars(Model)["last"] == "value"


def test_a_variable_that_the_program_assigns_is_its_own() -> None:
    function = math.cos

    def program(x: Any) -> Any:
        nonlocal function
        function = math.sin
        return np.array([function(x)])[0]

    assert wg.grad(program)(POINT) == pytest.approx(math.cos(POINT))
    assert function(POINT) == math.sin(POINT)


def test_bodies_of_classes_and_eval_see_the_names_of_the_module() -> None:
    def program(x: Any) -> Any:
        @dataclass
        class Model:
            weights: Any = field(default_factory=lambda: np.zeros(2))
            scale = np.ones(2)[0] * len(FAMILIES)

            def value(self, x: Any) -> Any:
                self.weights[0] = x
                return math.sin(self.weights[0]) * self.scale

        return Model().value(x) + eval("math.exp(x) * abs(x)")

    slope = 2 * math.cos(POINT) + math.exp(POINT) * (1 + POINT)
    assert wg.grad(program)(POINT) == pytest.approx(slope)


class Registered:
    """A class that knows its subclasses."""

    names: list[str] = []  # noqa: RUF012 (the program under test)

    def __init_subclass__(cls) -> None:
        Registered.names.append(cls.__name__)
        super().__init_subclass__()


class Wave(Registered):
    def value(self, x: Any) -> Any:
        return math.sin(x)


class Composed:
    """An object made of others, of functions and of itself."""

    function = math.sin

    def __init__(self) -> None:
        self.part, self.outer, self.table = Wave(), self, {"exp": math.exp}

    def value(self, x: Any) -> Any:
        assert self.outer is self
        assert self.outer is COMPOSED
        assert self.part is self.part
        return self.outer.part.value(x) + self.table["exp"](x) + Composed.function(x)


COMPOSED = Composed()


def test_objects_of_an_object_have_copies() -> None:
    slope = 2 * math.cos(POINT) + math.exp(POINT)
    assert wg.grad(lambda x: COMPOSED.value(x))(POINT) == pytest.approx(slope)


def test_a_copy_of_a_class_is_no_subclass_of_the_program() -> None:
    def program(x: Any) -> Any:
        class Half(Wave):
            def value(self, x: Any) -> Any:
                return super().value(x) / 2

        assert issubclass(Half, Wave)
        assert not isinstance(Wave(), Half)
        return Half().value(x)

    assert wg.grad(program)(POINT) == pytest.approx(math.cos(POINT) / 2)
    assert set(Registered.names) == {"Wave", "Half"}
    assert Registered.names.count("Wave") == 1


@pytest.mark.usefixtures("young_heap")
def test_copies_of_classes_are_freed_with_them() -> None:
    def run() -> weakref.ref[type]:
        class Model:
            def value(self, x: Any) -> Any:
                return math.sin(x)

        model = Model()
        wg.grad(lambda x: model.value(x))(POINT)
        return weakref.ref(Model)

    known = run()
    gc.collect()
    assert known() is None


# -- tests of types ----------------------------------------------------------------------------------------


def norm_of_an_array(value: Any) -> Any:
    return np.sum(value**2) if isinstance(value, np.ndarray) else 0.0


def test_an_array_that_is_written_to_is_an_array() -> None:
    def written(x: float) -> Any:
        z = np.zeros(2)
        z[0], z[1] = x, 3.0
        return norm_of_an_array(z)

    assert wg.value_and_grad(written)(2.0) == (13.0, 4.0)
    assert wg.jit(written)(2.0) == 13.0


def test_types_are_those_of_numpy() -> None:
    def types(x: Any) -> Any:
        table, number, position = np.array([1.0, 2.0]), np.sum(x * np.ones(2)), np.asarray(2)[()]
        values = [x, x * np.ones(2), table, number, position, np.zeros(2, int) + x, 1.0, [x]]
        kinds = (np.ndarray, float, int, np.generic, np.floating, numbers.Number, float | np.ndarray, list)
        found.append([isinstance(value, kind) for value in values for kind in (*kinds, (int, np.ndarray))])
        found.append([np.isscalar(value) for value in values])
        return math.sin(x)

    found: list[list[bool]] = []
    types(0.5)
    wg.grad(types)(0.5)
    wg.jit(types)(0.5)
    expected, others = found[:2], found[-4:]  # the first run ends behind its answers
    assert others == [*expected, *expected]


def test_a_pattern_tells_a_number() -> None:
    def matched(x: Any) -> Any:
        match x:
            case float():
                return math.sin(x)
            case _:
                return 2.0 * math.sin(x)

    assert wg.grad(matched)(0.0) == 1.0


def test_a_number_taken_from_an_array_without_axes_keeps_its_value() -> None:
    def taken(x: Any) -> Any:
        array = np.zeros(())
        array[()] = x
        number = array[()]
        array[()] = 5.0
        return number * array

    assert taken(3.0) == 15.0
    assert wg.value_and_grad(taken)(3.0) == (15.0, 5.0)


# -- threads ---------------------------------------------------------------------------------------------


def meeting(entered: threading.Event, over: threading.Event) -> None:
    """Let the late thread wait in its first run until the runs of another one are over."""
    if threading.current_thread().name == "late" and not entered.is_set():
        entered.set()
        assert over.wait(60)


def test_another_thread_finds_the_run_that_a_function_needs():
    def filling(x: Any) -> Any:
        meeting(*events)
        y = np.zeros(2)
        y[0] = x[0] * x[1]
        return y[0]

    def branching(x: Any) -> Any:
        meeting(*events)
        return x[0] * x[1] if x[0] > 0 else x[1]

    for function, transform in ((filling, wg.grad), (branching, lambda f: wg.vmap(wg.grad(f)))):
        events = threading.Event(), threading.Event()
        point, results = np.array([[2.0, 3.0]]), list[Any]()
        call = functools.partial(transform(function), point[0] if transform is wg.grad else point)
        late = threading.Thread(target=lambda run=call, into=results: into.append(run()), name="late")
        late.start()
        assert events[0].wait(60)
        expected = call()
        events[1].set()
        late.join(60)
        assert len(results) == 1
        assert np.array_equal(results[0], expected)
