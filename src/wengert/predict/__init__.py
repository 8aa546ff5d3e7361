"""Prediction: a trained network classifies images."""

from wengert.predict.images import Images, read_images
from wengert.predict.predictor import Predictor

__all__ = ["Images", "Predictor", "read_images"]
__dir__ = __all__.copy
