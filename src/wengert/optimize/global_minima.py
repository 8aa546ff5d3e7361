"""SciPy's searches for the least minimum inside a followed program.

Differential evolution stands for those between bounds, a grid for `brute`, and hops for `basinhopping`. The search
follows nothing; from the point that it finds, projected L-BFGS goes to the minimum, which has its derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from wengert.engine.boxes import boxed
from wengert.engine.control.while_loop import while_loop
from wengert.engine.core.errors import ArgumentError, message
from wengert.engine.ops.comparison import (
    greater,
    less,
    logical_and,
    logical_not,
    logical_or,
    require_end,
    where,
)
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.engine.ops.exponential import exp
from wengert.engine.transforms.batching import vmap
from wengert.implicit.vectors import lifted
from wengert.optimize.compiled import lbfgs
from wengert.optimize.flat import Flat
from wengert.optimize.limits import flat_bounds
from wengert.optimize.scipys import scipy_optimize
from wengert.random import key, split, uniform

Function = Callable[[Any], Any]
Given = Mapping[str, Any]
#: The generations of a search.
_MOST = 3000


def searched(name: str, function: Function, given: Given) -> Any:
    """Return SciPy's result of a search between bounds."""
    _refuse(name, given, ("constraints", "integrality", "callback", "vectorized", "minimizer_kwargs"))
    low, high, bounds = _ends(name, given["bounds"])
    values = vmap(cast("Function", lambda x: stop_gradient(function(x))))
    found, is_settled = _evolved(values, low, high, int(given.get("popsize", 15)))
    requirement = f"the search must settle in {_MOST} generations"
    found = require_end(found, is_settled, operation=f"scipy.optimize.{name}", requirement=requirement)
    return _result(name, function, found, bounds)


def brute(function: Function, given: Given) -> Any:
    """Return the minimum to which the least point of a grid leads."""
    ranges, count = given["ranges"], complex(0, given["Ns"])
    if given["finish"] is None:
        requirement = "the least point of a grid has no derivative: finish must search on"
        raise ArgumentError(message("scipy.optimize.brute", requirement))
    make = cast("Any", slice)
    axes: list[Any] = [
        part if isinstance(part, slice) else make(*part, *[count][len(part) - 2 :]) for part in ranges
    ]
    points = np.mgrid[tuple(axes)].reshape(len(axes), -1).T
    values = vmap(lambda x: stop_gradient(function(x)))(points)
    return _result("brute", function, boxed(points)[np.argmin(values)], None).x


def basinhopping(function: Function, given: Given) -> Any:
    """Return the least of the minima that hops of a random length reach, as Wales and Doye (1997) do."""
    _refuse("basinhopping", given, ("take_step", "accept_test", "callback", "niter_success"))
    local: Given = given["minimizer_kwargs"] or {}
    _refuse("basinhopping", local, tuple(set(local) - {"method", "tol", "options"}))
    start = np.ravel(np.asarray(given["x0"]) * 1.0)
    plain = _unfollowed(function, start)

    def hop(state: Any) -> Any:
        number, seed, x, value, best, least = state
        seed, first, second = split(seed, 3)
        step = given["stepsize"] * (2.0 * uniform(first, start.shape) - 1.0)
        found = lbfgs(plain, x + step)
        is_taken = less(uniform(second), exp(-(found.fun - value) / given["T"]))
        is_less = less(found.fun, least)
        best, least = where(is_less, found.x, best), where(is_less, found.fun, least)
        return number + 1, seed, where(is_taken, found.x, x), where(is_taken, found.fun, value), best, least

    begin = lbfgs(plain, start)
    state = (np.int64(0), key(0), begin.x, begin.fun, begin.x, begin.fun)
    state = while_loop(lambda state: less(state[0], int(given["niter"])), hop, state)
    return _result("basinhopping", function, state[4], None)


def middle(name: str, given: Given) -> Any:
    """Return a point of the region in which a search goes on."""
    if "x0" in given and given["x0"] is not None:
        return np.ravel(np.asarray(given["x0"]) * 1.0)
    if "ranges" in given:
        ends: list[Any] = [
            (part.start, part.stop) if isinstance(part, slice) else part[:2] for part in given["ranges"]
        ]
        return np.mean(np.array(ends, float), 1)
    low, high, _ = _ends(name, given["bounds"])
    return 0.5 * (low + high)


def _refuse(name: str, given: Given, names: tuple[str, ...]) -> None:
    wrong = [option for option in names if option in given and np.size(given[option] or ())]
    if wrong:
        requirement = "a search that is followed has no such options"
        raise ArgumentError(message(f"scipy.optimize.{name}", requirement, ", ".join(wrong)))


def _ends(name: str, bounds: Any) -> tuple[Any, Any, Any]:
    optimize = scipy_optimize(name)
    size = np.size(bounds.lb) if isinstance(bounds, optimize.Bounds) else len(bounds)
    found = flat_bounds(optimize, Flat(f"scipy.optimize.{name}", np.zeros(size)), bounds)
    if not np.isfinite([found.lb, found.ub]).all():
        raise ArgumentError(
            message(f"scipy.optimize.{name}", "the bounds must be finite numbers", str(bounds))
        )
    return found.lb, found.ub, found


def _unfollowed(function: Function, start: Any) -> Function:
    """Return a function of which a transform follows the variables alone."""
    of_all, values = lifted(function, start)
    held = list(map(stop_gradient, values))
    return lambda x: of_all(*held, x)


def _evolved(values: Function, low: Any, high: Any, popsize: int) -> tuple[Any, Any]:
    """Return the best point of a population that evolves (Storn and Price, 1997), and whether its values are near.

    A point moves by a multiple of the difference of two others from a third one, whose coordinates it takes in part.
    """
    size = len(low)
    count = max(popsize * size, 5)
    first, second, begin = split(key(0), 3)
    strata = np.argsort(uniform(first, (count, size)), axis=0) + uniform(second, (count, size))
    points = low + (high - low) * strata / count

    def turn(state: Any) -> Any:
        number, seed, points, heights = state
        seed, *keys = split(seed, 5)
        steps = np.floor(uniform(keys[0], (3, count)) * (count - 1)).astype(int) + 1
        one, two, base = (points[(np.arange(count) + step) % count] for step in steps)
        moved = base + (0.5 + 0.5 * uniform(keys[1])) * (one - two)
        draws = uniform(keys[2], (count, size))
        is_crossed = logical_or(less(draws, 0.7), np.arange(size) == np.argmin(draws, 1)[:, None])
        trial = where(is_crossed, moved, points)
        inside = logical_and(trial >= low, trial <= high)
        trial = where(inside, trial, low + (high - low) * uniform(keys[3], (count, size)))
        reached = values(trial)
        is_better = less(reached, heights)
        return (
            number + 1,
            seed,
            where(is_better[:, None], trial, points),
            where(is_better, reached, heights),
        )

    def is_apart(heights: Any) -> Any:
        return greater(np.std(heights), 0.01 * np.abs(np.mean(heights)) + 1e-14)

    _, _, points, heights = while_loop(
        lambda state: logical_and(less(state[0], _MOST), is_apart(state[3])),
        turn,
        (np.int64(0), begin, points, values(points)),
    )
    return points[np.argmin(heights)], logical_not(is_apart(heights))


def _result(name: str, function: Function, start: Any, bounds: Any) -> Any:
    # The first descent may end by rounding errors alone; the second one has the certificate.
    near = lbfgs(_unfollowed(function, start), start, bounds=bounds, gtol=1e-8, ftol=1e-15).x
    found = lbfgs(function, stop_gradient(near), bounds=bounds)
    requirement = "the search must lead to a minimum"
    x = require_end(found.x, found.converged, operation=f"scipy.optimize.{name}", requirement=requirement)
    return scipy_optimize(name).OptimizeResult(
        x=x, fun=function(x), success=True, status=0, message="the minimum of the program"
    )


#: The searches between bounds that differential evolution stands for.
BETWEEN_BOUNDS = ("differential_evolution", "direct", "dual_annealing", "shgo")
