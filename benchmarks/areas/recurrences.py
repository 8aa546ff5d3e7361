"""Recurrent networks over lengths, widths and batches."""

from __future__ import annotations

from typing import Any

from areas.families import Case, Draw, family

GATES = {"rnn": 1, "lstm": 4, "gru": 3}


@family(
    kind=tuple(GATES),
    length=(28, 200),
    width=(16, 64, 256),
    batch=(1, 32),
    derivative=("", "gradient"),
)
def recurrence(draw: Draw, kind: str, length: int, width: int, batch: int, derivative: str) -> Case:
    gates, inputs = GATES[kind], 32
    x = draw(length, batch, inputs)
    parameters = (
        draw.weights(inputs, gates * width),
        draw.weights(width, gates * width),
        draw(gates * width, scale=0.1),
    )

    def program(xp: Any, parameters: Any, x: Any) -> Any:
        hidden = xp.recurrence(kind, x, *parameters)
        return xp.mean(hidden[-1] ** 2) if derivative else hidden

    return Case(program, (parameters, x), derivative, tolerance=1e-3)
