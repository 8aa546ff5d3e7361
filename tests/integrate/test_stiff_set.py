"""The stiff set: problems whose solutions are published, and what their equations keep.

The equations and digits are those of the Test Set for IVP Solvers (Mazzia and Magherini, release 2.4). Of E5 the set
prints a run in double precision, whose last state misses ``y[1] = y[2] + y[3]`` by 0.1%; here its digits are of SciPy's
Radau at a relative tolerance of 1e-10 for the three equations that are left without y[2]; a run at 1e-9 agrees.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
import pytest

import wengert as wg
from wengert.integrate import solve_ivp
from wengert.integrate.jacobians import equations_of
from wengert.integrate.steps import System, rosenbrock
from wengert.integrate.tableaux import RODAS5P


class Problem(NamedTuple):
    """A problem, and what is known of its solution at the end."""

    fun: Callable[[Any, Any], Any]
    start: list[float]
    end: float
    expected: list[float]
    """The first components of the state at the end."""
    rtol: float
    atol: float
    error: float
    """The largest relative error of a component; the global error is larger than the tolerance of a step."""
    is_stiff: bool = True
    most: int = 40_000
    """The largest number of steps."""


# -- the equations ---------------------------------------------------------------------------------------


def hires(t: Any, y: Any) -> Any:
    """The growth of plant tissue under light (Schäfer, 1975)."""
    fixed = 280 * y[5] * y[7]
    return [
        -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007,
        1.71 * y[0] - 8.75 * y[1],
        -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4],
        8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
        -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6],
        -fixed + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
        fixed - 1.81 * y[6],
        -fixed + 1.81 * y[6],
    ]


def rober(t: Any, y: Any) -> Any:
    """Reaction rates over nine orders of magnitude (Robertson, 1966)."""
    first, second = -0.04 * y[0] + 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return [first, -first - second, second]


def orego(t: Any, y: Any) -> Any:
    """The reaction of Belousov and Zhabotinsky (Field and Noyes, 1974)."""
    return [
        77.27 * (y[1] + y[0] * (1 - 8.375e-6 * y[0] - y[1])),
        (y[2] - (1 + y[0]) * y[1]) / 77.27,
        0.161 * (y[0] - y[2]),
    ]


def vdpol(t: Any, y: Any) -> Any:
    """Van der Pol's oscillator."""
    return [y[1], ((1 - y[0] ** 2) * y[1] - y[0]) / 1e-6]


_POLLUTION = (
    ((1,), 0.35),
    ((2, 4), 26.6),
    ((5, 2), 1.23e4),
    ((7,), 8.6e-4),
    ((7,), 8.2e-4),
    ((7, 6), 1.5e4),
    ((9,), 1.3e-4),
    ((9, 6), 2.4e4),
    ((11, 2), 1.65e4),
    ((11, 1), 9e3),
    ((13,), 0.022),
    ((10, 2), 1.2e4),
    ((14,), 1.88),
    ((1, 6), 1.63e4),
    ((3,), 4.8e6),
    ((4,), 3.5e-4),
    ((4,), 0.0175),
    ((16,), 1e8),
    ((16,), 4.44e11),
    ((17, 6), 1.24e3),
    ((19,), 2.1),
    ((19,), 5.78),
    ((1, 4), 0.0474),
    ((19, 1), 1.78e3),
    ((20,), 3.12),
)
"""The reactants of each reaction, and its rate."""


def pollution(t: Any, y: Any) -> Any:
    """The chemistry of polluted air: 25 reactions of 20 species (Verwer, 1994)."""
    r: list[Any] = [0.0]
    for reactants, rate in _POLLUTION:
        flow = rate
        for species in reactants:
            flow = flow * y[species - 1]
        r.append(flow)
    return [
        -r[1] - r[10] - r[14] - r[23] - r[24] + r[2] + r[3] + r[9] + r[11] + r[12] + r[22] + r[25],
        -r[2] - r[3] - r[9] - r[12] + r[1] + r[21],
        -r[15] + r[1] + r[17] + r[19] + r[22],
        -r[2] - r[16] - r[17] - r[23] + r[15],
        -r[3] + 2 * r[4] + r[6] + r[7] + r[13] + r[20],
        -r[6] - r[8] - r[14] - r[20] + r[3] + 2 * r[18],
        -r[4] - r[5] - r[6] + r[13],
        r[4] + r[5] + r[6] + r[7],
        -r[7] - r[8],
        -r[12] + r[7] + r[9],
        -r[9] - r[10] + r[8] + r[11],
        r[9],
        -r[11] + r[10],
        -r[13] + r[12],
        r[14],
        -r[18] - r[19] + r[16],
        -r[20],
        r[20],
        -r[21] - r[22] - r[24] + r[23] + r[25],
        -r[25] + r[24],
    ]


A, B, C, M = 7.89e-10, 1.1e7, 1.13e3, 1e6


def e5(t: Any, y: Any) -> Any:
    """Pyrolysis over 13 orders of time (Enright, Hull and Lindberg, 1975); y[2]' is written with what it shares."""
    born, eaten = A * y[0], B * y[0] * y[2]
    second, fourth = born - M * C * y[1] * y[2], eaten - C * y[3]
    return [-born - eaten, second, second - fourth, fourth]


def pleiades(t: Any, z: Any) -> Any:
    """Seven stars in a plane, which come close to each other; it is not stiff."""
    x, y, velocities = z[:7], z[7:14], z[14:]
    dx, dy = x - x[:, None], y - y[:, None]
    pull = np.arange(1.0, 8.0) / (dx**2 + dy**2 + np.eye(7)) ** 1.5
    return np.concatenate([velocities, np.sum(pull * dx, axis=1), np.sum(pull * dy, axis=1)])


def ring(t: Any, y: Any) -> Any:
    """The ring modulator: four diodes mix two signals (Horneber, 1976), with C_s = 2e-12."""
    low, high = 0.5 * np.sin(2000 * np.pi * t), 2 * np.sin(20000 * np.pi * t)
    voltages = [
        y[2] - y[4] - y[6] - high,
        -y[3] + y[5] - y[6] - high,
        y[3] + y[4] + y[6] + high,
        -y[2] - y[5] + y[6] + high,
    ]
    q = [40.67286402e-9 * (np.exp(17.7493332 * u) - 1) for u in voltages]
    c, cs, cp, lh, l1, l2, l3 = 1.6e-8, 2e-12, 1e-8, 4.45, 0.002, 5e-4, 5e-4
    return [
        (y[7] - 0.5 * y[9] + 0.5 * y[10] + y[13] - y[0] / 25e3) / c,
        (y[8] - 0.5 * y[11] + 0.5 * y[12] + y[14] - y[1] / 25e3) / c,
        (y[9] - q[0] + q[3]) / cs,
        (-y[10] + q[1] - q[2]) / cs,
        (y[11] + q[0] - q[2]) / cs,
        (-y[12] - q[1] + q[3]) / cs,
        (-y[6] / 50 + q[0] + q[1] - q[2] - q[3]) / cp,
        -y[0] / lh,
        -y[1] / lh,
        (0.5 * y[0] - y[2] - 17.3 * y[9]) / l2,
        (-0.5 * y[0] + y[3] - 17.3 * y[10]) / l3,
        (0.5 * y[1] - y[4] - 17.3 * y[11]) / l2,
        (-0.5 * y[1] + y[5] - 17.3 * y[12]) / l3,
        (-y[0] + low - 86.3 * y[13]) / l1,
        (-y[1] - 636.3 * y[14]) / l1,
    ]


# -- the published solutions -----------------------------------------------------------------------------

PROBLEMS = {
    "HIRES": Problem(
        hires,
        [1.0, 0, 0, 0, 0, 0, 0, 0.0057],
        321.8122,
        [
            0.7371312573325668e-3,
            0.1442485726316185e-3,
            0.5888729740967575e-4,
            0.1175651343283149e-2,
            0.2386356198831331e-2,
            0.6238968252742796e-2,
            0.2849998395185769e-2,
            0.2850001604814231e-2,
        ],
        1e-8,
        1e-12,
        1e-7,
    ),
    "ROBER": Problem(
        rober,
        [1.0, 0, 0],
        1e11,
        [0.2083340149701255e-07, 0.8333360770334713e-13, 0.9999999791665050],
        1e-8,
        1e-16,
        1e-7,
    ),
    "OREGO": Problem(
        orego,
        [1.0, 2.0, 3.0],
        360.0,
        [0.1000814870318523e1, 0.1228178521549917e4, 0.1320554942846706e3],
        1e-8,
        1e-8,
        1e-7,
    ),
    "VDPOL": Problem(vdpol, [2.0, 0.0], 2.0, [0.1706167732170483e1, -0.8928097010247975], 1e-8, 1e-8, 1e-6),
    "Pollution": Problem(
        pollution,
        [0, 0.2, 0, 0.04, 0, 0, 0.1, 0.3, 0.01, 0, 0, 0, 0, 0, 0, 0, 0.007, 0, 0, 0],
        60.0,
        [
            0.5646255480022769e-01,
            0.1342484130422339,
            0.4139734331099427e-8,
            0.5523140207484359e-2,
            0.2018977262302196e-6,
            0.1464541863493966e-6,
            0.7784249118997964e-1,
            0.3245075353396018,
            0.7494013383880406e-2,
            0.1622293157301561e-7,
            0.1135863833257075e-7,
            0.2230505975721359e-2,
            0.2087162882798630e-3,
            0.1396921016840158e-4,
            0.8964884856898295e-2,
            0.4352846369330103e-17,
            0.6899219696263405e-2,
            0.1007803037365946e-3,
            0.1772146513969984e-5,
            0.5682943292316392e-4,
        ],
        1e-8,
        1e-20,
        1e-7,
    ),
    "Pleiades": Problem(
        pleiades,
        [3, 3, -1, -3, 2, -2, 2, 3, -3, 2, 0, 0, -4, 4, 0, 0, 0, 0, 0, 1.75, -1.5, 0, 0, 0, -1.25, 1, 0, 0],
        3.0,
        [
            0.3706139143970502,
            0.3237284092057233e1,
            -0.3222559032418324e1,
            0.6597091455775310,
            0.3425581707156584,
            0.1562172101400631e1,
            -0.7003092922212495,
            -0.3943437585517392e1,
            -0.3271380973972550e1,
            0.5225081843456543e1,
            -0.2590612434977470e1,
            0.1198213693392275e1,
            -0.2429682344935824,
            0.1091449240428980e1,
        ],
        1e-10,
        1e-10,
        1e-6,
        is_stiff=False,
    ),
    "ring modulator": Problem(
        ring,
        [0.0] * 15,
        1e-3,
        [
            -0.2339057358486745e-1,
            -0.7367485485540825e-2,
            0.2582956709291169,
            -0.4064465721283450,
            -0.4039455665149794,
            0.2607966765422943,
            0.1106761861269975,
            0.2939904342435596e-6,
            -0.2840029933642329e-7,
            0.7267198267264553e-3,
            0.7929487196960840e-3,
            -0.7255283495698965e-3,
            -0.7941401968526521e-3,
            0.7088495416976114e-4,
            0.2390059075236570e-4,
        ],
        1e-7,
        1e-9,
        1e-5,
        most=400_000,
    ),
}


def solved(problem: Problem, method: str) -> Any:
    settings: dict[str, Any] = {"rtol": problem.rtol, "atol": problem.atol, "max_steps": problem.most}

    def end(start: Any) -> Any:
        return solve_ivp(problem.fun, (0, problem.end), start, method, [problem.end], **settings).y[:, 0]

    return wg.jit(end)(np.array(problem.start, float))


def _marked(name: str) -> Any:
    return pytest.param(name, marks=[pytest.mark.slow] * (name == "ring modulator"))


@pytest.mark.parametrize("name", [_marked(name) for name in PROBLEMS])
def test_the_published_digits(name: str) -> None:
    problem = PROBLEMS[name]
    for method in ["Rodas5P"] if problem.is_stiff else ["DOP853", "Rodas5P"]:
        y = solved(problem, method)[: len(problem.expected)]
        np.testing.assert_allclose(y, problem.expected, rtol=problem.error)


# -- what the equations keep -----------------------------------------------------------------------------

E5_TIMES = np.array([1e-1, 1e3, 1e5, 1e7, 1e9, 1e11, 1e13])
E5_STATES = np.array(
    [
        [1.759999992324e-03, 1.388639592420e-13, 7.722222134781e-15, 1.311417371072e-13],
        [1.618076999907e-03, 1.382237030498e-10, 8.251573500683e-12, 1.299721295491e-10],
        [7.481320822433e-06, 2.373478156122e-12, 2.212358668960e-12, 1.611194871614e-13],
        [4.715033363026e-10, 1.818889586080e-14, 1.818881237678e-14, 8.348402029536e-20],
        [3.131714832956e-14, 1.484095795289e-16, 1.484095794837e-16, 4.524372827993e-26],
        [3.769308219735e-49, 1.019258256814e-20, 1.019258256814e-20, 3.739901219459e-65],
        [0, 8.861233521287e-23, 8.861233521287e-23, 0],
    ]
)


def _pyrolysis(rate: Any, rtol: float, times: Any) -> Any:
    """Solve E5 with all rates multiplied by one number."""

    def fun(t: Any, y: Any) -> Any:
        return rate * np.stack(e5(t, y))

    settings: dict[str, Any] = {"rtol": rtol, "atol": 1e-24}
    return solve_ivp(fun, (0, 1e13), np.array([1.76e-3, 0, 0, 0]), "Rodas5P", times, **settings).y.T


def test_e5_keeps_its_sum() -> None:
    """The sum that the equations keep is 1e-12 of what it was, so that all that rounding errors add is seen."""
    y = _pyrolysis(1.0, 1e-4, [1e13])[0]
    assert abs(y[1] - y[2] - y[3]) < 1e-21


@pytest.mark.rest
def test_e5() -> None:
    states = wg.jit(lambda rate: _pyrolysis(rate, 1e-8, E5_TIMES))(1.0)
    np.testing.assert_allclose(states[:5], E5_STATES[:5], rtol=1e-6)
    np.testing.assert_allclose(states[5:, 1:3], E5_STATES[5:, 1:3], rtol=5e-3)
    assert abs(states[-1] @ [0, 1, -1, -1]) < 1e-24


@pytest.mark.rest
def test_the_kept_sum_does_not_move_with_a_rate() -> None:
    """Derivatives follow the equations' own: the sum is kept for each rate, so its slopes are rounding errors."""

    def kept(rate: Any) -> Any:
        return np.sum(_pyrolysis(rate, 1e-4, [1e13])[0] * np.array([0.0, 1, -1, -1]))

    for slope in (wg.jvp(kept, (1.0,), (1.0,))[1], wg.jit(wg.grad(kept))(1.0)):
        assert abs(slope) < 1e-21


def network(seed: int) -> tuple[Callable[[Any, Any], Any], Any]:
    """Return the equations of reactions whose rates span 13 orders, and a start; the last species is what is left.

    The last derivative is the negative sum of the others, so that the equations keep the sum as well as numbers can.
    """
    random = np.random.default_rng(seed)
    count, reactions = int(random.integers(3, 7)), int(random.integers(4, 12))
    rates = 10.0 ** random.uniform(-3, 10, reactions)
    first, second, product = random.integers(0, count, (3, reactions))
    is_single = random.random(reactions) < 0.5
    stoichiometry = np.zeros((count - 1, reactions))
    for number in range(reactions):
        for species, change in ((first[number], -1), (product[number], 1)):
            if species < count - 1:
                stoichiometry[species, number] += change

    def fun(t: Any, y: Any) -> Any:
        flows = rates * y[first] * np.where(is_single, 1.0, y[second])
        others = stoichiometry @ flows
        return np.concatenate([others, -np.sum(others)[None]])

    return fun, random.uniform(0, 1, count)


def _moved(seed: int) -> list[float]:
    """Return how far each of some growing steps moves the sum, in rounding errors of the slopes that it reads."""
    fun, y = network(seed)
    equations, moved = equations_of("solve_ivp", fun, 0.0, y, None, None, ()), list[float]()
    for h in 10.0 ** np.arange(-12.0, 3.0):
        largest = [0.0]

        def watched(t: Any, y: Any, largest: Any = largest) -> Any:
            slope = fun(t, y)
            largest.append(float(np.abs(slope).max()) if isinstance(slope, np.ndarray) else 0.0)
            return cast("Any", slope)

        step = rosenbrock(RODAS5P).step(System(watched, equations), 0.0, y, fun(0.0, y), h, False)
        if not np.all((step.y > -1e-3) & (step.y < 10)):
            break  # too far for one step
        allowed = np.finfo(float).eps * (np.abs(y).sum() + np.abs(step.y).sum() + h * max(largest))
        moved.append(abs(step.y.sum() - y.sum()) / allowed)
        y = step.y
    return moved


@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 1000), marks=pytest.mark.slow)])
def test_a_step_keeps_the_sum_of_a_network(seeds: range) -> None:
    """To rounding errors of the slopes that it reads, however stiff the reactions are and however long the step."""
    with np.errstate(all="ignore"):  # of a step that is too long
        assert max(share for seed in seeds for share in _moved(seed)) < 4
