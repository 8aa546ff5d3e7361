"""Data: IDX files, MNIST, a built-in set of handwritten digits, minibatches, sources that do not fit memory."""

from __future__ import annotations

from wengert.data.array_sets import load_arrays, save_source
from wengert.data.batches import batches
from wengert.data.dataset import Dataset
from wengert.data.digits import digit_set, digits
from wengert.data.errors import DataError, DataNotFoundError
from wengert.data.idx import read_idx, write_idx
from wengert.data.image_folders import image_folder
from wengert.data.mnist import load
from wengert.data.sources import Source, array_source, open_source, text_source
from wengert.data.stream import Stream

__all__ = [
    "DataError", "DataNotFoundError", "Dataset", "Source", "Stream", "array_source", "batches", "digit_set",
    "digits", "image_folder", "load", "load_arrays", "open_source", "read_idx", "save_source",
    "text_source", "write_idx",
]  # fmt: skip
__dir__ = __all__.copy
