"""PyTorch: eager, `torch.compile`, and both with channels last; fused optimisers; recurrent modules or own cells."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from harness.trainers import torch_trainer as networks
from torch.nn import functional
from workloads import ADAM, TRAININGS, initial_weights, load_data, workload

from runners.runner import Runner, batches, repeat


def recurrent(parameters: Any, x: Any, module: Any) -> Any:
    *_, v, c = parameters
    outputs, _ = module(x.transpose(0, 1))
    return outputs[-1] @ v + c


def recurrent_module(name: str, weights: list[Any]) -> Any:
    """Return `nn.RNN` or `nn.LSTM` on the given weights; its second bias stays zero."""
    module = {"rnn": torch.nn.RNN, "lstm": torch.nn.LSTM}[name](28, 64)
    module.weight_ih_l0.data, module.weight_hh_l0.data = (w.data.T.contiguous() for w in weights[:2])
    module.bias_ih_l0.data = weights[2].data
    torch.nn.init.zeros_(module.bias_hh_l0).requires_grad_(False)
    return module


def mlp(parameters: Any, x: Any) -> Any:
    w1, b1, w2, b2, w3, b3 = parameters
    x = functional.relu(torch.addmm(b1, x.flatten(1), w1))
    return torch.addmm(b3, functional.relu(torch.addmm(b2, x, w2)), w3)


def network_of(name: str, variant: str, weights: list[Any]) -> tuple[Callable[..., Any], list[Any]]:
    """Return ``network(parameters, x)`` and the parameters that the optimiser updates."""
    if name == "cnn":
        last = torch.channels_last if "channels_last" in variant else torch.contiguous_format
        for i in (0, 2):
            weights[i].data = weights[i].data.contiguous(memory_format=last)
        return partial(networks.cnn, torch, memory_format=last), weights
    if name in ("rnn", "lstm"):
        if "cells" in variant:
            cells = {"rnn": networks.rnn_cells, "lstm": networks.lstm_cells}[name]
            return partial(cells, torch), weights
        module = recurrent_module(name, weights)
        updated = [p for p in module.parameters() if p.requires_grad]
        return partial(recurrent, module=module), [*updated, *weights[3:]]
    return (mlp if name == "mlp" else partial(networks.autoencoder, torch)), weights


def train(name: str, variant: str, folder: Path) -> Runner:
    training, data = TRAININGS[name], load_data(folder)
    weights = [torch.from_numpy(weight).requires_grad_() for weight in initial_weights(name)]
    network, updated = network_of(name, variant, weights)
    first = [weight.detach().clone() for weight in updated]
    images, labels = torch.from_numpy(data.images), torch.from_numpy(data.labels)
    if training.optimiser == "adam":
        optimiser: Any = torch.optim.Adam(updated, training.rate, ADAM[:2], ADAM[2], fused=True)
    else:
        optimiser = torch.optim.SGD(updated, training.rate, fused=True)

    def loss_of(index: Any) -> Any:
        x = images[index].float() * training.scale
        x = (x - training.shift) * training.stretch if training.shift else x
        if name.startswith("autoencoder"):
            x = x.flatten(1)
            return (network(weights, x) - x).square().sum() / len(x)
        return functional.cross_entropy(network(weights, x), labels[index])

    forward = torch.compile(loss_of, dynamic=False) if "compile" in variant else loss_of
    rows = batches(training, data, 1)

    def advance(steps: int) -> Any:
        for _ in range(steps):
            optimiser.zero_grad(set_to_none=True)
            loss = forward(torch.from_numpy(next(rows)))
            loss.backward()
            optimiser.step()
        return loss.item()

    def restart() -> None:
        for weight, value in zip(updated, first, strict=True):
            weight.data.copy_(value)
        for number in (number for state in optimiser.state.values() for number in state.values()):
            if number is not None:
                number.zero_()

    return Runner(advance, training.chunk, restart)


def chain(x: Any) -> Any:
    return torch.sum(torch.exp(-x * x) * torch.sin(x) + torch.sqrt(1 + x * x))


def loss(x: Any, y: Any) -> Any:
    return torch.mean((torch.tanh(x) - y) ** 2)


def value_and_grad(function: Callable[..., Any]) -> Callable[..., Any]:
    def both(*arguments: Any) -> Any:
        gradient, value = torch.func.grad_and_value(function)(*arguments)
        return value, gradient

    return both


def logarithm(x1: Any, x2: Any) -> Any:
    return torch.log(x1) + x1 * x2 - torch.sin(x2)


def rosenbrock(x: Any) -> Any:
    return torch.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def hvp(x: Any, v: Any) -> Any:
    return torch.func.jvp(torch.func.grad(rosenbrock), (x,), (v,))[1]


def gaussians(a: Any, x: Any) -> Any:
    factor = torch.linalg.cholesky(a @ a.mT + torch.eye(3, dtype=a.dtype))
    z = torch.linalg.solve_triangular(factor, x[..., None], upper=False)
    return 0.5 * torch.sum(z**2) + torch.sum(torch.log(torch.diagonal(factor, dim1=-2, dim2=-1)))


def kalman(noise: Any, y: Any, moves: Any, seen: Any) -> Any:
    mean, spread, total = moves.new_zeros(4), torch.eye(4, dtype=moves.dtype), 0.0
    for observed in y:
        mean, spread = moves @ mean, moves @ spread @ moves.T + noise[0] * torch.eye(4, dtype=moves.dtype)
        error, innovation = (
            observed - seen @ mean,
            seen @ spread @ seen.T + noise[1] * torch.eye(2, dtype=moves.dtype),
        )
        gain = torch.linalg.solve(innovation, seen @ spread).T
        total = total + error @ torch.linalg.solve(innovation, error) + torch.linalg.slogdet(innovation)[1]
        mean, spread = mean + gain @ error, spread - gain @ seen @ spread
    return 0.5 * total


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "matmul": torch.matmul,
    "chain": chain,
    "loss": value_and_grad(loss),
    "gradient-ln": torch.func.grad(logarithm, argnums=(0, 1)),
    "gradient-rosenbrock": torch.func.grad(rosenbrock),
    "hessian-rosenbrock": torch.func.hessian(rosenbrock),
    "hvp-rosenbrock": hvp,
    "gaussians": value_and_grad(gaussians),
    "kalman": value_and_grad(kalman),
}


def to_numpy(value: Any) -> Any:
    return tuple(map(to_numpy, value)) if isinstance(value, tuple) else value.numpy()


def prepare(name: str, variant: str, threads: int, folder: Path) -> Runner:
    torch.set_num_threads(threads)
    if name in TRAININGS:
        return train(name, variant, folder)
    function = FUNCTIONS["matmul" if name.startswith("matmul") else name]
    arguments = tuple(torch.as_tensor(value, dtype=None) for value in workload(name).arguments)
    if name == "gradient-ln":
        arguments = tuple(value.double() for value in arguments)
    if variant == "compile":
        function = torch.compile(function, dynamic=False)
    return repeat(function, arguments, to_numpy)
