"""Typical mistakes of newcomers from other libraries: each message says what to do, and names the user's line.

A program is a function below `mistake`, which names the error and words of the remedy. The error's text and its notes
must have the words. The text, or the last of the user's frames, must name the line that ends with ``# here``, or a line
of the program if none does.
"""

from __future__ import annotations

import inspect
import json
import math
import re
import traceback
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg

optimize = pytest.importorskip("scipy.optimize")
sp = pytest.importorskip("scipy.sparse")
sla = pytest.importorskip("scipy.sparse.linalg")

X = np.array([1.0, 2.0, 3.0])
TABLE = [[1.0, 2.0], [3.0, 4.0]]
#: What no message to a user may contain: notation of listings, words of the implementation, addresses.
JARGON = re.compile(
    r"\*\[\]|\b[Bb]ox(es)?\b|[Tt]racer|\bstar\b|<object object| at 0x|Traceback|TensorType|Primitive"
)


class Mistake(NamedTuple):
    """A program that raises or warns, and what its message must have."""

    program: Callable[[], Any]
    kind: type[BaseException]
    words: tuple[str, ...]


MISTAKES: dict[str, Mistake] = {}


def mistake(kind: type[BaseException], *words: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Return a decorator that enters a program under its name."""

    def enter(program: Callable[[], Any]) -> Callable[[], Any]:
        assert words
        assert program.__name__ not in MISTAKES
        MISTAKES[program.__name__] = Mistake(program, kind, words)
        return program

    return enter


def caught(program: Callable[[], Any]) -> tuple[BaseException, str, set[int]]:
    """Run a program; return its error or warning, the text with the notes, and the lines that these name."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            program()
        except Exception as problem:
            text = "\n".join([str(problem), *getattr(problem, "__notes__", ())])
            frames = traceback.extract_tb(problem.__traceback__)
            lines = [frame.lineno or 0 for frame in frames if frame.filename == __file__]
            return problem, text, {*lines[-1:], *_named(text)}
    assert warned, "the program neither raises nor warns"
    found = warned[-1]
    where = {found.lineno} if found.filename == __file__ else set[int]()
    return found.message if isinstance(found.message, Warning) else Warning(), str(found.message), where


def _named(text: str) -> set[int]:
    return {int(number) for number in re.findall(r"test_mistakes\.py:(\d+)", text)}


def lines_of(program: Callable[[], Any]) -> set[int]:
    """Return the lines of a program of which a message must name one."""
    source, first = inspect.getsourcelines(program)
    here = {number for number, line in enumerate(source, first) if line.rstrip().endswith("# here")}
    return here or {*range(first + 1, first + len(source))}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_explained(name: str) -> None:
    program, kind, words = MISTAKES[name]
    problem, text, lines = caught(program)
    assert isinstance(problem, kind), repr(problem)
    for word in words:
        assert word in text
    assert JARGON.search(text) is None, text
    assert lines & lines_of(program), text
    assert len(text) < 700, text


def test_there_are_a_hundred() -> None:
    assert len(MISTAKES) >= 100


# -- calls of transforms ---------------------------------------------------------------------------------


def product(x: Any, y: Any) -> Any:
    return x * y


def total(x: Any) -> Any:
    return np.sum(x**2)


def anything(value: Any) -> Any:
    """Hide a mistake from the type checker."""
    return value


@mistake(TypeError, "write argnums= for argnum=", "wg.grad(f)(x)")
def argnum_of_autograd() -> None:
    anything(wg.grad)(product, argnum=1)(1.0, 2.0)


@mistake(TypeError, "write argnums= for argnum=")
def argnum_of_a_jacobian() -> None:
    anything(wg.jacobian)(product, argnum=1)(1.0, 2.0)


@mistake(ValueError, "write argnums=1")
def argnums_by_name() -> None:
    wg.grad(product, argnums=anything("y"))(1.0, 2.0)


@mistake(ValueError, "write argnums=(0, 1)")
def argnums_by_names() -> None:
    wg.grad(product, argnums=anything(("x", "y")))(1.0, 2.0)


@mistake(ValueError, "argnums must name one of the 2 positional arguments")
def argnums_that_count_from_one() -> None:
    wg.grad(product, argnums=2)(1.0, 2.0)


@mistake(ValueError, "write wg.grad(f)(x), not wg.grad(f, x)")
def the_point_beside_the_function() -> None:
    wg.grad(total, anything(X))


@mistake(ValueError, "write wg.derivative(f)(x), not wg.derivative(f, x)")
def the_point_beside_the_function_of_a_derivative() -> None:
    wg.derivative(math.sin, anything(2.0))


@mistake(ValueError, "write wg.sparse_jacobian(f)(x)")
def the_point_beside_the_function_of_a_sparse_jacobian() -> None:
    wg.sparse_jacobian(total, anything(X))


@mistake(ValueError, "write wg.trace(f)(x)")
def the_point_beside_the_function_of_a_listing() -> None:
    wg.trace(total, anything(2.0))


@mistake(TypeError, "write wg.grad(f)(x), not wg.grad(f(x))")
def the_value_in_place_of_the_function() -> None:
    wg.grad(anything(total(X)))


@mistake(TypeError, "write wg.hvp(f)(x, v)")
def hvp_as_in_jvp() -> None:
    anything(wg.hvp)(total, (X,), (X,))


@mistake(TypeError, "x is a tuple", "np.array(x)")
def hvp_of_tuples() -> None:
    wg.hvp(lambda x: np.sum(x**2))((X,), (X,))


@mistake(ValueError, "primals and tangents must be tuples")
def jvp_without_tuples() -> None:
    wg.jvp(np.sin, anything(2.0), anything(1.0))


@mistake(TypeError, "write wg.jvp(f, (x,), (v,))")
def jvp_of_a_function_alone() -> None:
    anything(wg.jvp)(np.sin)(X)


@mistake(ValueError, "a tangent must have the shape of its primal")
def jvp_of_another_shape() -> None:
    wg.jvp(np.sin, (X,), (np.ones(2),))


@mistake(ValueError, "a cotangent must have the shape of the output")
def a_cotangent_of_another_shape() -> None:
    wg.vjp(np.sin, X)[1](1.0)


@mistake(ValueError, "pass the differentiated arguments by position")
def arguments_by_name() -> None:
    wg.grad(product)(x=1.0, y=2.0)


@mistake(TypeError, "missing 1 required positional argument: 'y'", "pass every argument of product")
def an_argument_is_missing() -> None:
    anything(wg.grad(product))(1.0)


@mistake(TypeError, "where one vector holds them, write lambda x: product(*x)")
def a_vector_for_several_arguments() -> None:
    anything(wg.grad(product))(np.ones(2))


@mistake(ValueError, "args must be a tuple with each argument")
def check_grads_without_a_tuple() -> None:
    wg.check_grads(total, anything(X))


@mistake(ValueError, "the order must be an integer")
def a_negative_order() -> None:
    wg.derivative(math.sin, order=-1)(2.0)


@mistake(ValueError, "use wg.jacobian")
def a_derivative_of_a_vector() -> None:
    wg.derivative(np.sin)(X)


@mistake(ValueError, "with has_aux=True the function must return (output, aux)")
def aux_that_is_not_returned() -> None:
    wg.grad(total, has_aux=True)(X)


# -- arguments -------------------------------------------------------------------------------------------


@mistake(TypeError, "got an integer in argument 0", "write 2.0 for 2")
def an_integer() -> None:
    wg.grad(lambda x: x**2)(3)


@mistake(TypeError, "x.astype(float)")
def an_array_of_integers() -> None:
    wg.grad(total)(np.array([1, 2]))


@mistake(TypeError, "got an integer in argument 0[0]")
def a_list_of_integers() -> None:
    wg.grad(lambda x: x[0] ** 2)([1, 2])


@mistake(TypeError, "got a truth value in argument 0")
def a_truth_value() -> None:
    wg.grad(lambda x: x * 1.0)(True)


@mistake(TypeError, "x is a list, whose elements grad follows", "np.array(x)")
def a_list_for_an_array() -> None:
    wg.grad(lambda x: np.sum(2.0 * x))([1.0, 2.0])


@mistake(TypeError, "p is a dict", "np.array(list(p.values()))")
def a_dict_for_an_array() -> None:
    wg.grad(lambda p: np.sum(p * 2.0))({"a": 1.0})


@mistake(TypeError, "x is None here")
def none_for_an_array() -> None:
    wg.grad(lambda x: x**2)(None)


@mistake(TypeError, "arguments must be arrays, numbers or containers", "got str in argument 0")
def a_text() -> None:
    wg.grad(lambda x: x)("1.0")


@mistake(TypeError, "name other arguments in static_argnums")
def a_text_under_jit() -> None:
    wg.jit(lambda x, kind: x if kind == "a" else -x)(2.0, "a")


@mistake(TypeError, "numbers or booleans are required", "convert it first")
def an_array_of_objects() -> None:
    wg.grad(total)(np.array([1.0, None], dtype=object))


@mistake(TypeError, "write np.where(np.ma.getmaskarray(x)")
def a_masked_array() -> None:
    wg.grad(total)(np.ma.masked_array(X, [False, True, False]))


class Settings:
    def __init__(self) -> None:
        self.rate = 2.0


@mistake(TypeError, "arguments must be arrays, numbers or containers", "got Settings")
def an_object() -> None:
    wg.grad(lambda s: s.rate**2)(Settings())


@mistake(ValueError, "all arguments must have the same number of examples")
def examples_of_two_counts() -> None:
    wg.vmap(product)(np.ones(3), np.ones(2))


@mistake(ValueError, "got a float", "give in_axes=None")
def a_scalar_among_examples() -> None:
    wg.vmap(product)(np.ones(3), 2.0)


@mistake(ValueError, "in_axes must match")
def too_few_axes() -> None:
    wg.vmap(product, in_axes=(0,))(np.ones(3), np.ones(3))


@mistake(ValueError, "containers must have the structure")
def trees_that_differ() -> None:
    wg.tree.map_tree(lambda a, b: a + b, {"a": 1.0}, {"b": 1.0})


# -- results ---------------------------------------------------------------------------------------------


def nothing(x: Any) -> Any:
    np.sum(x**2)


@mistake(ValueError, "got None", "its last line may lack return")
def no_return_of_a_gradient() -> None:
    wg.grad(nothing)(X)


@mistake(ValueError, "its last line may lack return")
def no_return_of_a_jacobian() -> None:
    wg.jacobian(nothing)(X)


@mistake(ValueError, "its last line may lack return")
def no_return_of_an_objective() -> None:
    wg.optimize.minimize(nothing, X)


@mistake(TypeError, "got None", "its last line may lack return")
def no_return_of_a_slope() -> None:
    wg.integrate.solve_ivp(lambda t, y: nothing(y), (0.0, 1.0), X)


@mistake(TypeError, "got None", "its last line may lack return")
def no_return_of_an_integrand() -> None:
    wg.integrate.quad(nothing, 0.0, 1.0)


@mistake(ValueError, "the function must return a pair (carry, y)", "may lack return")
def no_return_of_a_turn() -> None:
    wg.scan(lambda carry, x: nothing(x), 0.0, X)


@mistake(TypeError, "nothing(x) may have returned None: does nothing lack a return?")
def no_return_of_a_function_inside() -> None:
    wg.grad(lambda x: np.sum(nothing(x) * 2.0))(X)


@mistake(UserWarning, "returns None; it may lack a return")
def no_return_of_a_compiled_function() -> None:
    wg.jit(nothing)(X)


@mistake(UserWarning, "what it writes into x is lost: return it")
def a_compiled_function_that_changes_its_argument() -> None:
    def double(x: Any) -> None:
        x *= 2.0

    wg.jit(double)(np.ones(3))  # here


@mistake(ValueError, "reduce it (np.sum, np.mean), or use wg.jacobian")
def an_array_for_a_number() -> None:
    wg.grad(lambda x: x**2)(X)


@mistake(ValueError, "got a tuple of 2", "return (number, aux) and give has_aux=True")
def two_results() -> None:
    wg.grad(lambda x: (np.sum(x), x))(X)


@mistake(ValueError, "got a dict with the keys 'loss'")
def a_dict_of_results() -> None:
    wg.grad(lambda x: {"loss": np.sum(x)})(X)


@mistake(ValueError, "got an integer", "only floating-point values have a derivative")
def an_integer_result() -> None:
    wg.grad(lambda x: 3)(X)


@mistake(TypeError, "the function must return arrays, numbers", "got str")
def a_text_result() -> None:
    wg.grad(lambda x: f"{x}")(X)


@mistake(TypeError, "return the real or the imaginary part")
def a_complex_result() -> None:
    wg.grad(lambda x: np.sum(np.exp(1j * x)))(X)


@mistake(RuntimeError, "a value of a grad that has ended was used", "has_aux=True")
def a_value_that_is_kept() -> None:
    kept: list[Any] = []
    wg.grad(lambda x: (kept.append(x), np.sum(x))[1])(X)
    anything(kept[0] + 1.0)  # here


# -- operations ------------------------------------------------------------------------------------------


@mistake(ValueError, "inner dimensions must agree")
def a_product_of_shapes_that_differ() -> None:
    wg.grad(lambda w: np.sum(np.ones((2, 3)) @ w))(np.ones(2))


@mistake(ValueError, "operands must broadcast together")
def a_sum_of_shapes_that_differ() -> None:
    wg.jit(lambda x, y: x + y)(np.ones(2), np.ones(3))


@mistake(IndexError, "index 7 is out of bounds for axis 0 with size 3")
def an_index_beyond_the_end() -> None:
    wg.grad(lambda x: x[7])(X)


@mistake(IndexError, "an array of 1 axis takes no more indices")
def two_indices_of_a_vector() -> None:
    wg.grad(lambda x: x[0, 1])(X)


@mistake(IndexError, "an index must be an integer, a slice")
def an_index_that_is_a_float() -> None:
    wg.grad(lambda x: x[1.0])(X)


@mistake(TypeError, "a scalar has no length")
def the_length_of_a_number() -> None:
    wg.grad(lambda x: len(x) * x)(2.0)


@mistake(TypeError, "a scalar has no elements to iterate over")
def a_number_in_parts() -> None:
    def program(x: Any) -> Any:
        a, b = x  # here
        return a * b

    wg.grad(program)(2.0)


@mistake(TypeError, "wg.stop_gradient(x).item()")
def item() -> None:
    wg.grad(lambda x: x.item() ** 2)(np.array(2.0))


@mistake(TypeError, "use int(wg.stop_gradient(x))")
def an_index_computed_from_a_float() -> None:
    wg.grad(lambda x: TABLE[int(x)][0] * x)(1.0)


@mistake(TypeError, "take the number as the key: float(wg.stop_gradient(x))")
def a_key_of_a_dict() -> None:
    wg.grad(lambda x: {1.0: 2.0}[x] * x)(1.0)


@mistake(TypeError, "not JSON serializable", "compute it outside")
def json_inside() -> None:
    wg.grad(lambda x: (json.dumps({"x": x}), x)[1])(2.0)


@mistake(AttributeError, "write x[i] = v")
def at_of_jax() -> None:
    wg.grad(lambda x: np.sum(x.at[0].set(2.0)))(X)


@mistake(AttributeError, "write np.expand_dims(x, axis)")
def unsqueeze_of_torch() -> None:
    wg.grad(lambda x: x.unsqueeze(0).sum())(X)


@mistake(AttributeError, "write np.exp(x)")
def exp_of_torch() -> None:
    wg.grad(lambda x: x.exp().sum())(X)


@mistake(AttributeError, "write x**n")
def pow_of_torch() -> None:
    wg.grad(lambda x: x.pow(2).sum())(X)


@mistake(AttributeError, "write x @ y")
def mm_of_torch() -> None:
    wg.grad(lambda x: x.mm(x).sum())(np.eye(2))


@mistake(AttributeError, "programs run on the processor")
def cuda_of_torch() -> None:
    wg.grad(lambda x: x.cuda().sum())(X)


@mistake(TypeError, "write axis= for dim=")
def dim_of_torch() -> None:
    wg.grad(lambda x: np.sum(x.sum(dim=0)))(np.ones((2, 2)))


@mistake(TypeError, "write keepdims= for keepdim=")
def keepdim_of_torch() -> None:
    wg.grad(lambda x: np.sum(anything(np.sum)(x, axis=0, keepdim=True)))(np.ones((2, 2)))


@mistake(ValueError, "a.any() or a.all()")
def a_condition_on_an_array() -> None:
    wg.grad(lambda x: np.sum(x) if x > 0 else 0.0)(X)


# -- guards ----------------------------------------------------------------------------------------------


@mistake(
    TypeError,
    "x is a value that grad follows",
    "in the place of f64[3]",
    "check the argument before grad",
)
def a_guard_for_lists() -> None:
    def program(x: Any) -> Any:
        if not isinstance(x, (list, tuple)):
            raise TypeError("a list is needed")  # here
        return x[0]

    wg.grad(program)(X)


@mistake(AssertionError, "x is a value that jit follows", "check the argument before jit")
def a_guard_that_asserts() -> None:
    def program(x: Any) -> Any:
        if not isinstance(x, int):
            raise AssertionError  # here
        return x * 1.0

    wg.jit(program)(2.0)


@mistake(ValueError, "value is a value that grad follows", "in the place of a float")
def a_guard_in_a_function() -> None:
    def check(value: Any) -> None:
        if isinstance(value, dict):
            return
        elif not isinstance(value, str):
            raise ValueError("a text or a dict is needed")  # here

    wg.grad(lambda x: (check(x), x)[1])(2.0)


# -- compiled functions ----------------------------------------------------------------------------------


@mistake(TypeError, "write donate= for donate_argnums=")
def donate_of_jax() -> None:
    anything(wg.jit)(total, donate_argnums=0)


@mistake(TypeError, "leave out nopython=")
def nopython_of_numba() -> None:
    anything(wg.jit)(nopython=True)


@mistake(TypeError, "leave out parallel=", "wg.set_threads")
def parallel_of_numba() -> None:
    anything(wg.jit)(total, parallel=True)


@mistake(ValueError, "a function is required", "types come from the arguments")
def a_signature_of_numba() -> None:
    anything(wg.jit)("float64(float64)")


@mistake(TypeError, "name it in static_argnums of wg.jit")
def a_size_that_is_an_argument() -> None:
    wg.jit(lambda x, n: np.zeros(n) + x)(2.0, 3)


@mistake(TypeError, "name it in static_argnums of wg.jit")
def a_shape_that_is_an_argument() -> None:
    wg.jit(lambda x, n: x.reshape(n, -1))(np.ones(6), 2)


@mistake(TypeError, "got an integer", "static_argnums")
def a_range_that_is_an_argument() -> None:
    wg.jit(lambda n: np.arange(n))(3)


@mistake(TypeError, "write np.where(mask, x, 0)")
def a_mask_that_selects_the_result() -> None:
    wg.jit(lambda x: x[x > 1.5])(X)


@mistake(TypeError, "the result's shape depends on the values")
def unique_values() -> None:
    wg.jit(lambda x: np.unique(x))(X)


@mistake(TypeError, "make texts and keys of known values")
def a_text_of_a_value() -> None:
    wg.jit(lambda x: (f"{x:.3f}" + "%.3f" % x, x)[1])(2.0)  # noqa: UP031


@mistake(ValueError, "a static argument must be hashable", "pass a tuple")
def a_static_list() -> None:
    wg.jit(lambda x, n: x, static_argnums=1)(X, [1, 2])


@mistake(ValueError, "there is no argument 'm'")
def a_static_name_that_is_wrong() -> None:
    wg.jit(product, static_argnames="m")


@mistake(UserWarning, "draw them with wengert.random")
def numpys_random_numbers() -> None:
    wg.jit(lambda x: x + np.random.normal())(2.0)


def multiples(x: Any) -> Any:
    for k in range(3):
        yield k * x


@mistake(TypeError, "got generator", "put its values into a list, and return that")
def a_compiled_generator() -> None:
    wg.jit(multiples)(2.0)


@mistake(TypeError, "got generator", "put its values into a list, and return that")
def the_gradient_of_a_generator() -> None:
    wg.grad(multiples)(2.0)


@mistake(RecursionError, "write a loop (while)", "name the argument that ends it in static_argnums")
def a_recursion_that_a_value_ends() -> None:
    def power(x: Any, n: Any) -> Any:
        return x if n <= 1 else x * power(x, n - 1)

    wg.jit(power)(2.0, 3)


@mistake(TypeError, "write wg.jit(f)(x)")
def the_point_beside_the_compiled_function() -> None:
    anything(wg.jit)(total, X)


@mistake(TypeError, "write wg.checkpoint(f)(x)")
def the_point_beside_the_checkpointed_function() -> None:
    anything(wg.checkpoint)(total, X)


@mistake(TypeError, "list indices must be integers or slices, not tuple")
def two_indices_of_a_nested_list() -> None:
    wg.jit(lambda x, i, j: x * anything(TABLE)[i, j])(2.0, 0, 1)


# -- random numbers, optimisers, Variable ----------------------------------------------------------------


@mistake(TypeError, "write shape= for size=", "wg.random.normal(key, shape)")
def size_of_numpy() -> None:
    anything(wg.random.normal)(size=3)


@mistake(TypeError, "make one with wg.random.key(seed)")
def a_seed_for_a_key() -> None:
    wg.random.normal(0, (3,))


@mistake(AttributeError, "wg.random.key(seed)")
def prngkey_of_jax() -> None:
    anything(wg.random).PRNGKey(0)


@mistake(AttributeError, "key = wg.random.key(seed)")
def seed_of_numpy() -> None:
    anything(wg.random).seed(0)


@mistake(TypeError, "write rate= for lr=")
def lr_of_torch() -> None:
    anything(wg.optim.adam)(lr=0.1)


@mistake(AttributeError, "write wg.optim.adam(rate)")
def adam_of_torch() -> None:
    anything(wg.optim).Adam([X], lr=0.1)


@mistake(AttributeError, "model, state = optimiser.update(gradients, state, model)")
def step_of_torch() -> None:
    anything(wg.optim.adam(0.1)).step()


@mistake(AttributeError, "wg.grad returns new gradients in each call")
def zero_grad_of_torch() -> None:
    anything(wg.optim.adam(0.1)).zero_grad()


@mistake(TypeError, "optimiser.update(gradients, state, parameters)")
def update_without_parameters() -> None:
    optimiser = wg.optim.adam(0.1)
    anything(optimiser.update)(X, optimiser.init(X))


@mistake(ValueError, "a scalar is needed", "reduce it (y.sum())")
def backward_of_an_array() -> None:
    (wg.Variable(X) * 2.0).backward()


# -- solvers and SciPy -----------------------------------------------------------------------------------


@mistake(AttributeError, "write scipy.optimize.fsolve", "a solver of Wengert's")
def fsolve() -> None:
    anything(wg.optimize).fsolve(lambda x: x**2 - 2.0, 1.0)


@mistake(AttributeError, "write scipy.optimize.brentq")
def brentq() -> None:
    anything(wg.optimize).brentq(lambda x: x**2 - 2.0, 0.0, 2.0)


@mistake(AttributeError, "bounds=[(low, high), ...]")
def bounds() -> None:
    anything(wg.optimize).Bounds(0.0, 1.0)


@mistake(ValueError, "got None at place 0", "write (None, None) for no bounds")
def none_for_a_pair_of_bounds() -> None:
    wg.optimize.minimize(total, X[:2], bounds=[None, (0, 1)])


@mistake(ValueError, "got None in (0, None)", "write -np.inf or np.inf for no bound")
def none_inside_of_lower_bounds() -> None:
    wg.optimize.lbfgs(total, X[:2], bounds=((0, None), None))


@mistake(AttributeError, "write wg.integrate.solve_ivp(fun, (t0, t1), y0)")
def diffeqsolve() -> None:
    anything(wg.integrate).diffeqsolve(None)


@mistake(AttributeError, "write np.sin")
def sin_of_jax_numpy() -> None:
    anything(wg).sin(1.0)


@mistake(ValueError, "its arguments are fun(t, y), in this order")
def slopes_of_odeint() -> None:
    wg.integrate.solve_ivp(lambda y, t: -y, (0.0, 1.0), X)


@mistake(ValueError, "the method must be one of")
def a_method_that_is_unknown() -> None:
    wg.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), X, method="rk4")


@mistake(TypeError, "in args=(...) of a solver")
def an_objective_without_its_arguments() -> None:
    wg.optimize.minimize(lambda x, a: np.sum((x - a) ** 2), X)


@mistake(ValueError, "SciPy computes with plain arrays", "wg.sparse.solve")
def diags() -> None:
    wg.grad(lambda x: np.sum(sp.diags(x) @ X))(X)


@mistake(TypeError, "SciPy computes with plain arrays", "wg.sparse.solve")
def coo_matrix() -> None:
    wg.grad(lambda x: np.sum(sp.coo_matrix((x, ([0, 1, 2], [0, 1, 2]))) @ X))(X)


@mistake(TypeError, "wg.sparse.solve for a sparse matrix")
def eigsh() -> None:
    wg.grad(lambda x: sla.eigsh(np.diag(x), k=1)[0][0])(X)


@mistake(TypeError, "write wg.implicit.root, fixed_point or minimum")
def a_minimum_inside() -> None:
    wg.grad(lambda a: optimize.minimize_scalar(lambda x: (x - a) ** 2).x)(2.0)


@mistake(ValueError, "define it: total.defvjp")
def a_rule_that_is_missing() -> None:
    wg.grad(wg.custom_vjp(total))(X)


@mistake(TypeError, "two functions are needed", "np.where(condition, x, y)")
def values_for_branches() -> None:
    wg.cond(True, anything(1.0), anything(2.0))
