"""Prediction: a trained network classifies images, or continues texts."""

from wengert.predict.images import Images, read_images
from wengert.predict.predictor import Predictor
from wengert.predict.writer import Writer

__all__ = ["Images", "Predictor", "Writer", "read_images"]
__dir__ = __all__.copy
