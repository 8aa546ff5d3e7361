"""Networks as scikit-learn's estimators, for its pipelines, searches and scores. This needs ``wengert[sklearn]``."""

# scikit-learn declares few types.
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from wengert import nn, optim
from wengert.core.dtypes import dtype_of
from wengert.core.errors import ArgumentError, MissingExtraError, message
from wengert.core.shapes import shape_of
from wengert.core.tree import map_tree
from wengert.data import Dataset
from wengert.data.batches import consecutive
from wengert.train.checks import advice_on, is_model
from wengert.train.lines import Lines
from wengert.train.loop import steps_by, train
from wengert.train.optimisers import OPTIMISERS
from wengert.train.settings import Settings
from wengert.train.state import State
from wengert.train.stateful import first_memory, trained
from wengert.train.steps import Steps
from wengert.train.tasks import Task

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.model_selection import train_test_split
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import (
        _check_partial_fit_first_call,  # pyright: ignore[reportPrivateUsage]
        check_classification_targets,
    )
    from sklearn.utils.validation import (
        _check_sample_weight,  # pyright: ignore[reportPrivateUsage]
        check_is_fitted,
        validate_data,
    )
except ImportError:
    raise MissingExtraError(
        "wengert.estimators needs scikit-learn 1.6 or newer: pip install 'wengert[sklearn]'"
    ) from None

_validate_data: Any = validate_data
_train_test_split: Any = train_test_split
_check_classes: Any = _check_partial_fit_first_call

__all__ = ["Classifier"]

Array: TypeAlias = np.ndarray[Any, Any]
Network: TypeAlias = Callable[[np.random.Generator, tuple[int, ...], int], Any]

_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": nn.relu,
    "leaky_relu": nn.leaky_relu,
    "elu": nn.elu,
    "gelu": nn.gelu,
    "silu": nn.silu,
    "sigmoid": nn.sigmoid,
    "tanh": nn.tanh,
}
_AT_ONCE = 1000
"""Examples to predict: enough for full speed, few enough for the memory."""


class Classifier(ClassifierMixin, BaseEstimator):
    """Classify by a network, with the interface of scikit-learn.

    The loss is the cross-entropy of softmax, in float32, and the loop is that of `wengert.train.train`. Unless
    ``network`` says otherwise, the network is a perceptron with the layers ``hidden``. Features should be of the order
    of 1: put a ``StandardScaler`` in front.

    Args:
        hidden: widths of the hidden layers.
        activation: after each of them: a name (relu, leaky_relu, elu, gelu, silu, sigmoid, tanh) or a function.
        network: ``(generator, shape of an example, classes) -> model``, instead of the perceptron; the model maps
            float32 (examples, *shape) to logits (examples, classes), and its layers may have a state. A shape may be
            (1, 28, 28), say.
        optimiser: a name (sgd, momentum, nesterov, adagrad, rmsprop, adam, adamw, lion), or a function of the learning
            rate that returns an optimiser.
        epochs: how often to go through the examples, at most.
        batch_size: examples a step.
        rate: the learning rate.
        validation_fraction: the share of the examples that is put aside where ``patience`` is given.
        patience: end after so many epochs without a better accuracy on the examples put aside, with the model of the
            best epoch; None: learn all examples for all epochs.
        random_state: of the first weights, the order of the examples and the split: an integer, a
            ``numpy.random.RandomState``, or None for another one each time.
        compiled: compile the loop; otherwise NumPy carries out each operation, which is quicker for tiny sets.
        verbose: print a line for each epoch.

    Attributes:
        classes_: the labels, in the order of the columns of `predict_proba`.
        n_features_in_: the length of the second axis of the examples.
        feature_names_in_: names of the features, where they came in a data frame.
        shape_in_: the shape of an example.
        model_: the trained network.
        history_: a dict for each epoch: ``epoch``, ``loss``, ``accuracy`` and ``seconds`` of training, and with
            ``patience`` also ``validation_loss`` and ``validation_accuracy``.
        n_iter_: the number of epochs.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import StandardScaler
        >>> X, y = load_iris(return_X_y=True)
        >>> network = Classifier(hidden=(16,), epochs=40, rate=0.01, random_state=0, compiled=False)
        >>> make_pipeline(StandardScaler(), network).fit(X, y).score(X, y) > 0.95
        True
    """

    def __init__(
        self,
        hidden: int | Sequence[int] = (100,),
        *,
        activation: str | Callable[[Any], Any] = "relu",
        network: Network | None = None,
        optimiser: str | Callable[[float], optim.Optimiser] = "adam",
        epochs: int = 100,
        batch_size: int = 32,
        rate: float = 1e-3,
        validation_fraction: float = 0.1,
        patience: int | None = None,
        random_state: Any = None,
        compiled: bool = True,
        verbose: bool = False,
    ) -> None:
        self.hidden = hidden
        self.activation = activation
        self.network = network
        self.optimiser = optimiser
        self.epochs = epochs
        self.batch_size = batch_size
        self.rate = rate
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.random_state = random_state
        self.compiled = compiled
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Classifier:
        """Train a new network.

        Args:
            X: numbers (examples, features), or (examples, ...) of any shape.
            y: labels (examples,), of any kind that can be sorted.
            sample_weight: how much each example counts, (examples,), in losses and accuracies: one of weight 2 as much
                as two of weight 1 in the same step, one of weight 0 adds nothing. Their mean does not matter.
                None: all the same.

        Returns:
            Itself.

        Raises:
            ArgumentError: a parameter has a value that it cannot have, or the network does not fit the data.
            ValueError: the data are no such arrays, or not finite.
            DivergedError: the loss became NaN or infinite, or grew out of all proportion.
            KeyboardInterrupt: after Ctrl-C, with what was learned until then kept.
        """
        examples, labels = self._validated(X, y, reset=True)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        random = self._begin(examples)
        targets = self._targets(examples, codes, sample_weight)
        dataset = self._split(examples, targets, codes, random)
        reporter = Lines(self.epochs, bool(self.verbose), self.patience is not None)
        return self._train(self._settings(), dataset, reporter)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Classifier:
        """Go once through some examples, from where `fit` or the last call ended: parameters and optimiser's state.

        No examples are put aside, whatever ``patience`` is. With ``compiled``, calls with equally many examples share
        one program, which lives as long as the estimator.

        Args:
            X: numbers (examples, ...), of the shape of the first call's.
            y: labels (examples,).
            classes: all labels that there are; needed in the first call, if there was no `fit`.
            sample_weight: the factor of each of these examples in the loss; unlike in `fit`, their mean matters.

        Returns:
            Itself.

        Raises:
            ArgumentError: a label is none of the classes; and see `fit`.
            ValueError: the classes are needed, or are others than before; and see `fit`.

        Example:
            >>> from sklearn.datasets import load_iris
            >>> X, y = load_iris(return_X_y=True)
            >>> network = Classifier(rate=0.01, random_state=0, compiled=False)
            >>> for _ in range(20):
            ...     for part in range(3):
            ...         _ = network.partial_fit(X[part::3], y[part::3], classes=[0, 1, 2])
            >>> network.n_iter_, network.score(X, y) > 0.9
            (60, True)
        """
        _check_classes(self, classes)
        first = not hasattr(self, "_seed")
        examples, labels = self._validated(X, y, reset=first)
        if not np.all(known := np.isin(labels, self.classes_)):
            requirement = f"labels must be of the classes {self.classes_.tolist()}"
            raise ArgumentError(message("Classifier", requirement, repr(labels[~known].tolist()[0])))
        if first:
            self._begin(examples)
        self._check_shape(examples)
        targets = self._targets(examples, np.searchsorted(self.classes_, labels), sample_weight)
        dataset = self._split(examples, targets)
        count = len(self.history_) + 1
        settings = self._settings()._replace(epochs=count, patience=None, keep="last")
        return self._train(settings, dataset, Lines(count, bool(self.verbose), False))

    def _validated(self, X: Any, y: Any, *, reset: bool) -> tuple[Array, Array]:
        """Return the examples and labels as arrays."""
        with np.errstate(over="ignore", invalid="ignore"):  # what float32 cannot hold is refused as infinite
            examples, labels = _validate_data(self, X, y, reset=reset, dtype=np.float32, allow_nd=True)
        check_classification_targets(labels)
        return examples, labels

    def _begin(self, examples: Array) -> Any:
        """Forget what was learned before, and return the random numbers of what is learned now."""
        self.shape_in_ = shape_of(examples)[1:]
        self._check_model(self._task(), examples[:2])
        random = check_random_state(self.random_state)
        self._seed = int(random.randint(np.iinfo(np.int32).max))
        self._state: State | None = None
        self._taking: tuple[Any, Steps] | None = None
        self._optimiser: Any = None
        self.history_: list[dict[str, Any]] = []
        return random

    def _targets(self, examples: Array, codes: Array, sample_weight: Any) -> Array:
        """Return what the loss compares with: codes (examples,), or weights (examples, classes) in their places."""
        if sample_weight is None:
            return codes
        weights = _check_sample_weight(sample_weight, examples, dtype=np.float64)
        if np.any(weights < 0) or not np.any(weights):
            requirement = "sample_weight must not be negative, nor 0 for all examples"
            raise ArgumentError(message("Classifier", requirement, f"{np.min(weights)} to {np.max(weights)}"))
        targets = np.zeros((len(codes), len(self.classes_)), np.float32)
        targets[np.arange(len(codes)), codes] = weights
        return targets

    def _train(self, settings: Settings, dataset: Dataset, reporter: Lines) -> Classifier:
        """Train from the state that there is, and keep what comes of it."""
        task, compiled = self._task(), bool(self.compiled)
        kind = self.optimiser, settings.rate, compiled
        if self._taking is None or self._taking[0] != kind:
            self._taking = kind, steps_by(task, settings, dataset, compiled=compiled)
        if self._state is not None and self._optimiser != self.optimiser:  # it begins anew, the model goes on
            fresh = self._taking[1].optimiser.init(self._state.model)
            self._state = self._state._replace(optimiser=fresh)
        self._optimiser = self.optimiser
        outcome = train(task, settings, dataset, reporter, state=self._state, taking=self._taking[1])
        new = outcome.history[len(self.history_) :]
        self._state, self.model_ = outcome.state.at_rest(), outcome.model
        self.history_ = [*self.history_, *map(reporter.described, new)]
        self.n_iter_ = len(self.history_)
        if outcome.interrupted:
            raise KeyboardInterrupt
        return self

    def __getstate__(self) -> Any:
        """Return what is copied and pickled: all but the compiled steps, which are made again."""
        state: Any = super().__getstate__()
        return state | ({"_taking": None} if "_taking" in state else {})

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, float64 (examples, classes)."""
        check_is_fitted(self)
        with np.errstate(over="ignore", invalid="ignore"):
            examples = _validate_data(self, X, reset=False, dtype=np.float32, allow_nd=True)
        self._check_shape(examples)
        # In float64, so that an example's probabilities do not depend on the others that come with it.
        model = map_tree(_in_float64, self.model_)
        parts = [model(_in_float64(examples[part])) for part in consecutive(len(examples), _AT_ONCE)]
        return nn.softmax(np.concatenate(parts))

    def predict(self, X: Any) -> Array:
        """Return the most probable label of each example."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]

    # -- what is trained, and how ------------------------------------------------------------------------

    def _check_shape(self, examples: Array) -> None:
        shape = shape_of(examples)[1:]
        if shape != self.shape_in_:
            requirement = f"examples must have the shape {self.shape_in_}"
            raise ArgumentError(message("Classifier", requirement, f"{shape}"))

    def _task(self) -> Task:
        make = _chosen("optimiser", self.optimiser, OPTIMISERS)

        def optimiser(rate: float, steps: int) -> optim.Optimiser:
            made = make(rate)
            if not isinstance(made, optim.Optimiser):
                requirement = "optimiser must return an Optimiser for a learning rate"
                raise ArgumentError(message("Classifier", requirement, type(made).__name__))
            return made

        return Task("classifier", "classifier", self._build, prepare=_unchanged, optimiser=optimiser)

    def _build(self, rng: np.random.Generator) -> Any:
        shape, classes = self.shape_in_, len(self.classes_)
        if self.network is not None:
            return self.network(rng, shape, classes)
        given = self.hidden
        widths = [_whole("hidden", width) for width in (given if isinstance(given, Iterable) else [given])]
        activation = _chosen("activation", self.activation, _ACTIVATIONS)
        layers: list[Any] = [nn.Flatten()] if len(shape) > 1 else []
        inputs = math.prod(shape)
        for width in widths:
            layers += [nn.Dense(inputs, width, seed=rng, initialise=nn.he_uniform), activation]
            inputs = width
        return nn.Chain(*layers, nn.Dense(inputs, classes, seed=rng))

    def _check_model(self, task: Task, some: Array) -> None:
        """Raise `ArgumentError` where the user's network does not return logits."""
        if self.network is None:
            return
        if is_model(self.network) or not callable(self.network):
            requirement = "network must be a function, (generator, shape of an example, classes) -> model"
            hint = "write lambda rng, shape, classes: ..., with the weights drawn from rng"
            raise ArgumentError(message("Classifier", requirement, type(self.network).__name__, hint))
        rng = np.random.default_rng(0)
        model = task.build(rng)
        if not is_model(model):
            requirement = "network must return a model: a container of arrays that can be called"
            raise ArgumentError(message("Classifier", requirement, type(model).__name__ + advice_on(model)))
        outputs = trained(model, first_memory(model, rng))(some)
        expected, got = (len(some), len(self.classes_)), shape_of(outputs)
        if got != expected:
            requirement = f"the network must return logits {expected} for inputs {shape_of(some)}"
            raise ArgumentError(message("Classifier", requirement, f"{got}"))

    def _settings(self) -> Settings:
        patience = None if self.patience is None else _whole("patience", self.patience)
        if not (isinstance(self.rate, numbers.Real) and 0 < self.rate < math.inf):
            raise ArgumentError(
                message("Classifier", "rate must be a positive finite number", repr(self.rate))
            )
        return Settings(
            "classifier",
            "arrays",
            epochs=_whole("epochs", self.epochs),
            batch_size=_whole("batch_size", self.batch_size),
            rate=float(self.rate),
            seed=self._seed,
            patience=patience,
            keep="last" if patience is None else "best",
        )

    def _split(self, examples: Array, targets: Array, codes: Any = None, random: Any = None) -> Dataset:
        """Return the examples to learn and those to judge by.

        Without random numbers, none are put aside, and weights stay what they are.
        """
        names = tuple(map(str, self.classes_))
        if self.patience is None or random is None:
            # The loop wants something to test with after each epoch; one example costs next to nothing.
            targets = targets if random is None else _balanced(targets)
            return Dataset(examples, targets, examples[:1], targets[:1], "arrays", names)
        fraction = self.validation_fraction
        if not (isinstance(fraction, numbers.Real) and 0 < fraction < 1):
            raise ArgumentError(
                message("Classifier", "validation_fraction must be between 0 and 1", repr(fraction))
            )
        learned, judged, learned_targets, judged_targets = _train_test_split(
            examples, targets, test_size=float(fraction), stratify=codes, random_state=random
        )
        both = _balanced(learned_targets), _balanced(judged_targets)
        return Dataset(learned, both[0], judged, both[1], "arrays", names)


def _unchanged(examples: Any) -> Any:
    return examples


def _balanced(targets: Array) -> Array:
    """Return weights (examples, classes) divided by their mean over the examples; codes as they are."""
    if targets.ndim == 1:
        return targets
    total = float(np.sum(targets, dtype=np.float64))
    if not total:
        requirement = "of the examples put aside for patience some must have a sample_weight"
        raise ArgumentError(message("Classifier", requirement, "only zeros", "raise validation_fraction"))
    return (targets * (len(targets) / total)).astype(np.float32)


def _in_float64(values: Any) -> Any:
    return values.astype(np.float64) if dtype_of(values) == np.float32 else values


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < 1:
        raise ArgumentError(message("Classifier", f"{name} must be an integer of at least 1", repr(value)))
    return int(value)


def _chosen(name: str, value: Any, known: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    """Return a function that is given by itself or by its name."""
    if callable(value):
        return value
    if not isinstance(value, str) or value not in known:
        requirement = f"{name} must be a function or one of {', '.join(known)}"
        if isinstance(value, optim.Optimiser):
            got, hint = "an Optimiser", "write optimiser=lambda rate: optim.adam(rate), say"
        else:
            got, hint = repr(value), ""
        raise ArgumentError(message("Classifier", requirement, got, hint))
    return known[value]
