"""The appendix's second way to truncate: move the percentile along a gradient ("Opt").

For one input it looks for the percentile P_con that minimises -Q_A + lambda/2 (P_con - P-)^2.
P_con is a percentile of the *Gaussian* norm: T = sigma sqrt(2 GammaCDF_{d/2}^-1(P_con)). Votes have
no gradient in it, so the paper replaces that of -Q_A by the mean over noise from Q of the
derivative of the cross-entropy loss with respect to the noise norm, and steps P_con by
learning_rate * (that mean + lambda (P_con - P-)). The radius is then certified from fresh votes as
for any other truncation; nothing of the search enters the proof.

Gaussian norms are so concentrated that P_con from 0.1 to 0.9 is a share of P from 0.448 to 0.624 on
MNIST (k = 380). To move the share of P itself proves less (docs/differences.md).

The paper's numbers (learning rate 2000, lambda near 1e-5) fit the loss averaged over the 2000
samples of a step, whose derivative in one noise norm carries a factor 1/2000: the learning rate
undoes it, and lambda is 0.01 to 0.14 on the scale of one sample. So it is done here. Without the
factor the first step is tens of times the whole range of P_con (docs/differences.md).

Both ways to truncate are compared on a torch model, from fresh votes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.confidence import clopper_pearson
from dsrs.datasets import Dataset
from dsrs.errors import InvalidInput, MissingExtra
from dsrs.laws import GeneralizedGaussian, Truncated, sample_additional
from dsrs.measures import floor_printed
from dsrs.proofs import Interval, Observation, certify
from reproduction.growth import concentration_radius

# lambda for (data set, training), as the paper prints them.
PAPER_WEIGHTS = {
    ("mnist", "gaussian"): 7e-5,
    ("mnist", "consistency"): 6e-6,
    ("cifar10", "gaussian"): 3e-6,
    ("cifar10", "consistency"): 4e-6,
    ("imagenet", "gaussian"): 1e-5,
    ("imagenet", "consistency"): 1e-5,
}


@dataclass(frozen=True, slots=True)
class OptSettings:
    """Hyperparameters of the search; the defaults are the paper's for MNIST and CIFAR-10.

    ImageNet takes 10 steps. `weight` is lambda (see `PAPER_WEIGHTS`); `start`, `lowest` and
    `highest` are values of P_con.
    """

    weight: float = 7e-5
    start: float = 0.7
    steps: int = 20
    samples: int = 2000
    learning_rate: float = 2000.0
    lowest: float = 0.1
    highest: float = 0.9
    batch: int = 500

    def __post_init__(self) -> None:
        if not 0 < self.lowest <= self.start <= self.highest <= 1:
            raise InvalidInput(
                "expected 0 < lowest <= start <= highest <= 1, got "
                f"{self.lowest}, {self.start}, {self.highest}"
            )
        for name in ("steps", "samples", "batch"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"`{name}` must be at least 1, got {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class OptTruncation:
    """The truncation found, and the percentiles on the way there."""

    law: Truncated
    path: tuple[float, ...]


def truncation_at(law: GeneralizedGaussian, percentile: float) -> Truncated:
    """Q for a value of P_con."""
    return Truncated.at_radius(law, concentration_radius(law.d, law.sigma, percentile))


def optimise_percentile(
    module: Any,
    x: NDArray[np.float32],
    label: int,
    law: GeneralizedGaussian,
    p_lower: float,
    generator: np.random.Generator,
    settings: OptSettings | None = None,
) -> OptTruncation:
    """Opt's truncation for one input of a torch `module` that gives logits.

    `p_lower` is the lower bound of P_A, from the votes that were already counted. Every step is
    kept inside [lowest, highest], because the law at the next step needs a percentile.
    """
    chosen = settings or OptSettings()
    p = chosen.start
    path = [p]
    for _ in range(chosen.steps):
        slope = loss_slope(module, x, label, truncation_at(law, p), generator, chosen)
        p -= chosen.learning_rate * (slope / chosen.samples + chosen.weight * (p - p_lower))
        p = min(max(p, chosen.lowest), chosen.highest)
        path.append(p)
    return OptTruncation(truncation_at(law, p), tuple(path))


def loss_slope(
    module: Any,
    x: NDArray[np.float32],
    label: int,
    law: Truncated,
    generator: np.random.Generator,
    settings: OptSettings,
) -> float:
    """Mean over noise from Q of d(cross-entropy) / d(noise norm), at fixed direction."""
    torch = torch_for_opt()
    total = 0.0
    for start in range(0, settings.samples, settings.batch):
        count = min(settings.batch, settings.samples - start)
        noise = sample_additional(law, count, generator, np.float32)
        norms = np.linalg.norm(noise.astype(np.float64), axis=1)
        directions = torch.from_numpy((noise / norms[:, None]).astype(np.float32))
        lengths = torch.tensor(norms, dtype=torch.float32, requires_grad=True)
        inputs = torch.from_numpy(x) + (lengths[:, None] * directions).reshape(-1, *x.shape)
        labels = torch.full((count,), label, dtype=torch.int64)
        loss = torch.nn.functional.cross_entropy(module(inputs), labels, reduction="sum")
        (slopes,) = torch.autograd.grad(loss, lengths)
        total += float(slopes.sum())
    return total / settings.samples


def torch_for_opt() -> Any:
    """The module `torch`, or MissingExtra."""
    try:
        import torch
    except ImportError:
        raise MissingExtra("torch", "torch") from None
    return torch


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
    from dsrs.training import trained_model

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
