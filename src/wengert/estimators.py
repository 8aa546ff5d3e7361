"""Networks as scikit-learn estimators, for its pipelines, searches and scores. Needs ``wengert[sklearn]``."""

# scikit-learn declares few types.
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from wengert import nn, optim
from wengert.data import Dataset
from wengert.data.batches import consecutive
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, MissingExtraError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.core.tree import map_tree
from wengert.train.loop import make_steps, train
from wengert.train.reporters import EpochLines
from wengert.train.settings import OPTIMISERS, Settings
from wengert.train.state import State, initial_layer_state, trained_model
from wengert.train.steps import Steps
from wengert.train.tasks import Task
from wengert.train.user_models import is_model, model_hint

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
__dir__ = __all__.copy

Array: TypeAlias = np.ndarray[Any, Any]
Network: TypeAlias = Callable[[np.random.Generator, tuple[int, ...], int], Any]

_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    name: getattr(nn, name) for name in ("relu", "leaky_relu", "elu", "gelu", "silu", "sigmoid", "tanh")
}
_AT_ONCE = 1000
"""Examples per prediction: enough for full speed, few enough to fit into memory."""


class Classifier(ClassifierMixin, BaseEstimator):
    """A neural-network classifier with the interface of scikit-learn.

    It minimises the softmax cross-entropy in float32 with the loop of `wengert.train.train`. Without ``network``, the
    model is a perceptron with the layers ``hidden``. Features should be of the order of 1: put a ``StandardScaler`` in
    front.

    Args:
        hidden: widths of the hidden layers.
        activation: after each hidden layer: a name (relu, leaky_relu, elu, gelu, silu, sigmoid, tanh) or a function.
        network: ``(generator, shape of an example, classes) -> model``, instead of the perceptron; the model maps
            float32 (examples, *shape) to logits (examples, classes), and its layers may have a state. A shape is for
            example (1, 28, 28).
        optimiser: a name (sgd, momentum, nesterov, adagrad, rmsprop, adam, adamw, lion), or a function of the learning
            rate that returns an optimiser.
        epochs: the largest number of passes over the examples.
        batch_size: examples per step.
        rate: the learning rate.
        validation_fraction: the share of the examples that is held out if ``patience`` is given.
        patience: stop after this number of epochs without a better accuracy on the held-out examples, and keep the
            model of the best epoch; None: learn all examples for all epochs.
        random_state: the seed of the initial weights, the order of the examples and the split: an integer, a
            ``numpy.random.RandomState``, or None for a new seed each time.
        compiled: compile the loop; otherwise NumPy runs each operation, which is faster for tiny sets.
        verbose: print one line per epoch.

    Attributes:
        classes_: the labels, in the order of the columns of `predict_proba`.
        n_features_in_: the length of the second axis of the examples.
        feature_names_in_: the names of the features in a data frame.
        shape_in_: the shape of an example.
        model_: the trained network.
        history_: a dict for each epoch: ``epoch``, ``loss``, ``accuracy`` and ``seconds`` of training; with
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
            X: numbers (examples, features), or (examples, ...) with any shape of an example.
            y: labels (examples,) of any sortable kind.
            sample_weight: the weight of each example, (examples,), in losses and accuracies: an example of weight 2
                counts as two of weight 1 in the same step. The mean of the weights does not matter. None: equal
                weights.

        Returns:
            The classifier itself.

        Raises:
            ArgumentError: a parameter is out of its range, or the network does not fit the data.
            ValueError: the data have a wrong form, or are not finite.
            DivergedError: the loss became NaN or infinite, or grew beyond all bounds.
            KeyboardInterrupt: after Ctrl-C; the classifier keeps the result of the last step.
        """
        examples, labels = self._validated(X, y, reset=True)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        random = self._begin(examples)
        targets = self._targets(examples, codes, sample_weight)
        dataset = self._split(examples, targets, codes, random)
        reporter = EpochLines(self.epochs, bool(self.verbose), self.patience is not None)
        return self._train(self._settings(), dataset, reporter)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Classifier:
        """Train for one pass over some examples, from the parameters and the optimiser state of the last call.

        No examples are held out, even with ``patience``. With ``compiled``, calls with the same number of examples
        share one program, which lives as long as the estimator.

        Args:
            X: numbers (examples, ...), with examples of the shape in the first call.
            y: labels (examples,).
            classes: all labels; the first call needs them, unless `fit` came before.
            sample_weight: the factor of each example in the loss; unlike in `fit`, their mean matters.

        Returns:
            The classifier itself.

        Raises:
            ArgumentError: a label is not in the classes; see also `fit`.
            ValueError: the classes are missing, or differ from the earlier ones; see also `fit`.

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
        if not np.all(is_known := np.isin(labels, self.classes_)):
            requirement = f"labels must be among the classes {self.classes_.tolist()}"
            raise ArgumentError(message("Classifier", requirement, repr(labels[~is_known].tolist()[0])))
        if first:
            self._begin(examples)
        self._check_shape(examples)
        targets = self._targets(examples, np.searchsorted(self.classes_, labels), sample_weight)
        dataset = self._split(examples, targets)
        count = len(self.history_) + 1
        settings = self._settings()._replace(epochs=count, patience=None, keep="last")
        return self._train(settings, dataset, EpochLines(count, bool(self.verbose), False))

    def _validated(self, X: Any, y: Any, *, reset: bool) -> tuple[Array, Array]:
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # numbers that overflow float32 are rejected as infinite
            examples, labels = _validate_data(self, X, y, reset=reset, dtype=np.float32, allow_nd=True)
        check_classification_targets(labels)
        return examples, labels

    def _begin(self, examples: Array) -> Any:
        """Reset the training, and return the random numbers of the new one."""
        self.shape_in_ = shape_of(examples)[1:]
        self._check_model(self._task(), examples[:2])
        random = check_random_state(self.random_state)
        self._seed = int(random.randint(np.iinfo(np.int32).max))
        self._state: State | None = None
        self._steps: tuple[Any, Steps] | None = None
        self._optimiser: Any = None
        self.history_: list[dict[str, Any]] = []
        return random

    def _targets(self, examples: Array, codes: Array, sample_weight: Any) -> Array:
        """Return the targets of the loss: codes (examples,), or weights (examples, classes) at the codes."""
        if sample_weight is None:
            return codes
        weights = _check_sample_weight(sample_weight, examples, dtype=np.float64)
        if np.any(weights < 0) or not np.any(weights):
            requirement = "sample_weight must not be negative, nor 0 for all examples"
            raise ArgumentError(message("Classifier", requirement, f"{np.min(weights)} to {np.max(weights)}"))
        targets = np.zeros((len(codes), len(self.classes_)), np.float32)
        targets[np.arange(len(codes)), codes] = weights
        return targets

    def _train(self, settings: Settings, dataset: Dataset, reporter: EpochLines) -> Classifier:
        """Train from the present state, and keep the result."""
        task, compiled = self._task(), bool(self.compiled)
        kind = self.optimiser, settings.rate, compiled
        if self._steps is None or self._steps[0] != kind:
            self._steps = kind, make_steps(task, settings, dataset, compiled=compiled)
        if (
            self._state is not None and self._optimiser != self.optimiser
        ):  # a new optimiser for the same model
            fresh = self._steps[1].optimiser.init(self._state.model)
            self._state = self._state._replace(optimiser=fresh)
        self._optimiser = self.optimiser
        with reporter:
            outcome = train(task, settings, dataset, reporter, state=self._state, steps=self._steps[1])
        new = outcome.history[len(self.history_) :]
        self._state, self.model_ = outcome.state.at_rest(), outcome.model
        self.history_ = [*self.history_, *map(reporter.described, new)]
        self.n_iter_ = len(self.history_)
        if outcome.interrupted:
            raise KeyboardInterrupt
        return self

    def __getstate__(self) -> Any:
        """Return the content of copies and pickles: everything except the compiled steps."""
        state: Any = super().__getstate__()
        return state | ({"_steps": None} if "_steps" in state else {})

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class.

        Args:
            X: numbers (examples, ...), with examples of the shape in `fit`.

        Returns:
            float64 (examples, classes).
        """
        check_is_fitted(self)
        with np.errstate(over="ignore", invalid="ignore"):
            examples = _validate_data(self, X, reset=False, dtype=np.float32, allow_nd=True)
        self._check_shape(examples)
        # In float64, so that an example's probabilities do not depend on the other examples in the call.
        model = map_tree(_in_float64, self.model_)
        parts = [model(_in_float64(examples[part])) for part in consecutive(len(examples), _AT_ONCE)]
        return nn.softmax(np.concatenate(parts))

    def predict(self, X: Any) -> Array:
        """Return the most probable label of each example.

        Args:
            X: as in `predict_proba`.

        Returns:
            Labels (examples,).
        """
        best = np.argmax(self.predict_proba(X), axis=1)  # raises NotFittedError before classes_ is read
        return self.classes_[best]

    # -- the task and its data ---------------------------------------------------------------------------

    def _check_shape(self, examples: Array) -> None:
        shape = shape_of(examples)[1:]
        if shape != self.shape_in_:
            requirement = f"examples must have the shape {self.shape_in_}"
            raise ArgumentError(message("Classifier", requirement, f"{shape}"))

    def _task(self) -> Task:
        make = _function("optimiser", self.optimiser, OPTIMISERS)

        def optimiser(rate: float, steps: int) -> optim.Optimiser:
            result = make(rate)
            if not isinstance(result, optim.Optimiser):
                requirement = "optimiser must return an Optimiser for a learning rate"
                raise ArgumentError(message("Classifier", requirement, type(result).__name__))
            return result

        return Task("classifier", "classifier", self._build, prepare=_identity, optimiser=optimiser)

    def _build(self, rng: np.random.Generator) -> Any:
        shape, classes = self.shape_in_, len(self.classes_)
        if self.network is not None:
            return self.network(rng, shape, classes)
        hidden = self.hidden
        widths = [_whole("hidden", width) for width in (hidden if isinstance(hidden, Iterable) else [hidden])]
        activation = _function("activation", self.activation, _ACTIVATIONS)
        layers: list[Any] = [nn.Flatten()] if len(shape) > 1 else []
        inputs = math.prod(shape)
        for width in widths:
            layers += [nn.Dense(inputs, width, seed=rng, initialise=nn.he_uniform), activation]
            inputs = width
        return nn.Chain(*layers, nn.Dense(inputs, classes, seed=rng))

    def _check_model(self, task: Task, examples: Array) -> None:
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
            raise ArgumentError(message("Classifier", requirement, type(model).__name__ + model_hint(model)))
        outputs = trained_model(model, initial_layer_state(model, rng))(examples)
        expected, got = (len(examples), len(self.classes_)), shape_of(outputs)
        if got != expected:
            requirement = f"the network must return logits {expected} for inputs {shape_of(examples)}"
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
        """Return the training and the validation examples.

        Without random numbers, no examples are held out, and weights are not normalised.
        """
        names = tuple(map(str, self.classes_))
        if self.patience is None or random is None:
            # The loop tests after each epoch; one example costs almost nothing.
            targets = targets if random is None else _balanced(targets)
            return Dataset(examples, targets, examples[:1], targets[:1], "arrays", names)
        fraction = self.validation_fraction
        if not (isinstance(fraction, numbers.Real) and 0 < fraction < 1):
            raise ArgumentError(
                message("Classifier", "validation_fraction must be between 0 and 1", repr(fraction))
            )
        train, test, train_targets, test_targets = _train_test_split(
            examples, targets, test_size=float(fraction), stratify=codes, random_state=random
        )
        return Dataset(train, _balanced(train_targets), test, _balanced(test_targets), "arrays", names)


def _identity(examples: Any) -> Any:
    return examples


def _balanced(targets: Array) -> Array:
    """Return weights (examples, classes) divided by their mean over the examples, and codes unchanged."""
    if targets.ndim == 1:
        return targets
    total = float(np.sum(targets, dtype=np.float64))
    if not total:
        requirement = "some examples held out for patience must have a positive sample_weight"
        raise ArgumentError(message("Classifier", requirement, "only zeros", "raise validation_fraction"))
    return (targets * (len(targets) / total)).astype(np.float32)


def _in_float64(values: Any) -> Any:
    return values.astype(np.float64) if dtype_of(values) == np.float32 else values


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < 1:
        raise ArgumentError(message("Classifier", f"{name} must be an integer of at least 1", repr(value)))
    return int(value)


def _function(name: str, value: Any, functions: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    """Return a function given as such or by name."""
    if callable(value):
        return value
    if not isinstance(value, str) or value not in functions:
        requirement = f"{name} must be a function or one of {', '.join(functions)}"
        if isinstance(value, optim.Optimiser):
            got, hint = "an Optimiser", "for example optimiser=lambda rate: optim.adam(rate)"
        else:
            got, hint = repr(value), ""
        raise ArgumentError(message("Classifier", requirement, got, hint))
    return functions[value]
