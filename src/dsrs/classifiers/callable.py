"""Any Python callable on float32 batches; the other adapters end here as well."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.answers import answers_fingerprint
from dsrs.classifiers.base import (
    UNIT_BOUNDS,
    Classifier,
    ScoreGradient,
    answer_of,
    checked_batch,
    checked_bounds,
    checked_classes,
    checked_num_classes,
    checked_scores,
    checked_shape,
    described,
)
from dsrs.classifiers.counting import VotesThere
from dsrs.classifiers.device_votes import DeviceVotes
from dsrs.classifiers.memory import FittingRows
from dsrs.classifiers.tensor_passes import NoisyForward
from dsrs.errors import ClassifierError, InvalidInput
from dsrs.noise import NoiseBlock

if TYPE_CHECKING:
    from dsrs.classifiers.denoisers import Denoiser
    from dsrs.classifiers.scaling import Scaling

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
