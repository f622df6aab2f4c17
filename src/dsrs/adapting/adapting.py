"""Try the ways to help a model on some inputs, and write the best as a model."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.adapting.judging import (
    ADAPTED_CARD_NAME,
    AS_IT_IS,
    LAW_NAME,
    LAWS_FOLDER,
    LOOKS,
    PICTURES,
    Budget,
    Candidate,
    Made,
    Watch,
    best_of,
    check_output_folder,
    judged,
)
from dsrs.adapting.learning import (
    DEFAULT_WAYS,
    LEARNING_WAYS,
    WAYS,
    Learning,
    Situation,
    without_learning,
)
from dsrs.classifiers import MODEL_NAME, Classifier, denoiser_from
from dsrs.datasets import Dataset, some_inputs
from dsrs.errors import ClassifierError, DataError, InvalidInput, MissingExtra
from dsrs.files import write_whole
from dsrs.store import in_memory, png, rows_not_in

# ---- Data to learn from that holds nothing of what is certified

# Images in files, of both data sets, that are read to compare them: some minutes.
MOST_IMAGES_COMPARED = 30_000
LOG = logging.getLogger("dsrs.adapting")
Unlabelled = tuple[Dataset, Sequence[int]]  # data, and which inputs of it


def usable_data(
    unlabelled: Unlabelled | None, dataset: Dataset, indices: Sequence[int], ways: Sequence[str]
) -> tuple[Unlabelled | None, bool]:
    """What may be estimated from, and whether models may also learn from it.

    Args:
        unlabelled: the data that was given to estimate and to learn from.
        dataset: the data to certify.
        indices: its inputs that choose.
        ways: those that were asked for by name.
    """
    if unlabelled is None or unlabelled[0].fingerprint != dataset.fingerprint:
        left = None if unlabelled is None else without_shared(unlabelled, dataset, ways)
        return left, unlabelled is None or left is not None
    # What is fitted to the inputs that choose looks better on them.
    fitted = bool(set(unlabelled[1]) & set(indices))
    return None if fitted else unlabelled, False  # inputs that may be reported teach nothing


def without_shared(
    unlabelled: Unlabelled, dataset: Dataset, ways: Sequence[str]
) -> Unlabelled | None:
    """The inputs to learn from that are not also in `dataset`, by their content; None: no input.

    Raises InvalidInput where nothing is left and one of `ways`, those asked for by name, needs it.
    """
    data, rows = unlabelled
    read = sum(len(each) for each in (data, dataset) if not in_memory(each))
    if read > MOST_IMAGES_COMPARED:
        LOG.warning(
            "%d images in files are too many to compare: none of the inputs to learn from "
            "(--train-data) should be among those that are certified",
            read,
        )
        return unlabelled
    left = rows_not_in(data, rows, dataset)
    shared = len(rows) - len(left)
    if not shared:
        return unlabelled
    said = (
        f"{shared} of {len(rows)} inputs to learn from (--train-data) are also in the data to "
        "certify (--data)"
    )
    if not left:
        if set(ways) & {"statistics", *LEARNING_WAYS}:
            raise InvalidInput(f"{said}: give others to {', '.join(ways)}")
        LOG.warning("%s: nothing is learned from them", said)
        return None
    LOG.warning("%s: learned from the other %d", said, len(left))
    if len(rows) == len(data):  # a whole data set stays one
        return some_inputs(data, left), range(len(left))
    return data, left


# ---- Pictures of what noise and denoiser do: the image, its noisy copy, and what the model sees

MOST_PICTURES = 4
LEAST_PICTURE_HEIGHT = 96  # pixels; smaller images are enlarged
PICTURE_GAP = 4  # white pixels between two


def write_pictures(
    folder: Path, best: Candidate, dataset: Dataset, indices: tuple[int, ...], seed: int
) -> list[str]:
    """Write a strip for each of the first inputs under the noise of the best; the files' names.

    Inputs that are no images of one or three channels have none.
    """
    if len(dataset.input_shape) != 3 or dataset.input_shape[0] not in (1, 3):
        return []
    model, rng = best.classifier, np.random.default_rng(seed)
    name = best.denoiser
    denoiser = None if name is None else denoiser_from(name, model.input_shape, model.bounds)
    folder.mkdir(exist_ok=True)
    names = []
    for index in indices[:MOST_PICTURES]:
        image = dataset.input(index)
        noise = rng.standard_normal(image.shape, dtype=np.float32)
        noisy = image + np.float32(best.tuned.best.law.sigma) * noise
        seen = [] if denoiser is None else [denoiser.rows(noisy[None])[0]]
        names.append(f"{index}.png")
        write_whole(folder / names[-1], strip([image, noisy, *seen], dataset.bounds))
    return names


def strip(images: list[NDArray[np.float32]], bounds: tuple[float, float]) -> bytes:
    """PNG of images (channels, height, width) side by side."""
    lower, upper = bounds
    times = -(-LEAST_PICTURE_HEIGHT // images[0].shape[1])
    parts: list[NDArray[np.uint8]] = []
    for image in images:
        unit = np.clip((image - lower) / (upper - lower), 0, 1)
        large = np.rint(255 * unit).astype(np.uint8).repeat(times, axis=1).repeat(times, axis=2)
        white = np.full((*large.shape[:2], PICTURE_GAP), 255, np.uint8)
        parts += [white, large] if parts else [large]
    return png(np.concatenate(parts, axis=2))


# ---- Trying, choosing and writing

ADAPTED_FORMAT = 1


@dataclass(frozen=True)
class Adapted:
    """What was tried, and what came out.

    Attributes:
        candidates: the model as it is, and what each way made of it.
        failed: why a way could not be tried, by its name.
        folder: where the best one is.
        model_file: the best one as an ONNX file, where it can be one.
        budget: what all were judged by.
        unlabelled: the data, and which inputs of it, that there were to learn from.
    """

    candidates: tuple[Candidate, ...]
    failed: dict[str, str]
    folder: Path
    model_file: Path | None
    budget: Budget
    unlabelled: tuple[Dataset, Sequence[int]] | None

    @property
    def best(self) -> Candidate:
        """The candidate that is expected to certify most.

        One that learned has only seen noise of some sizes, and few inputs choose: it is taken only
        if the paired 95% interval of its gain over the best other candidate lies above 0.
        """
        learned = [each for each in self.candidates if each.name in LEARNING_WAYS]
        best = best_of(without_learning(self.candidates))
        for each in sorted(learned, key=lambda each: -each.value):
            if each.gain_over(best)[1] > 0:
                return each
        return best

    @property
    def gain(self) -> tuple[float, float, float]:
        """What the best one adds to the model as it is, with its paired 95% interval."""
        return self.best.gain_over(self.candidates[0])

    def to_dict(self) -> dict[str, Any]:
        """Return what was tried and chosen as JSON."""
        gain, low, high = self.gain
        source = None
        if self.unlabelled is not None:
            data, rows = self.unlabelled
            source = {"name": data.name, "fingerprint": data.fingerprint, "inputs": len(rows)}
        return {
            "format": ADAPTED_FORMAT,
            "best": self.best.name,
            "gain": {"value": gain, "interval": [low, high]},
            "denoise": self.best.denoiser,
            "model_file": None if self.model_file is None else self.model_file.name,
            "candidates": [each.to_dict() for each in self.candidates],
            "failed": self.failed,
            "objective": self.best.tuned.objective.text,
            "n": self.best.tuned.n,
            "alpha": self.best.tuned.alpha,
            "votes": self.budget.votes,
            "seed": self.budget.seed,
            "unlabelled": source,
        }


def adapt(
    model: Classifier,
    dataset: Dataset,
    indices: Sequence[int],
    output: str | Path,
    *,
    ways: Sequence[str] = (),
    budget: Budget | None = None,
    unlabelled: tuple[Dataset, Sequence[int]] | None = None,
    learning: Learning | None = None,
    watch: Watch | None = None,
) -> Adapted:
    """Try each way on these inputs, and write the best candidate into the folder `output`.

    The folder gets model.onnx, which every verb takes with the folder as its model; tuned.json,
    the law for `dsrs certify --law`; adapted.json, the candidates; in `laws` the law of each; in
    `looks` their votes; in `pictures` some inputs, noisy and denoised; in `denoiser` and
    `fine-tuned` what learned. Stopped and called again in the same way, it continues.

    Args:
        model: the model as it is.
        dataset: the data.
        indices: the inputs that choose; report others.
        output: the folder.
        ways: names of `WAYS`; by default `DEFAULT_WAYS` and, with `learning`, `LEARNING_WAYS`, of
            which those that do not fit the model are left out.
        budget: what each candidate is judged by.
        unlabelled: data and inputs of it to estimate or learn from, which neither choose nor are
            reported; without them only denoisers are tried that need no training.
        learning: how those learn that learn; they need `unlabelled` data other than `dataset`.
        watch: makes a counter of the votes of a candidate, or of the images of a training.
    """
    for way in ways:
        if way not in WAYS:
            raise InvalidInput(f"`ways` must be of {', '.join(WAYS)}, got {way!r}")
    folder = Path(output)
    check_output_folder(folder)
    chosen = budget or Budget()
    unlabelled, teaches = usable_data(unlabelled, dataset, indices, ways)
    learning = learning if teaches else None

    situation = Situation(model, unlabelled, (), folder, chosen.seed, learning, watch)
    for way in ways:
        WAYS[way].check(situation)

    def judge(name: str, made: Made) -> Candidate:
        return judged(name, made, dataset, indices, chosen, folder / LOOKS, watch)

    candidates, failed = _tried(ways, situation, judge)
    found = Adapted(tuple(candidates), failed, folder, None, chosen, unlabelled)
    return _written(found, dataset, indices)


def _tried(
    ways: Sequence[str], situation: Situation, judge: Callable[[str, Made], Candidate]
) -> tuple[list[Candidate], dict[str, str]]:
    """Return all candidates, and why ways failed that were not asked for by name."""
    candidates, failed = [judge(AS_IT_IS, Made(situation.model))], {}
    for way in ways or (*DEFAULT_WAYS, *(LEARNING_WAYS if situation.learning else ())):
        now = replace(situation, before=tuple(candidates))
        try:
            candidates.append(judge(way, WAYS[way].make(now)))
        except (ClassifierError, DataError, InvalidInput, MissingExtra) as error:
            if ways:
                raise
            failed[way] = str(error)
    return candidates, failed


def _written(found: Adapted, dataset: Dataset, indices: Sequence[int]) -> Adapted:
    """Write the best candidate, its law and what was tried, in the order that is checked."""
    best, folder, model_file = found.best, found.folder, None
    chose = best.landscape.inputs.to_dict()
    (folder / LAWS_FOLDER).mkdir(exist_ok=True)
    for each in found.candidates:
        law = each.tuned.to_dict() | {"landscape": {"votes": each.landscape.votes, **chose}}
        content = json.dumps(law, indent=1).encode()
        write_whole(folder / LAWS_FOLDER / f"{each.file_name}.json", content)
        if each is best:
            write_whole(folder / LAW_NAME, content)
    pictures = write_pictures(folder / PICTURES, best, dataset, tuple(indices), found.budget.seed)
    graph = getattr(best.classifier, "graph", None)
    if graph is not None:
        model_file = folder / MODEL_NAME
        write_whole(model_file, graph())
    whole = replace(found, model_file=model_file)
    record = whole.to_dict() | chose | {"pictures": pictures}
    write_whole(folder / ADAPTED_CARD_NAME, json.dumps(record, indent=1).encode())
    return whole
