"""Results of PyTorch and Keras for small networks (tools/network_numbers.py)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def numbers() -> dict[str, np.ndarray]:
    """Return the arrays by case and name, such as ``"lstm/x_gradient"``."""
    with np.load(Path(__file__).with_name("numbers.npz")) as file:
        return dict(file)
