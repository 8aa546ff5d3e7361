"""Errors: their text, the line that they name, and their builtin class."""

from __future__ import annotations

import contextlib
import gc
import inspect
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.heaps import young_heap as young_heap  # a fixture
from wengert import nn
from wengert.engine.core import errors
from wengert.engine.core.errors import WengertError, message, user_location

CLASSES = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, WengertError)]


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if kind is not WengertError])
def test_every_error_is_a_builtin_one_too(kind: type[Exception]) -> None:
    builtin = (
        ValueError,
        ImportError,
        TypeError,
        IndexError,
        OverflowError,
        FloatingPointError,
        ZeroDivisionError,
        RuntimeError,
        AssertionError,
        OSError,
        KeyError,
        AttributeError,
    )
    assert issubclass(kind, builtin)
    assert kind.__doc__


def test_a_message_has_five_parts() -> None:
    text = message("matmul", "inner dimensions must agree", "f64[3,4], f64[5,6]", "transpose one")
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    expected = (
        f"matmul: inner dimensions must agree; got f64[3,4], f64[5,6]; transpose one. [test_errors.py:{line}]"
    )
    assert text == expected
    assert message("matmul", "must").startswith("matmul: must. [test_errors.py:")


def line_of(problem: BaseException) -> str:
    """Return the source line that the message of an error names."""
    location = str(problem).rpartition("[")[2].rstrip("]")
    name, _, number = location.rpartition(":")
    assert name == "test_errors.py"
    with open(__file__, encoding="utf-8") as file:
        return file.read().splitlines()[int(number) - 1]


def test_a_generated_constructor_is_nobodys_line() -> None:
    with pytest.raises(ValueError, match="rate must") as caught:
        nn.Dropout(1.5)  # this line
    assert line_of(caught.value).endswith("# this line")


def test_the_users_own_line_is_named() -> None:
    def loss(w: Any) -> Any:
        hidden = np.tanh(w) * 2.0
        wrong = hidden + np.ones(7)  # this line
        return np.sum(wrong)

    for transform in (wg.grad, wg.jacfwd, wg.vmap, wg.trace, lambda f: wg.vmap(wg.grad(f))):
        with pytest.raises(ValueError, match="add") as caught:
            transform(loss)(np.ones((2, 3)))
        assert "# this line" in line_of(caught.value)


def test_numpy_in_between_is_not_named() -> None:
    with pytest.raises(TypeError) as caught:
        wg.grad(lambda x: np.apply_over_axes(lambda a, axis: a[0].item(), x, [0]))(np.ones(3))  # here
    assert "# here" in line_of(caught.value)


@pytest.mark.parametrize(
    "run",
    [
        lambda f: wg.grad(lambda x: np.sum(f(x)))(np.zeros(2)),
        lambda f: wg.jvp(f, (np.zeros(2),), (np.ones(2),)),
        lambda f: wg.vmap(f)(np.zeros(2)),
        lambda f: f(wg.Variable(np.zeros(2))),
    ],
)
def test_what_numpy_warns_of_names_the_line_where_it_raises(run: Any) -> None:
    with pytest.raises(FloatingPointError, match="divide by zero") as caught, np.errstate(all="raise"):
        run(lambda x: np.log(x))  # this line
    assert isinstance(caught.value, WengertError)
    assert line_of(caught.value).endswith("# this line")


def test_the_location_outside_of_any_call() -> None:
    assert user_location().startswith("test_errors.py:")


ARRAY, MATRIX = np.ones(3), np.ones((2, 3))
MISTAKES: dict[str, tuple[Any, type[Exception]]] = {
    "shapes": (lambda: wg.grad(lambda x: np.sum(x + MATRIX.T))(np.ones(4)), ValueError),
    "matmul": (lambda: wg.grad(lambda x: np.sum(x @ MATRIX))(ARRAY), ValueError),
    "reshape": (lambda: wg.grad(lambda x: np.sum(x.reshape(2, 2)))(ARRAY), ValueError),
    "axis": (lambda: wg.grad(lambda x: np.sum(np.sum(x, axis=3)))(ARRAY), IndexError),
    "concatenate": (lambda: wg.grad(lambda x: np.sum(np.concatenate([x, MATRIX])))(ARRAY), ValueError),
    "index": (lambda: wg.grad(lambda x: x[3])(ARRAY), IndexError),
    "integers": (lambda: wg.grad(lambda x: x)(3), TypeError),
    "vector": (lambda: wg.grad(lambda x: x)(ARRAY), ValueError),
    "empty": (lambda: wg.grad(lambda x: np.max(x))(np.ones(0)), ValueError),
    "unsupported": (lambda: wg.grad(lambda x: np.linalg.qr(x, "raw")[0][0, 0])(MATRIX), TypeError),
    "item": (lambda: wg.grad(lambda x: x.item())(1.0), TypeError),
    "broadcast": (lambda: wg.grad(lambda x: np.sum(np.broadcast_to(x, (2, 2))))(ARRAY), ValueError),
    "transpose": (lambda: wg.grad(lambda x: np.sum(np.transpose(x, (0, 0))))(MATRIX), ValueError),
    "bits": (lambda: wg.grad(lambda x: np.sum(x | 1))(ARRAY), TypeError),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_explained(mistake: str) -> None:
    call, kind = MISTAKES[mistake]
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, WengertError)
    operation, _, rest = str(caught.value).partition(": ")
    assert operation
    assert len(rest) > 20
    assert "MISTAKES" not in rest
    assert f'"{mistake}": (lambda' in line_of(caught.value)


def test_plain_arrays_get_the_same_explanation() -> None:
    """Primitives raise the same errors on plain arrays as on boxes."""
    from wengert.engine.ops.arithmetic import add, subtract
    from wengert.engine.ops.reduction import reduce_max

    with pytest.raises(ValueError, match=r"^add: operands must broadcast together; got \(3,\), \(2,\)"):
        add(np.ones(3), np.ones(2))
    with pytest.raises(ValueError, match=r"^reduce_max: the reduced axes must not be empty"):
        reduce_max(np.ones(0), axes=(0,))
    with pytest.raises(TypeError, match=r"^add: NumPy defines no such operation|^subtract"):
        subtract(np.array(True), np.array(False))


# -- other packages between the user's line and the error --------------------------------------------------


def library(folder: str, source: str) -> dict[str, Any]:
    """Return the names in a module of a package that is installed in a folder."""
    names: dict[str, Any] = {"np": np, "wg": wg, "__name__": "library.core"}
    exec(compile(source, f"{folder}/site-packages/library/core.py", "exec"), names)
    return names


def test_the_users_line_is_named_with_that_of_a_package_behind_it() -> None:
    names = library(
        "/env/lib", "def convert(x):\n    return np.asarray(x)\n\ndef add(x):\n    return x + np.ones(7)\n"
    )
    for transform in (wg.grad, wg.jit):
        with pytest.raises(
            TypeError, match=r"library computes with plain arrays: .*core\.py:2\)\]$"
        ) as caught:
            transform(lambda x: names["convert"](x))(np.ones(3))  # this line
        location = str(caught.value).rpartition("[")[2]
        assert location.endswith(" (library/core.py:2)]")
        assert location.startswith("test_errors.py:")
        with pytest.raises(ValueError, match=r"add: .*\[test_errors\.py:\d+ \(library/core\.py:5\)\]$"):
            transform(lambda x: names["add"](x))(np.ones(3))
    assert errors.line_of(str(caught.value)).startswith("test_errors.py:")


def test_where_all_code_is_installed_its_own_line_is_named() -> None:
    names = library(
        "/env/lib",
        "def work(problems):\n  try:\n    wg.grad(int)(1.0)\n  except TypeError as e:\n    problems.append(e)",
    )
    problems: list[Exception] = []
    thread = threading.Thread(target=names["work"], args=(problems,))
    thread.start()
    thread.join()
    assert str(problems[0]).endswith(" [core.py:3]")


def fit(module: str, x: Any) -> Any:
    if module == "scipy":
        return pytest.importorskip("scipy.ndimage").gaussian_filter(x, 1.0)
    if module == "sklearn":
        return pytest.importorskip("sklearn.preprocessing").StandardScaler().fit_transform(x[:, None])
    if module == "matplotlib":
        return pytest.importorskip("matplotlib.figure").Figure().subplots().plot(x)
    return pytest.importorskip("pandas").Series(x)


@pytest.mark.parametrize("module", ["scipy", "sklearn", "matplotlib", "pandas"])
@pytest.mark.parametrize("transform", [wg.grad, wg.jit])
def test_known_packages_are_named(transform: Any, module: str) -> None:
    with pytest.raises(
        TypeError, match=rf"computes with plain arrays.* \[test_errors\.py:\d+ \({module}/.*:\d+\)\]$"
    ):
        transform(lambda x: fit(module, x))(np.ones(3))


CALLED = {
    "dop853": lambda scipy, x: (
        scipy.integrate.ode(lambda t, y: -x * y)
        .set_integrator("dop853")
        .set_initial_value(np.ones(3))
        .integrate(1.0)[0]
    ),
    "ode": lambda scipy, x: (
        scipy.integrate.ode(lambda t, y: -x * y)
        .set_integrator("lsoda")
        .set_initial_value(np.ones(3))
        .integrate(1.0)[0]
    ),
}


@pytest.mark.parametrize("name", CALLED)
@pytest.mark.parametrize("transform", [wg.grad, wg.jit])
def test_what_scipy_calls_says_what_is_wrong(
    transform: Any, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """C code hides the errors of boxes behind its own, even `SystemError`."""
    scipy = pytest.importorskip("scipy")
    with pytest.raises(TypeError, match=r"\[test_errors\.py:\d+ \(scipy/.*\)\]$") as caught:
        transform(lambda x: CALLED[name](scipy, x))(np.ones(3))
    assert isinstance(caught.value, WengertError)
    assert "SciPy computes with plain arrays" in str(caught.value)
    capfd.readouterr()  # MINPACK prints the hidden error


@pytest.mark.parametrize("name", ["brentq", "fsolve"])
def test_errors_of_the_users_own_come_through_scipy(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    optimize = pytest.importorskip("scipy.optimize")

    def wrong(t: Any) -> Any:
        raise KeyError("of my own")

    def program(x: Any) -> Any:
        try:
            float(np.stack([x, x]))  # NumPy refuses that, too
        except TypeError:
            return optimize.brentq(wrong, 0.0, 1.0) if name == "brentq" else optimize.fsolve(wrong, [0.0])

    with pytest.raises(Exception) as caught:  # noqa: PT011
        wg.grad(program)(1.0)
    assert not isinstance(caught.value, WengertError)
    capfd.readouterr()


@pytest.mark.usefixtures("young_heap")
def test_an_error_that_the_user_caught_holds_none_of_his_arrays() -> None:
    class Held(np.ndarray):
        pass

    kept: list[weakref.ref[Any]] = []

    def caught(x: Any) -> Any:
        held = np.ones(2).view(Held)
        kept.append(weakref.ref(held))
        with contextlib.suppress(TypeError):
            float(np.stack([x, x]))  # NumPy refuses that, too
        return np.sum(x * 2.0)

    wg.grad(caught)(1.0)
    gc.collect()
    assert kept[0]() is None


def test_a_users_own_type_error_about_a_box_stays() -> None:
    def picky(x: Any) -> Any:
        raise TypeError("an array is wanted, not Array")

    with pytest.raises(TypeError, match=r"^an array is wanted, not Array$"):
        wg.grad(picky)(np.ones(3))
