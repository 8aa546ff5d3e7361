"""Compute the results of PyTorch's optimisers and schedules, for tests/optim (needs torch 2.13).

    python tools/optimiser_numbers.py tests/optim/torch.npz

The normal tests read the file and do not import torch.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
import torch
from torch.optim import SGD, Adagrad, Adam, AdamW, RMSprop
from torch.optim import lr_scheduler as rates

STEPS = 15
FIRST = {"w": np.array([[0.5, -1.2, 2.0], [1.5, 0.3, -0.7]]), "b": np.array([0.1, -0.4])}
Parameters: TypeAlias = dict[str, torch.nn.Parameter]


def gradients(t: int) -> dict[str, Any]:
    """Return the gradients before step t."""
    i, j = np.arange(6.0).reshape(2, 3), np.arange(2.0)
    return {"w": np.cos(1.3 * t + i) * (1 + 0.1 * t), "b": np.sin(0.7 * t + 2 * j)}


def steps(
    make: Callable[[Parameters], Any],
    clip: Callable[[Iterable[Any]], Any] = lambda parameters: None,
    schedule: Callable[[Any], Any] = lambda optimiser: None,
) -> Any:
    """Return the parameters after each of the steps."""
    parameters = {name: torch.nn.Parameter(torch.tensor(value)) for name, value in FIRST.items()}
    optimiser = make(parameters)
    scheduler, rows = schedule(optimiser), []
    for t in range(STEPS):
        for name, gradient in gradients(t).items():
            parameters[name].grad = torch.tensor(gradient)
        clip(parameters.values())
        optimiser.step()
        if scheduler:
            scheduler.step()
        rows.append(np.concatenate([parameters[name].detach().numpy().ravel() for name in ("w", "b")]))
    return np.stack(rows)


def plain(kind: Any, **settings: Any) -> Callable[[Parameters], Any]:
    """Return what makes an optimiser of all parameters."""
    return lambda parameters: kind(parameters.values(), **settings)


def weights_only(parameters: Parameters) -> Any:
    """Make an AdamW that decays the matrix only."""
    decayed = {"params": [parameters["w"]], "weight_decay": 0.1}
    return AdamW([decayed, {"params": [parameters["b"]], "weight_decay": 0.0}], lr=0.05)


def norm(parameters: Iterable[Any]) -> Any:
    """Clip by the norm."""
    return torch.nn.utils.clip_grad_norm_(list(parameters), 1.5)


def value(parameters: Iterable[Any]) -> Any:
    """Clip by value."""
    return torch.nn.utils.clip_grad_value_(list(parameters), 0.3)


def schedule(kind: Any, **settings: Any) -> Callable[[Any], Any]:
    """Return what makes a scheduler."""
    return lambda optimiser: kind(optimiser, **settings)


def optimisers() -> dict[str, Any]:
    """Return the parameters after each step, by case."""
    large: dict[str, Any] = {"lr": 0.1, "betas": (0.8, 0.95), "eps": 1e-3}
    largest: dict[str, Any] = {"lr": 0.05, "betas": (0.7, 0.8), "amsgrad": True}
    full: dict[str, Any] = {"alpha": 0.8, "eps": 1e-4, "centered": True, "momentum": 0.5, "weight_decay": 0.1}
    initial: dict[str, Any] = {"eps": 1e-3, "initial_accumulator_value": 0.5, "weight_decay": 0.05}
    cycle = schedule(rates.OneCycleLR, max_lr=0.1, total_steps=STEPS + 1, cycle_momentum=False)
    nesterov = {"lr": 0.05, "nesterov": True}
    return {
        "sgd": steps(plain(SGD, lr=0.1)),
        "sgd_decay": steps(plain(SGD, lr=0.1, weight_decay=0.05)),
        "momentum": steps(plain(SGD, lr=0.05, momentum=0.8)),
        "momentum_decay": steps(plain(SGD, lr=0.05, momentum=0.9, weight_decay=0.1)),
        "nesterov": steps(plain(SGD, momentum=0.9, **nesterov)),
        "nesterov_decay": steps(plain(SGD, momentum=0.7, weight_decay=0.1, **nesterov)),
        "adagrad": steps(plain(Adagrad, lr=0.1)),
        "adagrad_initial": steps(plain(Adagrad, lr=0.2, **initial)),
        "rmsprop": steps(plain(RMSprop, lr=0.01)),
        "rmsprop_centred": steps(plain(RMSprop, lr=0.02, alpha=0.9, eps=1e-6, centered=True)),
        "rmsprop_momentum": steps(plain(RMSprop, lr=0.02, alpha=0.9, momentum=0.8)),
        "rmsprop_all": steps(plain(RMSprop, lr=0.02, **full)),
        "adam": steps(plain(Adam, lr=0.05)),
        "adam_settings": steps(plain(Adam, weight_decay=0.1, **large)),
        "adam_amsgrad": steps(plain(Adam, **largest)),
        "adamw": steps(plain(AdamW, lr=0.05, weight_decay=0.1)),
        "adamw_settings": steps(plain(AdamW, weight_decay=0.2, **large)),
        "adamw_amsgrad": steps(plain(AdamW, weight_decay=0.3, **largest)),
        "adamw_mask": steps(weights_only),
        "clip_norm": steps(plain(SGD, lr=0.1), norm),
        "clip_value": steps(plain(Adam, lr=0.1), value),
        "adam_cosine": steps(
            plain(Adam, lr=0.1), schedule=schedule(rates.CosineAnnealingLR, T_max=STEPS, eta_min=1e-3)
        ),
        "momentum_step": steps(
            plain(SGD, lr=0.1, momentum=0.9), schedule=schedule(rates.StepLR, step_size=4, gamma=0.5)
        ),
        "adamw_one_cycle": steps(plain(AdamW, lr=0.1, weight_decay=0.1), schedule=cycle),
    }


def values(make: Callable[[Any], Any]) -> Any:
    """Return the rates of the first 12 steps."""
    optimiser = SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    scheduler = make(optimiser)
    learning_rates: list[float] = []
    for t in range(12):
        if t:
            optimiser.step()
            scheduler.step()
        learning_rates.append(optimiser.param_groups[0]["lr"])
    return np.array(learning_rates)


def joined(optimiser: Any) -> Any:
    """Make a warm-up and an exponential decay."""
    line = rates.LinearLR(optimiser, start_factor=0.1, total_iters=4)
    return rates.SequentialLR(optimiser, [line, rates.ExponentialLR(optimiser, 0.8)], [4])


def warm_up_cosine(optimiser: Any) -> Any:
    """Make a warm-up and a fall along half a cosine."""
    line = rates.LinearLR(optimiser, start_factor=0.1, total_iters=4)
    fall = rates.CosineAnnealingLR(optimiser, T_max=8, eta_min=0.002)
    return rates.SequentialLR(optimiser, [line, fall], [4])


def stairs(t: int) -> float:
    """Return the factor of the rate at step t."""
    return [1.0, 0.1, 0.01][(t >= 3) + (t >= 8)]


def schedules() -> dict[str, Any]:
    """Return the rates of the first 12 steps, by case."""
    cycle = {"pct_start": 0.4, "div_factor": 10, "final_div_factor": 100, "cycle_momentum": False}
    made: dict[str, Callable[[Any], Any]] = {
        "constant": schedule(rates.LambdaLR, lr_lambda=lambda t: 1.0),
        "step_decay": schedule(rates.StepLR, step_size=4, gamma=0.3),
        "exponential": schedule(rates.ExponentialLR, gamma=0.9),
        "cosine": schedule(rates.CosineAnnealingLR, T_max=11, eta_min=0.01),
        "linear": schedule(rates.LinearLR, start_factor=0.25, total_iters=5),
        "piecewise": schedule(rates.LambdaLR, lr_lambda=stairs),
        "one_cycle": schedule(rates.OneCycleLR, max_lr=0.1, total_steps=12, **cycle),
        "join": joined,
        "warm_up_cosine": warm_up_cosine,
    }
    return {f"rate_{name}": values(make) for name, make in made.items()}


def main() -> None:
    """Write the file."""
    warnings.simplefilter("ignore")  # a scheduler's own calls of what torch has deprecated
    np.savez(sys.argv[1], **optimisers(), **schedules())


if __name__ == "__main__":
    main()
