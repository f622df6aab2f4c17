"""What a candidate would certify: every law, forecast from one sampled landscape."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dsrs.certifying import Counter, certify_run
from dsrs.classifiers import MODEL_NAME, Classifier
from dsrs.confidence import Resampling, interval, resampled_means
from dsrs.datasets import Dataset
from dsrs.errors import InvalidInput, StoreError, StoreMismatch
from dsrs.methods import ALPHA, N, Plan
from dsrs.store import STORE_NAME, Landscape, read_landscape, wide_law
from dsrs.tuning import Objective, Tuned, tune

# Sizes of noise that are tried to see how far to look, as shares of the range of the data.
SIZES = 2.0 ** np.arange(-7, 1.5, 0.5)
TRIED_INPUTS, TRIED_NOISES = 16, 4
# A size is borne if so much is left of what accuracy without noise is above that of one class.
BORNE = 0.5
# Makes a counter of so much work under a title.
Watch = Callable[[int, str], AbstractContextManager[Counter]]


@dataclass(frozen=True)
class Budget:
    """What each candidate is judged by, the same for all.

    Attributes:
        votes: of one input, at noise of every norm.
        n: votes that an input will have when it is certified.
        alpha: failure probability of its certificate.
        objective: `acr` or `accuracy@R`, as for `tune`.
        reach: the largest noise of interest; None: as far as each candidate bears noise.
        seed: of the noise.
        batch: rows of a forward pass; 0: by the size of the inputs.
        workers: threads; None: all cores.
    """

    votes: int = 1000
    n: int = N
    alpha: float = ALPHA
    objective: str = "acr"
    reach: float | None = None
    seed: int = 0
    batch: int = 0
    workers: int | None = None

    def __post_init__(self) -> None:
        Objective.parse(self.objective)
        for name, least in (("votes", 1), ("n", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise InvalidInput(f"`{name}` must be at least {least}, got {getattr(self, name)}")
        if not 0 < self.alpha < 1:
            raise InvalidInput(f"`alpha` must be in (0, 1), got {self.alpha!r}")
        if self.reach is not None and not 0 < self.reach < math.inf:
            raise InvalidInput(f"`reach` must be a positive number, got {self.reach!r}")


@dataclass(frozen=True)
class Learned:
    """What was estimated or learned.

    Attributes:
        inputs: how many different ones it was learned from.
        sigma: the noise that it was learned under.
        epochs: passes over the inputs; None: moments were estimated.
    """

    inputs: int
    sigma: float
    epochs: int | None = None


@dataclass(frozen=True)
class Made:
    """What a way made.

    Attributes:
        classifier: the model with what was done to it.
        denoiser: the name of the denoiser that it stands behind, as `denoiser_from` takes it.
        learned: from what, where it was learned.
    """

    classifier: Classifier
    denoiser: str | None = None
    learned: Learned | None = None


@dataclass(frozen=True)
class Candidate:
    """A model as it may be deployed, and what it is expected to certify.

    Attributes:
        name: what was done to the model.
        classifier: the model with that.
        denoiser: the name of the denoiser that it stands behind, as `denoiser_from` takes it.
        landscape: its votes by norm of the noise.
        tuned: every law, forecast from them.
        learned: from what, where it was learned.
    """

    name: str
    classifier: Classifier
    denoiser: str | None
    landscape: Landscape
    tuned: Tuned
    learned: Learned | None = None

    @property
    def file_name(self) -> str:
        """The name of its files."""
        return file_name(self.name)

    @property
    def title(self) -> str:
        """The name, and which denoiser it stands behind where the name does not say it."""
        front = None if self.denoiser is None else Path(self.denoiser).stem
        return self.name if front in (None, self.name) else f"{self.name} behind {front}"

    @property
    def value(self) -> float:
        """What the chosen law is expected to certify."""
        return self.tuned.best.value

    def gain_over(self, other: Candidate) -> tuple[float, float, float]:
        """What it adds to the other on the same inputs, with the paired 95% interval."""
        mine, its = (one.tuned.objective.by_input(one.tuned.best.radii) for one in (self, other))
        added, resampling = mine - its, Resampling()
        low, high = interval(resampled_means(added[:, None], resampling), resampling.confidence)
        return float(np.mean(added)), float(low[0]), float(high[0])

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the forecast of the chosen law."""
        answer, kept = self.tuned.to_dict(), ("law", "method", "predicted", "radii", "limit")
        return {
            "name": self.name,
            "title": self.title,
            "model": self.classifier.description,
            "fingerprint": self.classifier.fingerprint,
            "denoise": self.denoiser,
            "learned": None if self.learned is None else asdict(self.learned),
            **{key: answer[key] for key in kept},
        }


def best_of(candidates: Sequence[Candidate]) -> Candidate:
    """The candidate that is expected to certify most, of which the first is the model as it is.

    Under very large noise a few inputs may have very large radii, and so give a large mean by luck.
    So of all others whose value a paired 95% interval cannot tell from the largest, take the one
    whose own interval has the largest lower end.
    """
    most = max(candidates, key=lambda each: each.value)
    if most is candidates[0]:
        return most
    alike = [each for each in candidates[1:] if most.gain_over(each)[1] <= 0]
    return max(alike, key=lambda each: (each.tuned.best.low, each.value))


def judged(
    name: str,
    made: Made,
    dataset: Dataset,
    indices: Sequence[int],
    budget: Budget,
    folder: Path,
    watch: Watch | None = None,
) -> Candidate:
    """Sample the landscape of a candidate into a run folder, and forecast every law from it."""
    d, classifier = math.prod(dataset.input_shape), made.classifier
    reach = budget.reach or borne_size(classifier, dataset, indices, budget.seed)
    plan = Plan(
        law=wide_law(d, reach),
        methods=("landscape",),
        n=budget.votes,
        seed=budget.seed,
        batch=budget.batch,
    )
    look = folder / file_name(name)
    certify_run(
        classifier,
        dataset,
        plan,
        indices,
        look,
        workers=budget.workers,
        progress=None if watch is None else (lambda total: watch(total, f"looking ({name})")),
    )
    landscape = read_landscape(look)
    tuned = tune(
        landscape.profiles,
        d,
        budget.n,
        budget.alpha,
        budget.objective,
        classes=landscape.classes,
    )
    return Candidate(name, classifier, made.denoiser, landscape, tuned, made.learned)


def file_name(name: str) -> str:
    """The name of a candidate as that of a file."""
    return name.replace(" ", "-")


def classes_of(dataset: Dataset, indices: Sequence[int], classifier: Classifier) -> tuple[int, ...]:
    """The label of each input, or what the model says of it without noise."""
    if dataset.labels is not None:
        return tuple(dataset.labels[list(indices)].tolist())
    answers = (classifier.classify(dataset.input(index)[None])[0] for index in indices)
    return tuple(map(int, answers))


def borne_size(
    classifier: Classifier, dataset: Dataset, indices: Sequence[int], seed: int
) -> float:
    """About the largest Gaussian noise that the model bears, in the units of the data."""
    few = list(indices)[:: max(1, len(indices) // TRIED_INPUTS)]
    images = np.stack([dataset.input(index) for index in few])
    clean = classifier.classify(images)
    labels = np.asarray(classes_of(dataset, few, classifier))
    right = float(np.mean(clean == labels))
    if not right:
        raise InvalidInput(
            f"the model is wrong on all of {len(few)} inputs without any noise; is the data as the "
            "model wants it (bounds, mean and std, order of the classes)?"
        )
    one_class = float(np.bincount(labels).max()) / len(labels)
    least = one_class + BORNE * (right - one_class)
    lower, upper = classifier.bounds
    rng, borne = np.random.default_rng(seed), SIZES[0]
    many, known = np.repeat(images, TRIED_NOISES, axis=0), np.repeat(labels, TRIED_NOISES)
    for size in SIZES:
        noise = rng.standard_normal(many.shape, dtype=np.float32)
        answers = classifier.classify(many + np.float32(size * (upper - lower)) * noise)
        if np.mean(answers == known) >= least:
            borne = size
    return float(borne * (upper - lower))


# ---- The folder of an adapted model: what lies in it, and whether `adapt` may write there

AS_IT_IS = "as it is"
ADAPTED_CARD_NAME, LAW_NAME, LOOKS = "adapted.json", "tuned.json", "looks"
LAWS_FOLDER, PICTURES = "laws", "pictures"
DENOISER_FOLDER, FINE_TUNED_FOLDER = "denoiser", "fine-tuned"
# All that is written beside the looks and the card; `dsrs.reports` makes the page.
WRITTEN_BESIDE_LOOKS = (
    *(MODEL_NAME, LAW_NAME, LAWS_FOLDER, PICTURES),
    *(DENOISER_FOLDER, FINE_TUNED_FOLDER, "candidates.html"),
)


def check_output_folder(folder: Path) -> None:
    """Raise StoreError where `adapt` would replace files that it did not write.

    What is there may be an unfinished run. That begins with the look at the model as it is, and
    writes model.onnx behind the laws: without these a folder, or its model, is of another origin.
    """
    for place in (folder, *folder.parents):
        if os.path.lexists(place) and not place.is_dir():
            raise StoreError(f"{place} is no folder; choose a new folder for the adapted model")
    for place in (folder.resolve(), *folder.resolve().parents):
        if (place / STORE_NAME).exists():
            raise StoreMismatch(f"{folder} lies in the run folder {place}; write beside it")
    if (folder / ADAPTED_CARD_NAME).exists():
        raise StoreMismatch(f"{folder} holds an adapted model already; choose another folder")
    there = [name for name in WRITTEN_BESIDE_LOOKS if os.path.lexists(folder / name)]
    if (folder / LOOKS / file_name(AS_IT_IS)).is_dir() and (
        MODEL_NAME not in there or LAW_NAME in there
    ):
        return
    if there:
        raise StoreMismatch(
            f"{folder} holds {there[0]} that is not of an unfinished run of `dsrs adapt`, which "
            "would replace it; choose another folder"
        )
