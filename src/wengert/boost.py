"""Losses for gradient boosting: gradients and Hessians of examples for XGBoost and LightGBM, compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from wengert.compiler.jit import jit
from wengert.engine.control import stop_gradient
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError, RangeError, ShapeError, message, name_of
from wengert.engine.core.shapes import shape_of
from wengert.engine.transforms.batching import vmap
from wengert.engine.transforms.callbacks import followed
from wengert.engine.transforms.forward_mode import jvp
from wengert.engine.transforms.jacobians import jacfwd
from wengert.engine.transforms.reverse_mode import grad

__all__ = ["metric", "objective"]
__dir__ = __all__.copy

_HESSIANS = ("diagonal", "absolute", "bound", "expected")
_ABSENT: Any = object()
#: The least Hessian with which trees take steps by themselves.
_LEAST = 1e-6


class _Loss:
    """A loss of examples, or of groups of them, as the packages call it."""

    def __init__(self, loss: Any, link: Any, groups: bool, target: Any) -> None:
        self.loss, self.link, self.groups, self.target = loss, link, groups, target
        self.__name__ = name_of(loss)

    def __deepcopy__(self, memo: Any) -> Any:
        """Return the same object, which no call changes; scikit-learn copies the parameters of estimators."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is compiled."""
        return {name: value for name, value in vars(self).items() if name != "_compiled"}

    def mean(self, score: Any) -> Any:
        """Return the prediction of a score."""
        return score if self.link is None else followed(self.link)(score)

    def of_example(self, score: Any, label: Any) -> Any:
        """Return the loss of an example, or of a group."""
        return followed(self.loss)(self.mean(score), label)

    def read(self, first: Any, second: Any, weight: Any, group: Any) -> tuple[Any, Any, Any, Any]:
        """Return scores, labels, weights or None, and sizes of groups or None.

        The arguments are scores and a data set of a package, or, in scikit-learn's interface, labels and scores.
        """
        if not hasattr(second, "get_label"):
            scores, labels = np.asarray(second), np.asarray(first)
        else:
            scores, labels = np.asarray(first), self.target(second) if self.target else second.get_label()
            weight, group = second.get_weight(), _groups(second)
        for leaf in tree.leaves(labels):
            if len(leaf) != len(scores):
                requirement = "there must be a label for each row of the scores"
                raise ShapeError(message(self.__name__, requirement, f"{len(leaf)} for {len(scores)}"))
        if weight is not None and self.groups and group is not None and len(weight) == len(group):
            weight = np.repeat(weight, group)
        return scores, labels, None if weight is None or not len(weight) else np.asarray(weight), group

    def batches(self, scores: Any, labels: Any, group: Any) -> Generator[tuple[Any, Any, Any]]:
        """Yield the rows of examples that a compiled program takes at once: all, or those of groups of one size."""
        if not self.groups:
            yield slice(None), scores, labels
            return
        if group is None or np.sum(group) != len(scores):
            got = "none" if group is None else f"{np.sum(group)} rows in groups, and {len(scores)} scores"
            raise ArgumentError(message(self.__name__, "groups=True needs the groups of the data", got))
        sizes = np.asarray(group, np.int64)
        starts = np.cumsum(sizes) - sizes
        for size in map(int, np.unique(sizes[sizes > 0])):
            rows: Any = starts[sizes == size][:, None] + np.arange(size)
            yield rows, scores[rows], tree.map_tree(lambda leaf: np.asarray(leaf)[rows], labels)  # noqa: B023


class objective(_Loss):  # noqa: N801 (it is used as a function)
    """Make an objective for gradient boosting from a loss: the gradient and the Hessian of each example.

    It is XGBoost's ``obj`` of `xgboost.train` and the ``objective`` of its estimators, and LightGBM's ``objective`` in
    ``params`` and of its estimators. It computes in the dtypes of scores and labels, by NumPy's rules (XGBoost has
    float32), and multiplies by the weights of the examples. A Hessian is one of these, and at least ``floor``:

    ========  ==============================================================================================
    diagonal  the diagonal of the Hessian
    absolute  its absolute value: for losses that are not convex
    bound     the sum of the absolute values of a row, a diagonal that is above the curvature: for classes and
              groups; the softmax has XGBoost's ``2 p (1 - p)``
    expected  the Hessian for the label ``link(score)``: its mean (Fisher's scoring), where a loss is affine in
              the label, as those of exponential families are
    ========  ==============================================================================================

    Args:
        loss: ``(prediction, label) -> number``, of an example. A prediction of several classes is a vector. Labels are
            floats, as the packages keep them: ``label.astype(int)`` is an index.
        link: from a score of the trees to the prediction, such as `wengert.special.expit` or `np.exp`; None: the score.
        hessian: which Hessian, as above.
        floor: the least Hessian of an example, before weights.
        groups: the loss takes the vectors of predictions and labels of a group. Each size of group compiles once.
        target: from a data set of the package to the labels, an array or a container of arrays, such as both ends of an
            interval; by default its labels.

    Raises:
        ArgumentError: there is no such Hessian, or there are no groups.
        RangeError: a gradient or a Hessian is not finite; the message names the row. Or no example has curvature (an
            absolute value has none), and ``floor`` is too small for steps.

    Example:
        >>> import numpy as np, wengert as wg
        >>> poisson = objective(lambda mean, count: mean - count * np.log(mean), link=np.exp)
        >>> gradient, hessian = poisson(np.array([1.0, 3.0]), np.zeros(2))  # labels, scores
        >>> print(gradient, hessian)
        [ 0. -2.] [1. 1.]
    """

    def __init__(
        self,
        loss: Callable[..., Any],
        link: Callable[[Any], Any] | None = None,
        *,
        hessian: str = "diagonal",
        floor: float = 1e-16,
        groups: bool = False,
        target: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(loss, link, groups, target)
        self.hessian, self.floor = hessian, floor
        if hessian not in _HESSIANS:
            raise ArgumentError(
                message("objective", f"hessian must be one of {', '.join(_HESSIANS)}", repr(hessian))
            )
        if hessian == "expected" and link is None:
            requirement, hint = (
                "the mean of a label is needed for its expected Hessian",
                "give the link to it",
            )
            raise ArgumentError(message("objective", requirement, "link=None", hint))

    def __call__(
        self, first: Any, second: Any, sample_weight: Any = None, group: Any = None
    ) -> tuple[Any, Any]:
        """Return the gradient and the Hessian of each example, in the shape and dtype of the scores.

        Args:
            first: scores; in scikit-learn's interface, labels.
            second: a data set of XGBoost or LightGBM; in scikit-learn's interface, scores.
            sample_weight: of scikit-learn's interface.
            group: the sizes of groups, of scikit-learn's interface.
        """
        scores, labels, weight, group = self.read(first, second, sample_weight, group)
        gradient, hessian = np.empty_like(scores), np.empty_like(scores)
        for rows, some, their in self.batches(scores, labels, group):
            gradient[rows], hessian[rows], faults, is_flat = self._compiled(some, their)
            if faults:
                self._complain(some, their, gradient[rows], hessian[rows])
            if is_flat and self.floor < _LEAST:
                requirement = "the loss must curve for some example: else trees take no step"
                hint = "give floor=1.0 for steps along the gradient, or round the kink off"
                raise RangeError(message(self.__name__, requirement, "second derivatives of 0", hint))
        if weight is not None:
            weight = np.reshape(weight, (-1, *(1,) * (scores.ndim - 1)))
            gradient, hessian = (
                np.multiply(x, weight, dtype=scores.dtype, casting="same_kind") for x in (gradient, hessian)
            )
        return gradient, hessian

    @functools.cached_property
    def _compiled(self) -> Any:
        def of_all(scores: Any, labels: Any) -> Any:
            slopes, curvatures = vmap(self._derivatives)(scores, labels)
            faults = np.sum(~(np.isfinite(slopes) & np.isfinite(curvatures)))
            is_flat = np.all(curvatures <= 0.0) & np.any(slopes != 0.0)
            return slopes, np.maximum(curvatures, self.floor), faults, is_flat

        return jit(of_all)

    def _derivatives(self, score: Any, label: Any) -> tuple[Any, Any]:
        """Return the gradient of an example, and its Hessian as a number for each score."""
        there: Any = stop_gradient(self.mean(score)) if self.hessian == "expected" else label
        slope = grad(self.of_example)
        if not shape_of(score):
            curvature = jvp(lambda score: slope(score, there), (score,), (np.ones_like(score),))[1]
        else:
            matrix = jacfwd(slope)(score, there)
            is_bound = self.hessian == "bound"
            curvature = np.sum(np.abs(matrix), axis=1) if is_bound else np.diagonal(matrix)
        return slope(score, label), np.abs(curvature) if self.hessian in ("absolute", "bound") else curvature

    def _complain(self, scores: Any, labels: Any, slope: Any, curvature: Any) -> None:
        place = tuple(np.argwhere(~(np.isfinite(slope) & np.isfinite(curvature)))[0])
        label = tree.map_tree(lambda leaf: np.asarray(leaf)[place[: np.ndim(leaf)]], labels)
        got = f"{slope[place]} and {curvature[place]} for the score {scores[place]} and the label {label}"
        raise RangeError(message(self.__name__, "gradients and Hessians must be finite", got))


class metric(_Loss):  # noqa: N801 (it is used as a function)
    """Make an evaluation metric for gradient boosting from a loss: its weighted mean over the examples.

    It is XGBoost's ``custom_metric`` of `xgboost.train` and ``eval_metric`` of its estimators, and LightGBM's ``feval``
    and ``eval_metric``. Beside an `objective` the packages give it scores, and it needs the same link; beside their own
    objectives they give it predictions, and it needs none.

    Args:
        loss: as for `objective`.
        link: as for `objective`.
        name: by default that of the loss.
        maximize: whether larger values are better; LightGBM asks.
        groups: as for `objective`; the mean is that over the groups, each of the weight of its first row.
        target: as for `objective`.

    Example:
        >>> import numpy as np, wengert as wg
        >>> deviance = metric(lambda mean, count: mean - count * np.log(mean), link=np.exp)
        >>> deviance(np.array([1.0, 3.0]), np.zeros(2))  # labels, scores
        1.0
    """

    def __init__(
        self,
        loss: Callable[..., Any],
        link: Callable[[Any], Any] | None = None,
        *,
        name: str = "",
        maximize: bool = False,
        groups: bool = False,
        target: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(loss, link, groups, target)
        self.__name__, self.maximize = name or self.__name__, maximize

    def __call__(self, first: Any, second: Any, sample_weight: Any = None, group: Any = _ABSENT) -> Any:
        """Return the metric in the form that the caller expects; the arguments are those of an objective."""
        is_lightgbm = hasattr(second, "num_data") or group is not _ABSENT
        group = None if group is _ABSENT else group
        scores, labels, weight, group = self.read(first, second, sample_weight, group)
        total = mass = 0.0
        for rows, some, their in self.batches(scores, labels, group):
            losses = self._compiled(some, their)
            factor = np.ones(len(losses)) if weight is None else weight[rows].reshape(len(losses), -1)[:, 0]
            total, mass = total + float(np.dot(factor, losses)), mass + float(np.sum(factor))
        value = total / mass if mass else float("nan")
        if is_lightgbm:
            return self.__name__, value, self.maximize
        return (self.__name__, value) if hasattr(second, "get_label") else value

    @functools.cached_property
    def _compiled(self) -> Any:
        return jit(vmap(self.of_example))


def _groups(data: Any) -> Any:
    """Return the sizes of the groups of a data set, or None."""
    if hasattr(data, "get_uint_info"):  # XGBoost's
        pointers = data.get_uint_info("group_ptr")
        return np.diff(pointers) if len(pointers) else None
    return data.get_group()
