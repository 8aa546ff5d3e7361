"""Arrays with labels: functions see their values, and results with the same axes have the labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.optional import Package

pandas, xarray = Package("pandas"), Package("xarray")


def series() -> Any:
    return pandas.Series([1.0, 2.0, 3.0], index=list("abc"), name="rate")


def frame() -> Any:
    return pandas.DataFrame({"mass": [1.0, 2.0], "speed": [3.0, 4.0]}, index=["car", "train"])


def array() -> Any:
    return xarray.DataArray(
        [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
        dims=("time", "place"),
        coords={"time": [10, 20]},
        name="heat",
        attrs={"unit": "K"},
    )


def check_same(got: Any, labelled: Any, values: Any) -> None:
    """Check that a result has the class and the labels of another array, and some values."""
    assert type(got) is type(labelled)
    if isinstance(labelled, xarray.DataArray):
        xarray.testing.assert_identical(got, labelled.copy(data=values))
    else:
        assert got.equals(labelled * 0.0 + values)
        assert getattr(got, "name", None) == getattr(labelled, "name", None)


@pytest.fixture(params=[series, frame, array])
def labelled(request: pytest.FixtureRequest) -> Any:
    return request.param()


def cubes(x: Any) -> Any:
    assert not hasattr(x, "to_numpy")  # it sees the values
    return np.sum(x**3)


def test_derivatives_have_the_labels(labelled: Any):
    x = labelled.to_numpy()
    check_same(wg.grad(cubes)(labelled), labelled, 3 * x**2)
    check_same(wg.value_and_grad(cubes)(labelled)[1], labelled, 3 * x**2)
    check_same(wg.hvp(cubes)(labelled, labelled), labelled, 6 * x**2)
    check_same(wg.vjp(cubes, labelled)[1](1.0)[0], labelled, 3 * x**2)
    value, slope = wg.jvp(cubes, (labelled,), (labelled,))
    assert (value, slope) == (np.sum(x**3), 3 * np.sum(x**3))


def test_they_may_be_parts_of_containers(labelled: Any):
    gradient = wg.grad(lambda p: p["scale"] * cubes(p["x"]))({"x": labelled, "scale": 2.0})
    check_same(gradient["x"], labelled, 6 * labelled.to_numpy() ** 2)
    assert gradient["scale"] == np.sum(labelled.to_numpy() ** 3)


def test_results_with_other_axes_are_plain(labelled: Any):
    x = labelled.to_numpy()
    jacobian = wg.jacobian(lambda x: 2.0 * x)(labelled)
    assert type(jacobian) is np.ndarray
    assert jacobian.shape == x.shape * 2
    np.testing.assert_array_equal(wg.vmap(cubes)(labelled), np.sum(x**3, axis=tuple(range(1, x.ndim))))


def test_compiled_functions_take_the_values_and_do_not_depend_on_labels(labelled: Any):
    traces: list[None] = []

    @wg.jit
    def compiled(x: Any) -> Any:
        traces.append(None)
        return cubes(x)

    assert compiled(labelled) == np.sum(labelled.to_numpy() ** 3)
    other = labelled.copy()
    if isinstance(other, xarray.DataArray):
        other["time"] = [30, 40]
    else:
        other.index = [*"xyz"][: len(other)]
    assert compiled(other) == compiled(labelled)
    assert len(traces) == 1


def test_what_is_found_has_the_labels_of_the_start():
    found = wg.optimize.minimize(lambda x: np.sum((x - 1.0) ** 2), series())
    assert type(found.x) is pandas.Series
    assert list(found.x.index) == list("abc")
    np.testing.assert_allclose(found.x, 1.0, rtol=1e-6)


def test_operators_of_labelled_data_leave_the_operation_to_wengert():
    data = frame()

    def loss(w: Any) -> Any:
        return np.sum((data["speed"] - w * data["mass"]) ** 2)

    mass, speed = data["mass"].to_numpy(), data["speed"].to_numpy()
    assert wg.grad(loss)(0.5) == pytest.approx(np.sum(-2 * mass * (speed - 0.5 * mass)))


def test_values_that_are_no_numbers_are_refused():
    with pytest.raises(TypeError, match="grad: numbers or booleans are required; got object"):
        wg.grad(np.sum)(pandas.Series(["a", "b"]))
