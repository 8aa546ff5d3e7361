"""AC power flow of the WSCC 9-bus network, and generator voltages that lose the least power.

The complex power into the buses is S = V conj(Y V), with the admittance matrix Y of π-model lines. Newton's
method finds the voltage angles of all buses but the slack, and the magnitudes at the load buses, for given
injections. The losses, the real part of Σ S, are differentiated through the solution.

Sources: Tinney and Hart, "Power flow solution by Newton's method", IEEE Trans. Power Appar. Syst. 86 (1967);
Anderson and Fouad, "Power System Control and Stability" (1977), the 9-bus system.
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

import wengert as wg

# from bus, to bus, resistance, reactance, charging susceptance, per unit of 100 MVA
LINES = np.array(
    [
        [0, 3, 0.0, 0.0576, 0.0],
        [3, 4, 0.017, 0.092, 0.158],
        [4, 5, 0.039, 0.17, 0.358],
        [2, 5, 0.0, 0.0586, 0.0],
        [5, 6, 0.0119, 0.1008, 0.209],
        [6, 7, 0.0085, 0.072, 0.149],
        [7, 1, 0.0, 0.0625, 0.0],
        [7, 8, 0.032, 0.161, 0.306],
        [8, 3, 0.01, 0.085, 0.176],
    ]
)
LOADS = np.array([0, 0, 0, 0, 0.9 + 0.3j, 0, 1.0 + 0.35j, 0, 1.25 + 0.5j])
GENERATORS = 3  # the first buses; the first of them is the slack


def admittance(lines: np.ndarray, buses: int) -> np.ndarray:
    """Return the complex admittance matrix of the network."""
    Y = np.zeros((buses, buses), complex)
    for start, end, resistance, reactance, charging in lines:
        i, j, y = int(start), int(end), 1 / (resistance + 1j * reactance)
        Y[i, i] += y + 0.5j * charging
        Y[j, j] += y + 0.5j * charging
        Y[i, j] -= y
        Y[j, i] -= y
    return Y


def voltages(state: np.ndarray, magnitudes: np.ndarray, buses: int) -> np.ndarray:
    """Return the complex voltages; the state holds angles, then the magnitudes of load buses."""
    angle, magnitude = np.zeros(buses), np.ones(buses)
    angle[1:] = state[: buses - 1]
    magnitude[:GENERATORS], magnitude[GENERATORS:] = magnitudes, state[buses - 1 :]
    return magnitude * np.exp(1j * angle)


def jacobian(V: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return the derivatives of the mismatches in the state."""
    unit, current = V / np.abs(V), Y @ V
    by_magnitude = V[:, None] * np.conj(Y * unit) + np.diag(np.conj(current) * unit)
    by_angle = 1j * V[:, None] * np.conj(np.diag(current) - Y * V)
    d = np.concatenate([by_angle[:, 1:], by_magnitude[:, GENERATORS:]], axis=1)
    return np.concatenate([d.real[1:], d.imag[GENERATORS:]])


def power_flow(magnitudes: np.ndarray, power: np.ndarray, Y: np.ndarray, iterations: int = 4) -> np.ndarray:
    """Return the voltages of all buses.

    Args:
        magnitudes: voltage magnitudes of the generators.
        power: real power of the generators but the slack.
        Y: the admittance matrix.
        iterations: the number of Newton steps; the error squares in each.
    """
    buses = len(Y)
    real = np.concatenate([power, np.zeros(buses - GENERATORS)]) - LOADS.real[1:]
    state = np.concatenate([np.zeros(buses - 1), np.ones(buses - GENERATORS)])
    for _ in range(iterations):
        V = voltages(state, magnitudes, buses)
        S = V * np.conj(Y @ V)
        mismatch = np.concatenate([S.real[1:] - real, S.imag[GENERATORS:] + LOADS.imag[GENERATORS:]])
        state = state - np.linalg.solve(jacobian(V, Y), mismatch)
    return voltages(state, magnitudes, buses)


def losses(magnitudes: np.ndarray, power: np.ndarray, Y: np.ndarray, iterations: int = 4) -> float:
    V = power_flow(magnitudes, power, Y, iterations)
    return np.sum(V * np.conj(Y @ V)).real


def case() -> tuple[Callable[..., float], tuple]:
    """Return the losses after one iteration and their arguments."""
    Y = admittance(LINES, 9)
    return lambda magnitudes, power: losses(magnitudes, power, Y, 1), (np.ones(3), np.array([1.63, 0.85]))


def main(path: str = "power_flow.png") -> None:
    Y = admittance(LINES, 9)
    magnitudes, power = np.ones(3), np.array([1.63, 0.85])
    fast = wg.jit(wg.value_and_grad(lambda v: losses(v[:3], v[3:], Y)))
    start = np.concatenate([magnitudes, power])
    value, slope = fast(start)
    print(f"losses {100 * value:.3f} MW; a MW more at generators 2 and 3 adds {slope[3:].round(4)} MW")
    bounds = [(0.9, 1.1)] * 3 + [(0.1, 3.0), (0.1, 2.7)]
    found = minimize(fast, start, jac=True, method="L-BFGS-B", bounds=bounds)
    print(
        f"least losses {100 * found.fun:.3f} MW at voltages {found.x[:3].round(3)}, MW {(100 * found.x[3:]).round(1)}"
    )

    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.5), layout="constrained")
    axes = figure.subplots()
    for x, label in ((start, "given"), (found.x, "least losses")):
        axes.plot(range(1, 10), np.abs(power_flow(x[:3], x[3:], Y)), "o-", label=label)
    axes.set(xlabel="bus", ylabel="voltage, per unit")
    axes.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
