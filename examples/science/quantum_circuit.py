"""A variational quantum eigensolver: the ground state of the transverse-field Ising chain by a parametrised circuit.

The state of n qubits is a vector of 2ⁿ complex amplitudes. A layer turns each qubit by RY(θ) and RZ(φ), then
entangles neighbours by controlled Z gates. The angles minimise the energy <ψ|H|ψ> of H = -J Σ Z_i Z_{i+1} - h
Σ X_i.

Sources: Peruzzo and others, "A variational eigenvalue solver on a photonic quantum processor", Nat. Commun. 5
(2014); Kandala and others, "Hardware-efficient variational quantum eigensolver", Nature 549 (2017).
"""

import sys
from collections.abc import Callable
from functools import reduce

import numpy as np
from scipy.optimize import minimize

import wengert as wg

IDENTITY = np.eye(2)
X = np.array([[0.0, 1.0], [1.0, 0.0]])
Z = np.diag([1.0, -1.0])


def pauli_string(qubits: int, factors: dict[int, np.ndarray]) -> np.ndarray:
    """Return the Kronecker product of the given factors, and of identities elsewhere."""
    return reduce(np.kron, [factors.get(q, IDENTITY) for q in range(qubits)])


def ising(qubits: int, coupling: float, field: float) -> np.ndarray:
    pairs = sum(pauli_string(qubits, {q: Z, q + 1: Z}) for q in range(qubits - 1))
    return -coupling * pairs - field * sum(pauli_string(qubits, {q: X}) for q in range(qubits))


def rotation(theta: float, phi: float) -> np.ndarray:
    """Return RZ(phi) RY(theta)."""
    c, s = np.cos(theta / 2), np.sin(theta / 2)
    turn = np.array([[c, -s], [s, c]])
    phases = np.exp(0.5j * phi * np.array([-1.0, 1.0]))
    return phases[:, None] * turn


def apply(gate: np.ndarray, psi: np.ndarray, qubit: int) -> np.ndarray:
    """Apply a gate of one qubit to a state with one axis for each qubit."""
    return np.moveaxis(np.tensordot(gate, psi, axes=(1, qubit)), 0, qubit)


def controlled_z(qubits: int) -> np.ndarray:
    """Return the signs of controlled Z gates on all neighbours."""
    bits = np.indices((2,) * qubits)
    return (-1.0) ** np.sum(bits[:-1] * bits[1:], axis=0)


def circuit(angles: np.ndarray) -> np.ndarray:
    """Return the state vector for angles of the shape (layers, qubits, 2)."""
    layers, qubits, _ = angles.shape
    psi = np.zeros((2,) * qubits, complex)
    psi[(0,) * qubits] = 1
    signs = controlled_z(qubits)
    for layer in range(layers):
        for q in range(qubits):
            psi = apply(rotation(angles[layer, q, 0], angles[layer, q, 1]), psi, q)
        psi = signs * psi
    return psi.ravel()


def energy(angles: np.ndarray, hamiltonian: np.ndarray) -> float:
    psi = circuit(angles)
    return np.vdot(psi, hamiltonian @ psi).real


def case() -> tuple[Callable[..., float], tuple]:
    """Return the energy and its arguments at a small size."""
    hamiltonian = ising(3, 1.0, 0.7)
    return lambda angles: energy(angles, hamiltonian), (np.sin(np.arange(12.0)).reshape(2, 3, 2),)


def main(path: str = "quantum_circuit.png") -> None:
    qubits, layers = 6, 5
    hamiltonian = ising(qubits, 1.0, 1.0)
    exact = np.linalg.eigvalsh(hamiltonian)[0]
    shape = (layers, qubits, 2)
    gradient = wg.value_and_grad(lambda angles: energy(angles.reshape(shape), hamiltonian))
    history = []

    def record(intermediate_result: object) -> None:
        history.append(intermediate_result.fun - exact)

    start = 0.5 * np.random.default_rng(0).standard_normal(np.prod(shape))
    options = {"maxiter": 90}
    found = minimize(gradient, start, jac=True, method="L-BFGS-B", options=options, callback=record)
    print(f"energy of the circuit {found.fun:.5f}, of the ground state {exact:.5f}")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    axes.semilogy(history)
    axes.set(
        xlabel="iteration", ylabel="energy above the ground state", title=f"{qubits} qubits, {layers} layers"
    )
    figure.savefig(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
