"""A smoothed classifier for everyday use: predict and certify one input."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from dsrs.certifying.one_input import checked_input, is_whole, sample_input, setting_of
from dsrs.classifiers import Classifier
from dsrs.errors import DataError, InvalidInput
from dsrs.laws import GeneralizedGaussian
from dsrs.laws.grid import Grid
from dsrs.methods import DEFAULT_METHODS, Plan
from dsrs.methods.looks import schedule
from dsrs.methods.plan import ADAPTIVE_BATCH
from dsrs.proofs.certificate import Certificate
from dsrs.votes import Stream, VoteCollector, WorkUnit
from dsrs.votes.records import SampledInput

PREDICTION = "predict"
STRAY_SHARE = 0.01  # of alpha: for votes that stray from the ideal noise


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the smoothed classifier answers.

    `status` is "predicted" with a class in `label`, or "abstained" (then `label` is None): the two
    most frequent classes were too close to tell apart. `counts` are the votes by class: only as
    many as the answer took.
    """

    status: Literal["predicted", "abstained"]
    label: int | None
    counts: tuple[int, ...]


class SmoothedClassifier:
    """A classifier made robust by voting under noise, with proofs of how robust it is.

    The smoothed answer for x is the class that the wrapped classifier gives most often when noise
    from `law` is added to x. Small changes of x cannot change that answer much, and `certify` says
    how small is small enough.

        classifier = dsrs.classifiers.load_classifier("net.onnx")
        law = dsrs.GeneralizedGaussian(d=784, sigma=0.5, k=380)
        smoothed = dsrs.SmoothedClassifier(classifier, law, n=100_000, alpha=0.001)
        smoothed.predict(x).label       # the class, or None when it abstains
        smoothed.certify(x).radius      # no change of x shorter than this changes the class

    classifier: what to wrap (see `dsrs.classifiers`).
    law: the noise; its `d` is the number of values of one input. More noise gives larger radii and
        a less accurate classifier.
    n: votes for one certificate. More votes give a larger radius, and take longer.
    alpha: how often a certificate may be wrong, at most.
    method: how to certify: `np`, `tailored`, or a law of double sampling such as `rescaled:0.8x`.
    n0: votes that choose the class to certify when no label is given.
    seed: the same seed gives the same votes, whatever the machine's number of cores.
    workers: threads; all cores when None.
    grid: what inputs and noise are rounded to, so that certificates hold in floating point
        (docs/grid.md): "default" has 4080 steps between the classifier's bounds, where 8-bit images
        are exact; a `Grid`; or None, for noise added in float32.
    options: further fields of `Plan`: `fallback=True`, `early_stop=True`; with the methods `np` and
        `tailored` also `radius=1.0` (is this radius certified? stop when it is known), `radii=...`,
        `precision=0.01`, `classes="all"` and `bound="randomized"`.
    """

    def __init__(
        self,
        classifier: Classifier,
        law: GeneralizedGaussian,
        *,
        n: int = 100_000,
        alpha: float = 0.001,
        method: str = DEFAULT_METHODS[-1],
        n0: int = 100,
        seed: int = 0,
        workers: int | None = None,
        grid: Grid | Literal["default"] | None = "default",
        **options: Any,
    ) -> None:
        self.classifier = classifier
        self.workers = workers
        if grid == "default":
            grid = Grid.of_bounds(classifier.bounds)
        self.plan = Plan(law, (method,), n=n, n0=n0, alpha=alpha, seed=seed, grid=grid, **options)

    def predict(self, x: ArrayLike, n: int = 1000, alpha: float | None = None) -> Prediction:
        """The class of the smoothed classifier at x, or an abstention.

        Stops as soon as a two-sided binomial test tells the two most frequent classes apart
        (PREDICT of Cohen et al. 2019), and abstains if `n` votes do not. The test is made at looks
        that are fixed before the votes, each at its part of `alpha` (looks.py): it names a wrong
        class with at most that part (their Proposition 2, and Hung and Fithian 2019), so the
        answer is not the smoothed classifier's with probability at most alpha.

        The votes are those of `certify`: x is rounded to the same grid, and the test allows for
        votes that stray from the ideal noise there.
        """
        alpha = self.plan.alpha if alpha is None else alpha
        plan = self.plan.replace(n0=n, alpha=alpha, batch=min(self.plan.batch, ADAPTIVE_BATCH))
        image, number = checked_input(self.classifier, x, plan, index=0), input_number(x)
        counts = np.zeros(self.classifier.num_classes, dtype=np.int64)
        label, stream = None, Stream(PREDICTION, plan.law)
        variation = 0.0 if plan.grid is None else plan.grid.variation(plan.law)
        with VoteCollector(self.workers) as collector:
            for look in schedule(n, plan.alpha, plan.batch):
                unit = WorkUnit(number, stream, int(counts.sum()), look.votes)
                votes = collector.collect(self.classifier, image, setting_of(plan), unit)
                counts += votes.sum(axis=1)
                label = told_apart(counts, look.alpha, variation)
                if label is not None:
                    break
        return Prediction(
            status="abstained" if label is None else "predicted",
            label=label,
            counts=tuple(counts.tolist()),
        )

    def certify(
        self, x: ArrayLike, label: int | None = None, *, index: int | None = None
    ) -> Certificate:
        """A proof that no change of x shorter than its `radius` changes the smoothed answer.

        Certifies `label` where it is given, else the class that n0 votes choose. Status
        "abstained" and radius 0 mean that no robustness could be proved. The certificate is wrong
        with probability at most `alpha` over the votes.

        `index` is the place of x in a dataset, and chooses its noise: with the seed, votes and
        method of a run of `dsrs certify`, the certificate is that of the run. Without it the noise
        is chosen by the values of x.
        """
        (strategy,) = self.plan.strategies().values()
        return strategy.certified(self.sample(x, label, index=index))

    def sample(
        self, x: ArrayLike, label: int | None = None, *, index: int | None = None
    ) -> SampledInput:
        """The votes behind `certify`, to keep or to certify again with another alpha."""
        with VoteCollector(self.workers) as collector:
            number = input_number(x) if index is None else checked_index(index)
            return sample_input(self.classifier, x, self.plan, number, label, collector)


def checked_index(index: object) -> int:
    """`index` as an int, or InvalidInput unless it is a whole number that may key the noise."""
    if not is_whole(index) or not 0 <= index < 2**56:
        raise InvalidInput(f"`index` must be a whole number from 0 to 2^56 - 1, got {index!r}")
    return int(index)


def told_apart(counts: NDArray[np.int64], alpha: float, variation: float = 0.0) -> int | None:
    """The most frequent class, if it is not the second one's chance at level alpha.

    A vote made on the grid is that of ideal noise but with probability `variation` (docs/grid.md):
    as many votes as may stray, but for a share of alpha, are counted for the second class instead.
    """
    second, top = (int(place) for place in np.argsort(counts, kind="stable")[-2:])
    best, rest, stray = int(counts[top]), int(counts[second]), 0
    if variation > 0:
        votes, alpha_stray = int(counts.sum()), STRAY_SHARE * alpha
        stray = int(stats.binom.isf(alpha_stray, votes, variation))
        while stats.binom.sf(stray, votes, variation) > alpha_stray:
            stray += 1
        alpha -= alpha_stray
    best, rest = best - stray, rest + stray
    if best <= rest:
        return None
    return top if stats.binomtest(best, best + rest, 0.5).pvalue <= alpha else None


def input_number(x: ArrayLike) -> int:
    """A number for an input that has no place in a dataset: a hash of its values.

    Different inputs then see independent noise, and the same input the same noise every time.
    """
    values = np.ascontiguousarray(x, dtype=np.float32)
    if not values.size:
        raise DataError("an input must hold at least one number, got none")
    return int.from_bytes(hashlib.blake2b(values.tobytes(), digest_size=7).digest(), "big")
