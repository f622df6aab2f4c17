"""Truncation by the heuristic against truncation by optimisation ("Opt"), on a torch model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.confidence import clopper_pearson
from dsrs.datasets import Dataset
from dsrs.errors import InvalidInput
from dsrs.laws import GeneralizedGaussian, Truncated, sample_additional
from dsrs.measures.rounding import floor_printed
from dsrs.paper.opt_truncation import OptSettings, optimise_percentile, torch_for_opt
from dsrs.proofs.certification import certify
from dsrs.proofs.interval import Interval, Observation

Noise = Callable[[int], NDArray[np.float32]]
OPT_BATCH = 1000
COMPARED_HEADS = ("input", "P-", "NP", "heuristic p", "radius", "Opt p", "radius")


@dataclass(frozen=True, slots=True)
class ComparedTruncation:
    """One input: the share of P that each choice keeps, and the radii from as many votes."""

    index: int
    p_lower: float
    np_radius: float
    heuristic_percentile: float
    heuristic_radius: float
    opt_percentile: float
    opt_radius: float

    def cells(self) -> list[str]:
        """A row of a table under `COMPARED_HEADS`."""
        return [
            str(self.index),
            floor_printed(self.p_lower, 4),
            floor_printed(self.np_radius, 4),
            f"{self.heuristic_percentile:.3f}",
            floor_printed(self.heuristic_radius, 4),
            f"{self.opt_percentile:.3f}",
            floor_printed(self.opt_radius, 4),
        ]


@dataclass(frozen=True, slots=True)
class Votes:
    """How an input is sampled: `count` votes under P and as many under Q, each with alpha / 2."""

    count: int
    alpha: float
    seed: int

    def __post_init__(self) -> None:
        if self.count < 1:
            raise InvalidInput(f"`votes` must be at least 1, got {self.count}")
        if not 0 < self.alpha < 1:
            raise InvalidInput(f"`alpha` must be in (0, 1), got {self.alpha!r}")


def compare_on(
    folder: Path, data: Dataset, inputs: int, votes: Votes, settings: OptSettings
) -> Iterator[ComparedTruncation]:
    """Compare both choices of T on `inputs` of the data, spread over it, for a trained model.

    Args:
        folder: where `dsrs train` wrote the model.
        data: labelled inputs.
        inputs: how many of them to take.
        votes: the votes of a certificate.
        settings: the hyperparameters of Opt.
    """
    if inputs < 1:
        raise InvalidInput(f"`inputs` must be at least 1, got {inputs}")
    labels = data.labels
    if labels is None:
        raise InvalidInput(f"{data.name} has no labels, which Opt needs")
    module, law = load_trained_module(folder)
    chosen = range(0, len(data), max(len(data) // inputs, 1))[:inputs]
    triples = ((index, data.input(index), int(labels[index])) for index in chosen)
    return compare_truncations(module, triples, law, votes, settings)


def compare_truncations(
    module: Any,
    inputs: Iterable[tuple[int, NDArray[np.float32], int]],
    law: GeneralizedGaussian,
    votes: Votes,
    settings: OptSettings,
) -> Iterator[ComparedTruncation]:
    """Certify each (index, image, label) of `inputs` twice, once for each choice of T.

    The search of Opt has its own samples, so the votes of the certificate stay independent of the
    choice that they judge.
    """
    for index, x, label in inputs:
        yield _compare(module, index, x, label, law, votes, settings)


def mean_radii_text(rows: Sequence[ComparedTruncation]) -> str:
    """The mean radii of all inputs, in a line."""
    names = ("np_radius", "heuristic_radius", "opt_radius")
    means = [float(np.mean([getattr(row, name) for row in rows])) for name in names]
    shown = (floor_printed(mean, 4) for mean in means)
    return "mean radius: Neyman-Pearson {}, heuristic {}, Opt {}".format(*shown)


def _compare(
    module: Any,
    index: int,
    x: NDArray[np.float32],
    label: int,
    law: GeneralizedGaussian,
    votes: Votes,
    settings: OptSettings,
) -> ComparedTruncation:
    generator = np.random.default_rng([votes.seed, index])

    def interval(noise: Noise) -> Interval:
        hits = _count(module, x, label, noise, votes.count)
        bounds = clopper_pearson(hits, votes.count, votes.alpha / 2)
        return Interval(float(bounds.lower), float(bounds.upper))

    def radius(q: Truncated) -> float:
        seen = interval(lambda count: sample_additional(q, count, generator, np.float32))
        return certify(law, p, Observation(q, seen)).radius

    p = interval(lambda count: law.sample(count, generator, np.float32))
    by_heuristic = Truncated.by_heuristic(law, p.lower)
    found = optimise_percentile(module, x, label, law, p.lower, generator, settings)
    return ComparedTruncation(
        index=index,
        p_lower=p.lower,
        np_radius=certify(law, p).radius,
        heuristic_percentile=by_heuristic.percentile,
        heuristic_radius=radius(by_heuristic),
        opt_percentile=found.law.percentile,
        opt_radius=radius(found.law),
    )


def load_trained_module(folder: Path) -> tuple[Any, GeneralizedGaussian]:
    """The torch module of a folder written by `dsrs train`, and the law it was trained for."""
    from dsrs.training.models import trained_model

    module, card = trained_model(folder)
    return module, GeneralizedGaussian.from_dict(card["law"])


def _count(module: Any, x: NDArray[np.float32], label: int, noise: Noise, votes: int) -> int:
    """How many of `votes` noisy copies of x the module gives `label`."""
    torch = torch_for_opt()
    hits = 0
    with torch.no_grad():
        for start in range(0, votes, OPT_BATCH):
            count = min(OPT_BATCH, votes - start)
            noisy = x + noise(count).reshape(count, *x.shape)
            answers = module(torch.from_numpy(noisy)).argmax(dim=1)
            hits += int((answers == label).sum())
    return hits
