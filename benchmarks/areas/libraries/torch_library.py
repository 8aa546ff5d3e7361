"""PyTorch: eager operations, `torch.autograd`, and its fused recurrent networks."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from areas.families import Case
from areas.libraries.library import Library, Namespace, Unsupported, leaves, mapped

torch.set_num_threads(len(os.sched_getaffinity(0)))
torch.set_flush_denormal(True)  # XLA always takes subnormal numbers as zero
CONVOLUTIONS = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
TRANSPOSED = {1: functional.conv_transpose1d, 2: functional.conv_transpose2d, 3: functional.conv_transpose3d}


class TorchNamespace(Namespace):
    """`torch`, and functions of `torch.nn.functional`."""

    gelu, softplus = staticmethod(functional.gelu), staticmethod(functional.softplus)
    cross_entropy = staticmethod(functional.cross_entropy)
    max_pool, average_pool = staticmethod(functional.max_pool2d), staticmethod(functional.avg_pool2d)

    def sort(self, x: Any, axis: int) -> Any:
        return torch.sort(x, axis).values

    def scan(self, step: Any, carry: Any, xs: Any, length: int | None = None) -> Any:
        results: list[Any] = []
        for row in range(length) if xs is None else xs:
            carry, y = step(carry, row)
            results.append(y)
        return carry, None if results[0] is None else torch.stack(results)

    def while_loop(self, condition: Any, body: Any, state: Any) -> Any:
        while condition(state):
            state = body(state)
        return state

    def conv(
        self, x: Any, weight: Any, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1
    ) -> Any:
        return CONVOLUTIONS[x.ndim - 2](x, weight, None, stride, padding, dilation, groups)

    def conv_transposed(self, x: Any, weight: Any, stride: int, padding: int) -> Any:
        return TRANSPOSED[x.ndim - 2](x, weight, None, stride, padding)

    def recurrence(self, kind: str, x: Any, inward: Any, weights: Any, bias: Any) -> Any:
        module = {"rnn": torch.rnn_tanh, "lstm": torch.lstm, "gru": torch.gru}[kind]
        zero = torch.zeros(1, x.shape[1], weights.shape[0])
        state = (zero, zero) if kind == "lstm" else zero
        parameters = [inward.T.contiguous(), weights.T.contiguous(), bias, torch.zeros_like(bias)]
        return module(x, state, parameters, True, 1, 0.0, False, False, False)[0]

    def segment_sum(self, values: Any, segments: Any, count: int) -> Any:
        return values.new_zeros((count, *values.shape[1:])).index_add(0, segments, values)

    def pad_by_one(self, x: Any) -> Any:
        return functional.pad(x, (1, 1) * x.ndim)

    def median_of_odd(self, x: Any) -> Any:
        return torch.median(x, -1).values

    def expm(self, a: Any) -> Any:
        return torch.matrix_exp(a)

    def interp(self, x: Any, knots: Any, heights: Any) -> Any:
        raise Unsupported("interp")

    def solve_triangular(self, factor: Any, b: Any) -> Any:
        return torch.linalg.solve_triangular(factor, b, upper=False)


class Torch(Library):
    """PyTorch."""

    namespace = TorchNamespace(torch)

    def array(self, value: Any) -> Any:
        return torch.as_tensor(value)

    def function(self, case: Case) -> Callable[..., Any]:
        if case.torch is not None:
            return case.torch

        def program(*arguments: Any) -> Any:
            return case.program(self.namespace, *arguments)

        if not case.derivative:
            return torch.no_grad()(program)
        if case.derivative in ("gradient", "pullback"):
            return gradient(program, case)
        if case.derivative not in ("jacfwd", "jacrev", "hessian"):
            raise Unsupported(case.derivative)
        return getattr(torch.func, case.derivative)(program)


def gradient(program: Callable[..., Any], case: Case) -> Callable[..., Any]:
    """Return what computes a gradient with its value, or a pullback, by `torch.autograd`."""
    pullback = case.derivative == "pullback"

    def compute(*arguments: Any) -> Any:
        inputs = list(arguments[:-1] if pullback else arguments)
        for i in case.wrt:
            inputs[i] = mapped(lambda leaf: leaf.detach().requires_grad_(), inputs[i])
        roots = leaves([inputs[i] for i in case.wrt])
        value = program(*inputs)
        gradients = torch.autograd.grad(value, roots, arguments[-1] if pullback else None)
        return gradients if pullback else (value.detach(), gradients)

    return compute


LIBRARY = Torch()
