"""Any Python callable on float32 batches as a classifier; the other adapters end here as well."""

from __future__ import annotations

import functools
import hashlib
import logging
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.base import (
    UNIT_BOUNDS,
    Classifier,
    ScoreGradient,
    VotesThere,
    answer_of,
    checked_batch,
    checked_bounds,
    checked_classes,
    checked_num_classes,
    checked_scores,
    checked_shape,
    described,
)
from dsrs.classifiers.device_votes import DeviceVotes
from dsrs.classifiers.tensor_passes import NoisyForward
from dsrs.errors import ClassifierError, InvalidInput, OutOfMemory
from dsrs.noise import NoiseBlock

if TYPE_CHECKING:
    from dsrs.classifiers.denoisers import Denoiser
    from dsrs.classifiers.scaling import Scaling


def in_fixed_batches(
    forward: Callable[[NDArray[np.float32]], NDArray[Any]], size: int
) -> Callable[[NDArray[np.float32]], NDArray[Any]]:
    """Return a function of any number of rows from `forward`, which takes exactly `size` rows.

    The last part is filled up with copies of its last row, whose answers are dropped.
    """

    def run(batch: NDArray[np.float32]) -> NDArray[Any]:
        answers = []
        for first in range(0, len(batch), size):
            part = batch[first : first + size]
            rows = len(part)
            if rows < size:
                part = np.concatenate([part, np.repeat(part[-1:], size - rows, axis=0)])
            try:
                answer = forward(part)
            except OutOfMemory as error:
                raise ClassifierError(
                    f"{error}; the model was exported for {size} rows and takes no fewer: "
                    "export it with an open batch axis"
                ) from error
            if answer.shape[:1] != (size,):
                raise ClassifierError(
                    f"a model exported for {size} rows must return {size} rows, "
                    f"got shape {answer.shape}"
                )
            answers.append(answer[:rows])
        return answers[0] if len(answers) == 1 else np.concatenate(answers)

    return run


# ---- Fewer rows for a model that runs out of memory
# Votes belong to a plan, and forward passes of another shape may round otherwise. So the rows are
# given in halves, and again in halves of these, down to single rows: a model that answers alike,
# bit for bit, in all of these shapes is taken to do so in the one that does not fit, and goes on
# with fewer rows. One that does not is refused, with the batch to ask for.
#
# All sizes are needed. PyTorch's eager EfficientNet answers 8 rows as it does 4 and 4, but not 16
# as 8 and 8.

LOG = logging.getLogger("dsrs.counting")

# The answer to the rows from the first number up to the second.
Ask = Callable[[int, int], Any]


class FittingRows:
    """How many rows a model has memory for, as far as is known; threads share it."""

    def __init__(self) -> None:
        self.most: int | None = None  # None: it never ran out
        self._lock = Lock()

    def answer(self, ask: Ask, rows: int, name: str) -> Any:
        """The answer to all rows, in as many parts as needed; the same whatever their size."""
        answers, size = fitting_answer(ask, rows, min(rows, self.most or rows))
        if size < rows and size < (self.most or rows):
            _refuse_other_answers(ask, answers, rows, size, name)
            with self._lock:
                if size < (self.most or rows):
                    self.most = size
                    LOG.warning(
                        "%s ran out of memory with %d rows: it is given %d at a time from now on, "
                        "which does not change its answers",
                        *(name, rows, size),
                    )
        return answers


def fitting_answer(ask: Ask, rows: int, size: int) -> tuple[Any, int]:
    """The answer in parts of `size` rows, halved until they fit; and their size."""
    while True:
        try:
            return _in_parts(ask, rows, size), size
        except OutOfMemory as error:
            if size == 1:
                raise ClassifierError(
                    f"even a single row is too much for the memory: {error}"
                ) from error
        size = -(-size // 2)


def _in_parts(ask: Ask, rows: int, size: int) -> Any:
    parts = []
    for start in range(0, rows, size):
        stop = min(start + size, rows)
        part = ask(start, stop)
        if not isinstance(part, np.ndarray) or part.shape[:1] != (stop - start,):
            return part  # no answer: whoever checks answers says so
        parts.append(part)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _refuse_other_answers(ask: Ask, answers: Any, rows: int, size: int, name: str) -> None:
    """Raise unless parts of every smaller size have the answers `answers`."""
    advice = f"{name} ran out of memory with {rows} rows; use `batch` = {size} or less."
    if size == 1:
        raise ClassifierError(
            f"{advice} It is not made smaller by itself: with only one row at a time, whether the "
            "answers depend on the shape of a batch cannot be seen"
        )
    smaller = size
    while smaller > 1:
        smaller = -(-smaller // 2)
        other = _in_parts(ask, rows, smaller)
        if not np.array_equal(other, answers):
            raise ClassifierError(
                f"{advice} It is not made smaller by itself: the model rounds {smaller} rows "
                f"otherwise than {size}, so the votes would no longer be those of this plan on "
                "every machine"
            )


# ---- A fingerprint from answers, where neither file nor weights can be hashed

PROBED_ROWS = 64
# Levels of a logit, as shares of the largest. Sums in another order differ by about 1e-7 and fall
# on the same level; weights that move the answers by 1e-3 of their size change one of the 64.
GAP_LEVELS = 128


def answers_fingerprint(
    forward: Callable[[NDArray[np.float32]], Any],
    input_shape: tuple[int, ...],
    num_classes: int,
    bounds: tuple[float, float],
    name: str,
) -> str:
    """A hash of the class, and of the margin where there are logits, of each of some inputs."""
    batch = varied_batch(input_shape, bounds)
    # In parts if need be: another rounding falls on the same levels.
    answer, _ = fitting_answer(
        lambda start, stop: answer_of(forward, batch[start:stop], name), PROBED_ROWS, PROBED_ROWS
    )
    digest = hashlib.sha256(checked_classes(answer, PROBED_ROWS, num_classes, name).tobytes())
    if answer.ndim == 2:
        second, best = np.sort(answer.astype(np.float64), axis=1)[:, -2:].T
        # The loser of two may be -inf, as the logarithm of a probability that is zero.
        scale = max(float(np.abs(answer[np.isfinite(answer)]).max()), np.finfo(np.float64).tiny)
        levels = np.rint(GAP_LEVELS * np.clip((best - second) / scale, 0, 4)).astype(np.int64)
        digest.update(levels.tobytes())
    return f"answers:{digest.hexdigest()[:32]}"


def varied_batch(input_shape: tuple[int, ...], bounds: tuple[float, float]) -> NDArray[np.float32]:
    """Seeded inputs of every brightness, from flat ones to noise over all of `bounds`."""
    lower, upper = bounds
    rng = np.random.default_rng(1)
    column = (PROBED_ROWS, *(1,) * len(input_shape))
    level = rng.uniform(lower, upper, column)
    contrast = rng.uniform(0, upper - lower, column)
    batch = level + contrast * rng.uniform(-0.5, 0.5, (PROBED_ROWS, *input_shape))
    return np.clip(batch, lower, upper).astype(np.float32)


# ---- The classifier

Parameters = ParamSpec("Parameters")
Forward = Callable[[NDArray[np.float32]], Any]

PROBE_ROWS = 3
# Two float32 engines sum in another order; a wrong export is off by far more than this share.
ENGINE_TOLERANCE = 1e-3


@dataclass(frozen=True)
class TorchWeights:
    """A model as a PyTorch module.

    Attributes:
        module: makes the `torch.nn.Module`, in evaluation mode; it is not to be changed. Raises
            ClassifierError or MissingExtra where it cannot be made.
        architecture: the name of its network in `dsrs.networks`, where it is one of them.
        trainable: makes the module that is better to train, from batches of clean inputs, where
            that is another one with the same answers.
    """

    module: Callable[[], Any]
    architecture: str | None = None
    trainable: Callable[[Sequence[NDArray[np.float32]]], Any] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class CallableClassifier(Classifier):
    """A forward function with all that is known of it; every answer is checked.

    `identity` is the fingerprint of a model whose weights were hashed. A `probed` one is told by
    its answers as well, asked for anew each time: its weights may have changed in between. `noisy`
    is for a model that is better given the name of its noise than the noisy batch. `scoring`
    returns logits or probabilities where `forward` returns classes. `behind` makes the same model
    behind a denoiser, as one; without it the denoiser runs in NumPy. `graph` writes it as one ONNX
    file, where that is possible. `weights` are its weights in PyTorch, for what learns from them.
    `later_gradient` makes `score_gradient` when `gradient` is first called, or returns None.
    """

    forward: Forward
    input_shape: tuple[int, ...]
    num_classes: int
    bounds: tuple[float, float]
    identity: str
    description: str
    class_names: tuple[str, ...] = ()
    scaling: Scaling | None = None
    probed: bool = False
    score_gradient: ScoreGradient | None = None  # where the framework can back-propagate
    later_gradient: Callable[[], ScoreGradient | None] | None = None  # where that takes work
    noisy: NoisyForward | None = None
    behind: Callable[[Denoiser], CallableClassifier] | None = None
    graph: Callable[[], bytes] | None = None
    weights: TorchWeights | None = None
    memory: FittingRows = field(default_factory=FittingRows)
    scoring: Forward | None = None
    replicas: tuple[Classifier, ...] = ()
    made_by: Callable[[], CallableClassifier] | None = None  # makes it again, where it is unpickled

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle how the classifier was made: sessions and closures cannot be pickled."""
        try:
            return unpickled, (pickle.dumps(self.made_by), self.fingerprint, self.class_names)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ClassifierError(
                f"{self.description} cannot be pickled ({error}); make it from a file, or from "
                "functions and classes that a module defines by name"
            ) from error

    @property
    def rows_at_once(self) -> int | None:
        return self.memory.most

    def gradient(self) -> ScoreGradient | None:
        if self.score_gradient is None and self.later_gradient is not None:
            return self.later_gradient()
        return self.score_gradient

    @property
    def makes_noise(self) -> bool:
        return self.noisy is not None

    def votes_there(self, edges: NDArray[np.float64]) -> VotesThere | None:
        if self.noisy is None:
            return None
        return DeviceVotes(self.noisy, self.num_classes, edges, self.description)

    def classify_noisy(self, block: NoiseBlock) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        if self.noisy is None:
            return super().classify_noisy(block)
        noisy, norms = self.noisy, np.empty(block.count)

        def ask(start: int, stop: int) -> Any:
            made = noisy(block.part(start, stop), ())
            answer, norms[start:stop] = made.run(made.batch), made.norms.cpu().numpy()
            return answer.cpu().numpy()

        answer = self.memory.answer(ask, block.count, self.description)
        return checked_classes(answer, block.count, self.num_classes, self.description), norms

    @property
    def fingerprint(self) -> str:
        if not self.probed:
            return self.identity
        answers = answers_fingerprint(
            self.forward, self.input_shape, self.num_classes, self.bounds, self.description
        )
        return f"{self.identity} {answers}"

    def classify(self, batch: NDArray[np.float32]) -> NDArray[np.int64]:
        answer = self._answer(self.forward, batch)
        return checked_classes(answer, len(batch), self.num_classes, self.description)

    def scores(self, batch: NDArray[np.float32]) -> NDArray[np.float64]:
        answer = self._answer(self.scoring or self.forward, batch)
        return checked_scores(answer, len(batch), self.num_classes, self.description)

    def _answer(self, forward: Forward, batch: NDArray[np.float32]) -> Any:
        checked_batch(batch, self.input_shape)
        return self.memory.answer(
            lambda start, stop: answer_of(forward, batch[start:stop], self.description),
            len(batch),
            self.description,
        )


def remembered(
    make: Callable[Parameters, CallableClassifier],
) -> Callable[Parameters, CallableClassifier]:
    """Let what `make` makes know how it was made, so that it can be pickled."""

    @functools.wraps(make)
    def making(*args: Parameters.args, **options: Parameters.kwargs) -> CallableClassifier:
        return replace(make(*args, **options), made_by=functools.partial(making, *args, **options))

    return making


def unpickled(made_by: bytes, fingerprint: str, class_names: tuple[str, ...]) -> CallableClassifier:
    """A classifier made again, as `__reduce__` asks; refuses to be another one."""
    made: CallableClassifier = pickle.loads(made_by)()
    if made.fingerprint != fingerprint:
        raise ClassifierError(
            f"{made.description} has changed since it was pickled: its fingerprint was "
            f"{fingerprint}, and is {made.fingerprint}"
        )
    return replace(made, class_names=class_names)


@remembered
def from_callable(
    forward: Forward,
    input_shape: tuple[int, ...],
    num_classes: int | None = None,
    *,
    bounds: tuple[float, float] = UNIT_BOUNDS,
    name: str | None = None,
    fingerprint: str | None = None,
    source: str = "",
    noisy: NoisyForward | None = None,
) -> CallableClassifier:
    """Make a classifier from a function of batches.

    Args:
        forward: takes float32 batches (n, *input_shape) and returns logits (n, classes) or integer
            class ids (n,). It answers each row by itself and can be called from several threads.
            It is called once here, on `probe_batch`, to check what it returns.
        input_shape: the shape of one input.
        num_classes: how many classes there are; taken from the logits when None.
        bounds: the least and the largest value of inputs.
        name: what to call it in messages; the name of the function when None.
        fingerprint: what identifies the classifier. When None it is the name, `source` and a hash
            of its answers on some fixed inputs.
        source: what is known of its code, as a part of the fingerprint.
        noisy: adds the noise and answers in one pass, for models that make noise on their device.
    """
    shape, units = checked_shape(input_shape), checked_bounds(bounds)
    given = name or _qualified_name(forward)
    answer = answer_of(forward, probe_batch(shape, units), given)
    classes = _classes_of(answer, given) if num_classes is None else num_classes
    classifier = CallableClassifier(
        forward=forward,
        input_shape=shape,
        num_classes=checked_num_classes(classes),
        bounds=units,
        identity=fingerprint or f"name:{given} {source}".rstrip(),
        description=described(given, shape, units),
        probed=fingerprint is None,
        noisy=noisy,
    )
    checked_classes(answer, PROBE_ROWS, classifier.num_classes, given)
    return classifier


def probe_batch(input_shape: tuple[int, ...], bounds: tuple[float, float]) -> NDArray[np.float32]:
    """A few seeded inputs, spread over `bounds`, to try a model on."""
    rng = np.random.default_rng(0)
    return rng.uniform(*bounds, (PROBE_ROWS, *input_shape)).astype(np.float32)


def refuse_other_answers(
    answers: Forward, expected: Forward, batch: NDArray[np.float32], complaint: str
) -> None:
    """Raise ClassifierError with this complaint if two forms of a model answer differently."""
    # One row fewer than the example of an export shows that the batch axis is really open.
    for rows in (batch, batch[1:]):
        right, answer = expected(rows), answers(rows)
        if right.shape != answer.shape:
            raise ClassifierError(f"{complaint} (shape {answer.shape}, not {right.shape})")
        allowed = ENGINE_TOLERANCE * max(1.0, float(np.abs(right).max()))
        if not np.allclose(answer, right, 0.0, allowed):
            difference = float(np.abs(answer - right).max())
            raise ClassifierError(
                f"{complaint} (by {difference:.3g}; up to {allowed:.3g} is taken for rounding)"
            )


def _classes_of(answer: Any, name: str) -> int:
    shape = getattr(answer, "shape", None)
    if shape is not None and len(shape) == 2:
        return int(shape[1])
    if shape is not None and len(shape) == 1:
        raise InvalidInput(f"{name} returns class ids, so `num_classes` must be given")
    raise ClassifierError(
        f"{name} must return logits of shape (n, classes) or class ids of shape (n,), "
        f"got {type(answer).__name__ if shape is None else f'shape {tuple(shape)}'}"
    )


def _qualified_name(forward: Forward) -> str:
    named = forward if hasattr(forward, "__qualname__") else type(forward)
    return f"{named.__module__}.{named.__qualname__}"


# ---- The classifier behind a denoiser


@remembered
def denoised(classifier: Classifier, denoiser: Denoiser) -> CallableClassifier:
    """Return `classifier` with `denoiser` between the noise and the classifier.

    In an ONNX model the denoiser becomes a part of the graph, before a PyTorch module it is a
    module, and before anything else it runs in NumPy. It is a part of description and fingerprint.

    Args:
        classifier: the model.
        denoiser: what its inputs pass through, as `denoiser_from` makes it for the shape and the
            bounds of the model.
    """
    if isinstance(classifier, CallableClassifier) and classifier.behind is not None:
        return replace(classifier.behind(denoiser), class_names=classifier.class_names)
    return in_numpy(classifier, denoiser)


def in_numpy(classifier: Classifier, denoiser: Denoiser) -> CallableClassifier:
    """Return `classifier` behind `denoiser`, which runs in NumPy."""
    known = classifier if isinstance(classifier, CallableClassifier) else None
    inner: Forward = classifier.classify if known is None else known.forward
    scores: Forward = classifier.scores if known is None else known.scoring or known.forward
    identity = classifier.fingerprint if known is None else known.identity
    title, shape = classifier.description.partition(";")[0], tuple(classifier.input_shape)
    return CallableClassifier(
        forward=lambda batch: inner(denoiser.rows(batch)),
        scoring=lambda batch: scores(denoiser.rows(batch)),
        input_shape=shape,
        num_classes=classifier.num_classes,
        bounds=classifier.bounds,
        identity=f"{identity} {denoiser.fingerprint}",
        description=described(f"{title} behind {denoiser.name}", shape, classifier.bounds),
        class_names=classifier.class_names,
        probed=known is not None and known.probed,
        memory=FittingRows() if known is None else known.memory,
    )
