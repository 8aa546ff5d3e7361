"""Classifiers that train quickly."""

from __future__ import annotations

from wengert import nn
from wengert.estimators import Classifier


def quick(**chosen):
    return Classifier(**({"epochs": 15, "rate": 0.01, "random_state": 0, "compiled": False} | chosen))


def with_a_state_and_random_numbers(rng, shape, classes):
    hidden = nn.Dense(*shape, 16, seed=rng), nn.BatchNorm(16), nn.relu, nn.Dropout(0.2)
    return nn.Chain(*hidden, nn.Dense(16, classes, seed=rng))


def trained(classifier, *data, by_pass=False, **given):
    """Train a classifier, all from this line: a program has the lines of its user, and one for all is compiled once."""
    return (classifier.partial_fit if by_pass else classifier.fit)(*data, **given)
