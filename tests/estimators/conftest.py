"""The training data of the tests of estimators."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(scope="module")
def iris():
    from sklearn.datasets import load_iris
    from sklearn.preprocessing import StandardScaler

    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["setosa", "versicolor", "virginica"])[y]
