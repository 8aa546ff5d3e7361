"""Data: IDX files, MNIST and Fashion-MNIST, a built-in set of handwritten digits, minibatches."""

from __future__ import annotations

from wengert.data.batches import batches
from wengert.data.dataset import Dataset
from wengert.data.digits import digit_set, digits
from wengert.data.errors import DataError, DataNotFoundError
from wengert.data.idx import read_idx, write_idx
from wengert.data.mnist import load

__all__ = [
    "DataError", "DataNotFoundError", "Dataset", "batches", "digit_set", "digits", "load", "read_idx",
    "write_idx",
]  # fmt: skip
