"""What a classifier is to the rest of the package, and the checks of what it answers."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsrs.errors import (
    ClassifierError,
    DsrsError,
    InvalidInput,
    NoScores,
    NotAFunction,
    OutOfMemory,
)
from dsrs.noise import NoiseBlock

if TYPE_CHECKING:
    from dsrs.classifiers.scaling import Scaling


class Share(NamedTuple):
    """The rows `begin` up to `end` of a block: those of a batch that are counted."""

    block: NoiseBlock
    begin: int
    end: int


class VotesThere(ABC):
    """Adds up votes on a device, for one thread."""

    @abstractmethod
    def add(self, share: Share) -> list[Share]:
        """Count these rows; returns what there was no memory for, to be counted otherwise."""

    @abstractmethod
    def finish(self) -> list[Share]:
        """Count what is waiting; returns what there was no memory for."""

    @abstractmethod
    def taken(self) -> NDArray[np.int64]:
        """Return the votes since the last call, by class and radial bin; wait for the device."""


# ---- The classifier

ScoreGradient = Callable[[NDArray[np.float32], NDArray[np.float64]], NDArray[np.float32]]

UNIT_BOUNDS = (0.0, 1.0)
# As CUDA, PyTorch on the CPU, ONNX Runtime, C++, and TensorFlow and JAX say it.
LACK_OF_MEMORY = re.compile(
    r"out of memory|(can't|failed to) allocate memory|bad[_ ]alloc|resource_exhausted",
    re.IGNORECASE,
)


class Classifier(ABC):
    """A function from inputs to classes, with what must be known to sample and to name it.

    `classify` may be called from several threads at once. What a class does not say, it cannot do:
    the members below `classify` have a default.

    Attributes:
        input_shape: the shape of one input, without the batch axis.
        num_classes: the number of classes.
        bounds: the units that the model was made for: the least and greatest value of a clean
            input, before noise. Radii are in the same units.
        description: what the model is, for people.
        class_names: what the model's publisher calls its classes, in their order; empty if unknown.
        replicas: the same model on each of several devices, where it was made for several.
        scaling: the units of the features, where the model is certified in scaled units.
        score_gradient: from a batch and a score of each class: for each row the gradient of its
            mean score under the probabilities (softmax) that the model gives to the classes. None
            where the framework cannot back-propagate, or not before `gradient` was called.
    """

    input_shape: tuple[int, ...]
    num_classes: int
    bounds: tuple[float, float]
    description: str
    class_names: tuple[str, ...] = ()
    scaling: Scaling | None = None
    score_gradient: ScoreGradient | None = None
    replicas: tuple[Classifier, ...] = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.description}>"

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """What tells this model from others: a hash of its bytes, or a name given by the user."""

    @abstractmethod
    def classify(self, batch: NDArray[np.float32]) -> NDArray[np.int64]:
        """The class of each row of a batch of shape (n, *input_shape)."""

    def scores(self, batch: NDArray[np.float32]) -> NDArray[np.float64]:
        """What the model says of each class, for each row: its logits or probabilities."""
        raise NoScores(without_scores(self.description))

    def gradient(self) -> ScoreGradient | None:
        """Return `score_gradient`, made first where that takes work, as for ONNX models."""
        return self.score_gradient

    @property
    def rows_at_once(self) -> int | None:
        """Rows of a forward pass since memory ran out; None if it did not."""
        return None

    @property
    def makes_noise(self) -> bool:
        """Whether `classify_noisy` is there, and the faster way."""
        return False

    def votes_there(self, edges: NDArray[np.float64]) -> VotesThere | None:
        """Return what counts votes on the model's device; None where the caller counts them.

        Args:
            edges: the noise norms between the radial bins.
        """
        return None

    def classify_noisy(self, block: NoiseBlock) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The class of each noisy copy of a block, and its noise norm.

        The noise is made where the model is, bit for bit as the sampler makes it.
        """
        raise InvalidInput(f"{self.description} makes no noise")


def checked_classifier(model: object) -> Classifier:
    """Return `model`, or raise InvalidInput that says how to make a classifier from it."""
    if isinstance(model, Classifier):
        return model
    kind = type(model).__name__
    if hasattr(model, "state_dict"):
        way = f"wrap the {kind} with dsrs.classifiers.from_torch(model.eval(), input_shape)"
    elif hasattr(model, "predict") and hasattr(model, "classes_"):
        way = f"wrap the {kind} with dsrs.classifiers.from_sklearn(model)"
    elif hasattr(model, "classify"):
        way = f"let {kind} inherit from dsrs.classifiers.Classifier"
    elif callable(model):
        way = f"wrap the {kind} with dsrs.classifiers.from_callable(model, input_shape)"
    else:
        way = "load it with dsrs.classifiers.load_classifier(name)"
    raise InvalidInput(f"expected a dsrs.classifiers.Classifier, got {kind}; {way}")


def answer_of(
    model: Callable[[NDArray[np.float32]], Any], batch: NDArray[np.float32], name: str
) -> Any:
    """What `model` answers; whatever it raises becomes a ClassifierError that says so."""
    try:
        return model(batch)
    except DsrsError:
        raise
    except Exception as error:
        raise failure(error, name, batch.shape) from error


def failure(error: Exception, name: str, shape: tuple[int, ...]) -> ClassifierError:
    """Return the ClassifierError for an error of foreign code: OutOfMemory if it is one of memory.

    Only Python's own has a type for it everywhere; the others say it.
    """
    if isinstance(error, MemoryError) or LACK_OF_MEMORY.search(str(error)):
        return OutOfMemory(f"{name} ran out of memory on a batch of shape {shape}: {raised(error)}")
    return ClassifierError(f"{name} failed on a batch of shape {shape}: {raised(error)}")


def raised(error: BaseException) -> str:
    """An error of foreign code in a line: its type, and the first line that says something."""
    lines = str(error).strip().splitlines()
    told = " ".join(lines[:2]) if lines and lines[0].endswith(":") else "".join(lines[:1])
    return f"{type(error).__name__}: {told}" if lines else type(error).__name__


def checked_batch(batch: NDArray[np.float32], input_shape: tuple[int, ...]) -> None:
    """Raise unless `batch` is float32 of shape (n, *input_shape) with n >= 1."""
    if batch.dtype != np.float32:
        raise InvalidInput(f"a batch must be float32, got {batch.dtype}")
    if batch.ndim != 1 + len(input_shape) or batch.shape[1:] != input_shape or not len(batch):
        shape = ", ".join(["n", *map(str, input_shape)])
        raise InvalidInput(f"a batch must have shape ({shape}), got {batch.shape}")


def checked_classes(output: Any, rows: int, num_classes: int, name: str) -> NDArray[np.int64]:
    """The class of each row, from what the plug-in `name` returned for a batch of `rows` inputs.

    Accepts float logits or probabilities of shape (rows, num_classes), of which the greatest wins
    (the first one of equals), and integer class ids of shape (rows,).
    """
    if not isinstance(output, np.ndarray):
        raise ClassifierError(
            f"{name} must return a numpy array, got {type(output).__name__}; "
            "return logits of shape (n, classes) or integer class ids of shape (n,)"
        )
    if output.shape == (rows, num_classes) and output.dtype.kind == "f":
        classes: NDArray[np.int64] = output.argmax(axis=1).astype(np.int64, copy=False)
        # argmax stops at a NaN, so it is enough to look at the winners; a loser may be -inf, as the
        # logarithm of a probability that is zero.
        best = output[np.arange(rows), classes]
        if not np.isfinite(best).all():
            row = int(np.flatnonzero(~np.isfinite(best))[0])
            raise ClassifierError(
                f"{name} must return finite logits, got {best[row]} in row {row} of a batch; "
                "check the model's weights and the units of its input"
            )
        return classes
    if output.shape == (rows,) and output.dtype.kind in "iu":
        lowest, highest = int(output.min()), int(output.max())
        if lowest < 0 or highest >= num_classes:
            raise ClassifierError(
                f"{name} must return class ids from 0 to {num_classes - 1}, "
                f"got ids from {lowest} to {highest}"
            )
        return output.astype(np.int64, copy=False)
    raise ClassifierError(
        f"{name} must return float logits of shape ({rows}, {num_classes}) or integer class ids "
        f"of shape ({rows},) for {rows} inputs, got {output.dtype} of shape {output.shape}"
    )


def checked_scores(output: Any, rows: int, num_classes: int, name: str) -> NDArray[np.float64]:
    """The number of each class and row, from what the plug-in `name` returned for `rows` inputs.

    Only -inf may be among them, as the logarithm of a probability that is zero, and not in all of
    a row.
    """
    classes = checked_classes(output, rows, num_classes, name)
    if output.ndim == 1:
        raise NoScores(without_scores(name))
    if not (output < np.inf).all():  # false for NaN as well
        row = int(np.flatnonzero(~(output < np.inf).all(axis=1))[0])
        raise ClassifierError(
            f"{name} must return finite logits, got {output[row, classes[row]]} or NaN in row "
            f"{row} of a batch; check the model's weights and the units of its input"
        )
    return np.asarray(output, dtype=np.float64)


def without_scores(name: str) -> str:
    """Why a model that answers with classes only is refused where scores are needed."""
    return (
        f"expected logits or probabilities of all classes, but {name} returns classes only: which "
        "classes nearly won is not known, so no set of them can be chosen; use the model's output "
        "before the argmax (scikit-learn: an estimator with `predict_proba`)"
    )


def checked_shape(input_shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return `input_shape` as a tuple of positive ints, or raise InvalidInput."""
    shape = tuple(int(axis) for axis in input_shape)
    if not shape or min(shape) < 1:
        raise InvalidInput(
            f"`input_shape` must hold positive lengths, such as (1, 28, 28), got {input_shape}"
        )
    return shape


def checked_bounds(bounds: tuple[float, float]) -> tuple[float, float]:
    """Return `bounds` as two finite floats in order, or raise InvalidInput."""
    lower, upper = float(bounds[0]), float(bounds[1])
    if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
        raise InvalidInput(f"`bounds` must be finite with lower < upper, got ({lower}, {upper})")
    return lower, upper


def checked_num_classes(num_classes: int) -> int:
    """Return `num_classes` as an int of at least 2, or raise InvalidInput."""
    if num_classes < 2:
        raise InvalidInput(f"`num_classes` must be at least 2, got {num_classes}")
    return int(num_classes)


def described(what: str, input_shape: tuple[int, ...], bounds: tuple[float, float]) -> str:
    """The description of a classifier: what it is, what it takes, in which units."""
    return f"{what}; input {input_shape} in [{bounds[0]:g}, {bounds[1]:g}]"


# ---- Whether a classifier is a function
# A vote must depend on its noisy copy alone. That of a model in training mode does not: dropout
# draws anew in every pass, and batch statistics look at the other rows. Such votes are no sample
# of any smoothed classifier, and a certificate from them would mean nothing.

# Rows that are asked twice, at least, and rows of a forward pass, at most.
FEWEST_REPEATED_ROWS, MOST_REPEATED_ROWS = 32, 64
# The rows beside them, the second time, are brighter by so many sigma: their statistics differ.
BRIGHTER = np.float32(4)


def refuse_unless_function(
    classifier: Classifier, x: NDArray[np.float32], sigma: float, batch: int
) -> None:
    """Raise NotAFunction if noisy copies of x get other classes when they are asked again.

    The second time they stand in another order, in another place, and beside other, brighter rows.

    Args:
        classifier: the model to try.
        x: an input of it.
        sigma: the size of the noise.
        batch: rows of a forward pass of the plan.
    """
    noise = np.random.default_rng(0)
    batch = min(batch, MOST_REPEATED_ROWS)
    asked = max(1, batch // 2)
    beside = batch - asked
    changed = rows = 0
    while rows < FEWEST_REPEATED_ROWS:
        noisy = noise.standard_normal((batch + beside, *x.shape), dtype=np.float32)
        noisy[batch:] += BRIGHTER
        noisy = x + np.float32(sigma) * noisy
        again = np.concatenate([noisy[batch:], noisy[:asked][::-1]])
        first, second = (
            answer_of(classifier.classify, part, classifier.description)
            for part in (noisy[:batch], again)
        )
        changed += int(np.count_nonzero(first[:asked] != second[beside:][::-1]))
        rows += asked
    if changed:
        raise NotAFunction(
            f"expected the same class for the same row, but {changed} of {rows} rows got another "
            "one when they were asked again beside other rows. A certificate needs a function of "
            "the input: use the model in inference mode (PyTorch: `model.eval()`; Keras: "
            "`training=False`), without dropout and batch statistics, with deterministic "
            f"operations ({classifier.description})"
        )
