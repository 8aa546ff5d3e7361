"""Prediction: what a trained network takes images for."""

from wengert.predict.images import Images, read_images
from wengert.predict.predictor import Predictor

__all__ = ["Images", "Predictor", "read_images"]
