"""Linear systems and designs of filters: SciPy's own classes on followed values, also where only a run knows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

pytest.importorskip("scipy")
pytest.importorskip("scipy.signal._polyutils", reason="SciPy's designs call NumPy's polynomials before 1.17")

from scipy import interpolate, signal, spatial

from tests.scipy.checks import close

T = np.linspace(0.0, 2.0, 6)
W = np.array([0.3, 1.0, 2.5])
U = np.sin(np.arange(6.0))
#: Programs of four numbers about 1.
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "TransferFunction": lambda p: signal.TransferFunction([p[0]], [p[1], p[2], p[3]]).den,
    "lti": lambda p: signal.lti([p[0], p[1]], [1.0, p[2], 3.0 * p[3]]).to_ss().A,
    "to_zpk": lambda p: np.abs(signal.lti([p[0], p[1]], [1.0, p[2], 3.0 * p[3]]).to_zpk().poles),
    "ZerosPolesGain": lambda p: signal.ZerosPolesGain([p[0]], [-p[1], -2.0 * p[2]], p[3]).to_tf().den,
    "StateSpace": lambda p: (
        signal.StateSpace([[0.0, p[0]], [-p[1], -p[2]]], [[0.0], [1.0]], [[p[3], 0.0]], [[0.0]]).freqresp(W)[1].real
    ),
    "bode": lambda p: signal.bode(([p[0]], [1.0, p[1], p[2]]), w=W)[1:],
    "freqresp": lambda p: np.abs(signal.freqresp(([p[0]], [1.0, p[1], p[2] * p[3]]), w=W)[1]),
    "impulse": lambda p: signal.impulse(([p[0]], [1.0, p[1], p[2]]), T=T)[1],
    "step": lambda p: signal.step(([p[0]], [1.0, p[1], p[2]]), T=T)[1],
    "lsim": lambda p: signal.lsim(([p[0]], [1.0, p[1], p[2]]), p[3] * U, T)[1],
    "lsim with a state": lambda p: signal.lsim(([1.0], [1.0, p[0], p[1]]), U, T, X0=p[2:])[1],
    "cont2discrete": lambda p: signal.cont2discrete(([p[0]], [1.0, p[1], p[2]]), 0.1 * p[3])[:2],
    "bilinear discrete": lambda p: signal.cont2discrete(([p[0]], [1.0, p[1]]), 0.1 * p[3], "bilinear")[1],
    "dlsim": lambda p: signal.dlsim(([p[0]], [1.0, 0.3 * p[1], 0.2 * p[2]], 0.1), p[3] * U)[1],
    "dstep": lambda p: signal.dstep(([p[0]], [1.0, 0.3 * p[1], 0.2 * p[2]], 0.1), n=5)[1][0],
    "dimpulse": lambda p: signal.dimpulse(([p[0]], [1.0, 0.3 * p[1], 0.2 * p[2]], 0.1), n=5)[1][0],
    "dbode": lambda p: signal.dbode(([p[0]], [1.0, 0.3 * p[1], 0.2 * p[2]], 0.1), w=W)[1],
    "dfreqresp": lambda p: np.abs(signal.dfreqresp(([p[0]], [1.0, 0.3 * p[1]], 0.1), w=W)[1]),
    "CZT": lambda p: np.abs(signal.CZT(4)(p)),
    "CZT along an axis": lambda p: np.abs(signal.CZT(2, 3)(p.reshape(2, 2), axis=0)),
    "ZoomFFT": lambda p: np.abs(signal.ZoomFFT(4, 0.5)(p)),
    "butter": lambda p: signal.butter(4, 0.3 * p[0]),
    "butter of a band": lambda p: signal.butter(2, np.stack([0.2 * p[0], 0.6 * p[1]]), "band")[1],
    "bessel": lambda p: signal.bessel(3, 0.3 * p[0], "high")[1],
    "cheby1": lambda p: signal.cheby1(3, p[0], 0.3 * p[1]),
    "cheby2": lambda p: signal.cheby2(3, 20.0 * p[0], 0.3 * p[1]),
    "ellip": lambda p: signal.ellip(3, 1.0, 20.0, 0.3 * p[0]),
    "iirfilter": lambda p: signal.iirfilter(3, p[0], analog=True, btype="low")[1],
    "tf2zpk": lambda p: np.abs(signal.tf2zpk([p[0], p[1]], [1.0, p[2], 3.0 * p[3]])[1]),
    "zpk2tf": lambda p: signal.zpk2tf([p[0]], np.stack([p[1] + 1j * p[2], p[1] - 1j * p[2]]), p[3]),
    "tf2ss": lambda p: signal.tf2ss([p[0], p[1]], [p[2], p[3], 0.2]),
    "zpk2ss": lambda p: signal.zpk2ss([p[0]], [p[1], 2.0 * p[2]], p[3])[:2],
    "ss2tf": lambda p: signal.ss2tf([[0.0, p[0]], [-p[1], -p[2]]], [[0.0], [1.0]], [[p[3], 0.0]], [[1.0]]),
    "sos2tf": lambda p: signal.sos2tf(np.stack([np.concatenate([p[:3], np.ones(1), p[2:]])] * 2)),
    "bilinear of two": lambda p: signal.normalize([[p[0], p[1]], [p[2], 1.0]], [p[3], 2.0]),
    "zeros before a numerator": lambda p: signal.normalize([0.0, 0.0, 3.0], [p[0], p[1]]),
    "residue": lambda p: np.abs(signal.residue([p[0], p[1]], [p[2], 4.0 * p[3], 1.0])[0]),
    "residuez": lambda p: np.abs(signal.residuez([p[0], p[1]], [p[2], 4.0 * p[3], 1.0])[0]),
    "residue of a high degree": lambda p: signal.residue([p[0], p[1], 1.0, 2.0], [p[2], 4.0 * p[3], 1.0])[2],
    "Rbf": lambda p: interpolate.Rbf(np.arange(4.0) * p, p**2)(0.7 * p[0]),
    "Rbf at a centre": lambda p: interpolate.Rbf(np.arange(4.0), p**2)(p[0] - p[0] + 2.0),
    "Rectangle": lambda p: spatial.Rectangle(2.0 + p[:2], p[2:]).min_distance_point([0.0, 5.0], 3.0),
}  # fmt: skip


def total(program: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def loss(p: Any) -> Any:
        parts = wg.tree.leaves(program(p))
        return sum(np.sum(part * (0.7 + 0.1 * place)) for place, part in enumerate(parts))

    return loss


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_systems_have_scipys_values_and_derivatives_in_all_modes(name: str) -> None:
    program, loss = PROGRAMS[name], total(PROGRAMS[name])
    p = np.random.default_rng(len(name)).uniform(0.8, 1.2, 4)
    close(wg.vjp(program, p)[0], program(p), 1e-9, dtypes=False)
    close(wg.jit(program)(p), program(p), 1e-9, dtypes=False)
    wg.check_grads(loss, (p,), order=2)
    gradient = wg.grad(loss)
    expected = gradient(p)
    close(wg.jit(gradient)(p), expected, 1e-9)
    close(wg.vmap(gradient)(np.stack([p, p])), np.stack([expected, expected]), 1e-9)


def test_a_system_that_a_program_made_before_follows_its_arguments() -> None:
    system = signal.lti([1.0], [1.0, 2.0, 3.0])
    wg.check_grads(lambda w: np.abs(system.freqresp(w)[1]).sum(), (W,), order=2)
    wg.check_grads(lambda u: system.output(u, T)[1].sum(), (U,))


OUTSIDE: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "first coefficient": (lambda p: signal.tf2zpk([1.0, p[0]], [p[0], 2.0, p[1]])[1].real, [0.0, 3.0]),
    "first of a numerator": (lambda p: signal.tf2ss([p[0], 1.0], [p[1], 2.0])[0], [0.0, 1.0]),
    "last coefficient": (lambda p: signal.residuez([1.0, p[0]], [1.0, 3.0, p[1]])[0].real, [3.0, 0.0]),
    "conjugate pairs": (lambda p: signal.zpk2tf([p[0] + 1j * p[1]], [0.5], 1.0)[0].real, [1.0, 1.0]),
}


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.filterwarnings("ignore")
def test_numbers_outside_of_general_position_have_scipys_values_from_python(name: str) -> None:
    program, outside = OUTSIDE[name]
    p = np.array(outside)
    close(wg.jit(program)(p), program(p), 1e-9, dtypes=False)
    gradient = wg.grad(total(program))
    close(wg.jit(gradient)(p), gradient(p), 1e-9)
