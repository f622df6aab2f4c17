"""What an attack is after, and what votes and gradients say of it at a perturbed point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers import Classifier, ScoreGradient
from dsrs.laws import GeneralizedGaussian, Norm, Rescaled, norm_of
from dsrs.noise import Stream
from dsrs.proofs import Claim, Source
from dsrs.votes import Batch, Counts, InlineCollector, Setting, Tally, WorkUnit

if TYPE_CHECKING:
    from typing_extensions import Self

Floats = NDArray[np.float64]

# ---- The score of a smoothing law: what turns votes into the gradient of a probability
#
# Let e be noise with density p(e) ~ |e|^(-2k) exp(-(|e|/s)^eta) and
# P_A(delta) = E f(x + delta + e). Moving the derivative from f to p (Stein) gives
#
#     grad P_A = E[f g(e)],   g(e) = -grad log p(e) = (2k / |e|^2 + eta |e|^(eta - 2) / s^eta) e,
#
# for any f, so votes are enough. For the Gaussian g(e) = e / sigma^2. Near 0 |g| grows like 2k/|e|,
# whose variance is finite only for d - 2k > 2 (m > 1 for eta = 2). Norms below the law's quantile
# LEAST_NORM_QUANTILE are therefore counted as if they were at it. That changes the weight of a few
# votes, whose noise is so short that their answer hardly depends on its direction.

LEAST_NORM_QUANTILE = 0.02


class Score:
    """g(e) / e by the norm of e, for one law."""

    def __init__(self, law: GeneralizedGaussian) -> None:
        self._law = law
        self._least = float(law.radial_quantile(LEAST_NORM_QUANTILE))

    def weights(self, norms: Floats) -> Floats:
        """|g(e)| / |e| for noise of these norms."""
        law = self._law
        if law.is_gaussian:
            return np.full(len(norms), law.sigma**-2.0)
        kept = np.maximum(norms, self._least)
        unit = law.scale * np.sqrt(2.0)
        size = 2 * law.k / kept + law.eta / unit * (kept / unit) ** (law.eta - 1)
        return np.asarray(size / np.maximum(norms, np.finfo(np.float64).tiny))


# ---- The aim: the claim, its margin, and the points that are voted on
#
# The margin of a claim is p - 1/2 for the mean p of a score of each vote: for a majority 1 for the
# target and 0 for any other class, so p = P_A; for a lead 1 for the target, 0 for the rival and 1/2
# for any third class, so p = (1 + P_A - P_b) / 2. Either claim ends where p = 1/2.
#
# A run that samples on a grid gives its answer at grid points (docs/grid.md): perturbed inputs are
# rounded to them, and it is the rounded point whose distance counts.


@dataclass(frozen=True, slots=True)
class Aim:
    """One input, the claim about its class `target`, and the noise of its smoothed classifier."""

    classifier: Classifier
    x: NDArray[np.float32]
    law: GeneralizedGaussian  # the smoothing law
    setting: Setting
    index: int
    target: int
    claim: Claim
    norm: Norm = "l2"  # that distances are measured in

    @property
    def slack(self) -> float:
        """Return an upper bound of how far sampled probabilities are from those of ideal noise."""
        grid = self.setting.grid
        return 0.0 if grid is None else grid.variation(self.law)

    def point(self, perturbation: Floats) -> NDArray[np.float32]:
        """The perturbed input, as the classifier would be given it."""
        moved = self.x + perturbation.astype(np.float32).reshape(self.x.shape)
        grid = self.setting.grid
        return moved if grid is None else grid.values(grid.cells(moved))

    def perturbation(self, perturbation: Floats) -> NDArray[np.float32]:
        """Return `point` minus the input."""
        if self.setting.grid is None:
            return perturbation.astype(np.float32).reshape(self.x.shape)
        return self.point(perturbation) - self.x

    def length(self, perturbation: Floats) -> float:
        """How far `point` is from the input, rounded up."""
        point, grid = self.point(perturbation), self.setting.grid
        if grid is None:
            away, extra = point.astype(np.float64) - self.x, 0.0
        else:
            # Numbers of float32 stand for the grid points that they are nearest to.
            away = grid.step * (grid.cells(point) - grid.cells(self.x))
            # l-infinity distances are at most those of l2, and those of l1 sqrt(d) times as large.
            extra = grid.distance(self.x) * (math.sqrt(away.size) if self.norm == "l1" else 1.0)
        # A sum of d numbers is rounded by less than d 2^-53 of itself.
        rounding = 1 + 1e-14 + (away.size * 2.0**-53 if self.norm == "l1" else 0.0)
        return math.nextafter(norm_of(away, self.norm) * rounding + extra, math.inf)

    def votes(
        self, perturbation: Floats, stream: Stream, count: int, stop: Event, *tallies: Tally
    ) -> Counts:
        """Count the first votes of a stream at `point`, and add up `tallies` over them."""
        unit = WorkUnit(self.index, stream, 0, count, tallies)
        collector, point = InlineCollector(stop), self.point(perturbation)
        return collector.collect(self.classifier, point, self.setting, unit)

    def rival(self, counts: Sequence[int]) -> int:
        """Return the class other than the target that has most of these votes."""
        others = np.array(counts)
        others[self.target] = -1
        return int(others.argmax())

    def scores(self, rival: int | None) -> Floats:
        """Return each class's score of a vote: against the rival, or for a majority without one."""
        scores = np.zeros(self.classifier.num_classes)
        if self.claim == "lead" and rival is not None:
            scores[:] = 0.5
            scores[rival] = 0.0
        scores[self.target] = 1.0
        return scores

    def share(self, counts: Sequence[int], rival: int) -> float:
        """Return p, the mean score of these votes."""
        return float(self.scores(rival) @ np.array(counts)) / sum(counts)


# ---- A look at a perturbed input: how far the claim still holds there, where it falls fastest

RADIAL_BINS = 16  # of equal mass


@dataclass(frozen=True, slots=True)
class Reading:
    """What the votes at one point say.

    `fall` points where p falls: an estimate of -grad p up to a factor. `rate` estimates how fast p
    falls along the perturbation itself, in units of 1 / length; 0 at the input.
    """

    share: float  # p
    votes: int
    fall: Floats
    variance: float  # of the error of one coordinate of `fall`
    rate: float
    counts: tuple[int, ...]


class FromVotes:
    """Readings by votes alone: -grad p = E[(p - score) g(noise)], see `Score`.

    `spent` counts the votes so far.
    """

    source: Source = "votes"
    cost = 1  # votes that one row of a reading counts for

    def __init__(self, aim: Aim, stop: Event) -> None:
        self._aim, self._stop = aim, stop
        self._readings, self.spent = 0, 0
        self._rival: int | None = None  # from the reading before: fixed before the votes

    def read(self, perturbation: Floats, votes: int, widen: float = 1.0) -> Reading:
        """A reading from so many fresh rows, under noise `widen` times as large as P's."""
        aim, wide = self._aim, self._aim.law.resized(widen * self._aim.law.sigma)
        law = aim.law if widen == 1 else Rescaled(aim.law, wide.sigma)
        stream = Stream(f"attack, {self.source} {self._readings}", law)
        wanted = self._sums(aim.point(perturbation), wide, aim.scores(self._rival))
        counted = aim.votes(perturbation, stream, votes, self._stop, wanted)
        self._readings += 1
        self.spent += votes * self.cost
        self._rival = aim.rival(counted.by_class)
        (sums,) = counted.tallies
        assert isinstance(sums, VoteSums)
        share, fall, variance = sums.fall()
        length = float(np.linalg.norm(perturbation))
        rate = float(fall @ perturbation) / length if length else 0.0
        reading = Reading(share, votes, fall, variance, rate, counted.by_class)
        return sums.turned(reading)

    def _sums(
        self, point: NDArray[np.float32], law: GeneralizedGaussian, scores: Floats
    ) -> VoteSums:
        return VoteSums(point, law, scores)


@dataclass(eq=False)
class VoteSums(Tally):
    """Sums over noisy rows that make the gradient from votes.

    Given its norm, noise has a uniform direction, so E[g | norm] = 0: from the score of a vote the
    mean score of its radial bin can be taken away. That leaves the mean of the sum as it is, and
    takes out what is due to the norm alone: votes of short noise all agree, and count for nothing.
    """

    name: ClassVar[str] = "attack"
    needs_rows: ClassVar[bool] = True

    point: NDArray[np.float32]
    law: GeneralizedGaussian
    scores: Floats  # of a vote for each class

    def __post_init__(self) -> None:
        self._point = self.point.ravel().astype(np.float64)
        self._score = Score(self.law)
        self._edges = self.law.radial_quantile(np.arange(1, RADIAL_BINS) / RADIAL_BINS)
        self._by_bin = np.zeros((RADIAL_BINS, self.point.size))  # sums of g
        self._scored = np.zeros(self.point.size)  # sum of score times g
        self._totals = np.zeros((4, RADIAL_BINS))  # rows, scores, their squares, |g|^2

    def add(self, batch: Batch) -> None:
        rows, norms = batch.rows, batch.norms
        weights, scores = self._score.weights(norms), self.scores[batch.classes]
        bins = np.searchsorted(self._edges, norms)
        factors = np.zeros((RADIAL_BINS + 1, len(rows)))
        factors[bins, np.arange(len(rows))] = weights
        factors[-1] = weights * scores
        # factors @ (rows - point), without a copy of the rows
        summed = factors.astype(np.float32) @ rows - factors.sum(axis=1)[:, None] * self._point
        self._by_bin += summed[:-1]
        self._scored += summed[-1]
        for place, values in enumerate(
            (np.ones(len(rows)), scores, scores**2, (weights * norms) ** 2)
        ):
            self._totals[place] += np.bincount(bins, values, minlength=RADIAL_BINS)

    def merge(self, other: Self) -> None:
        self._by_bin += other._by_bin
        self._scored += other._scored
        self._totals += other._totals

    def fall(self) -> tuple[float, Floats, float]:
        """p, -grad p, and the variance of one of its coordinates."""
        counts, scores, squares, sizes = self._totals
        rows = counts.sum()
        means = scores / np.maximum(counts, 1)
        spread = np.maximum(squares / np.maximum(counts, 1) - means**2, 0.0)
        variance = float(spread @ sizes) / self._point.size / rows**2
        fall = (means @ self._by_bin - self._scored) / rows
        return float(scores.sum() / rows), fall, variance

    def turned(self, reading: Reading) -> Reading:
        """The reading with a better direction, where these sums have one."""
        return reading


# ---- Readings whose direction is back-propagated: PGD on the smoothed classifier (SmoothAdv)
#
# The soft answer of a differentiable model, its mean score under softmax, stands for its hard
# votes: -E grad score(x + delta + e) is the direction of Salman et al. (2019, "Provably robust deep
# learning via adversarially trained smoothed classifiers"), whose loss -log E softmax has the same
# direction. It needs far fewer rows than votes do. How much is left at the point, and how fast it
# falls along the perturbation, is still told by the votes of the same rows: they are what is
# certified.


class FromBackPropagation(FromVotes):
    """Read p and its gradient at a point by back-propagation through the classifier."""

    source: Source = "back-propagation"
    cost = 3  # a backward pass takes about two forward ones

    def __init__(self, aim: Aim, stop: Event, gradient: ScoreGradient) -> None:
        super().__init__(aim, stop)
        self._gradient = gradient

    def _sums(
        self, point: NDArray[np.float32], law: GeneralizedGaussian, scores: Floats
    ) -> VoteSums:
        return _GradientSums(point, law, scores, self._gradient)


@dataclass(eq=False)
class _GradientSums(VoteSums):
    """Sums of the votes, and of the gradients of the same rows."""

    gradient: ScoreGradient

    def __post_init__(self) -> None:
        super().__post_init__()
        self._slopes, self._sizes, self._seen = np.zeros(self.point.size), 0.0, 0

    def add(self, batch: Batch) -> None:
        super().add(batch)
        rows = batch.rows.reshape(-1, *self.point.shape)
        flat = self.gradient(rows, self.scores).reshape(len(rows), -1).astype(np.float64)
        self._slopes += flat.sum(axis=0)
        self._sizes += float(np.einsum("ij,ij->", flat, flat))
        self._seen += len(rows)

    def merge(self, other: Self) -> None:
        super().merge(other)
        self._slopes += other._slopes
        self._sizes += other._sizes
        self._seen += other._seen

    def turned(self, reading: Reading) -> Reading:
        """The reading with the mean gradient downhill, and the variance of a coordinate of it."""
        mean = self._slopes / self._seen
        spread = max(self._sizes / self._seen - float(mean @ mean), 0.0)
        return replace(reading, fall=-mean, variance=spread / mean.size / self._seen)
