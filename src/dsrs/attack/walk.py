"""The walk to the nearest point where a claim ends: step to the boundary, turn, project, repeat."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import fft, special

from dsrs.attack.readings import FromVotes, Reading
from dsrs.laws import GeneralizedGaussian, Norm, norm_of
from dsrs.proofs import Source

Floats = NDArray[np.float64]

# ---- The nearest perturbation beyond a plane, in a norm, anywhere or within the box of images

BOX_HALVINGS = 60


class Room:
    """Where perturbed inputs may lie: all of R^d, or the box of the data's bounds.

    A certificate covers all of R^d; a perturbed image that must be an image is a smaller target.
    Distances are measured in `norm`.
    """

    def __init__(
        self, x: NDArray[np.float32], bounds: tuple[float, float] | None, norm: Norm = "l2"
    ) -> None:
        self._norm = norm
        self._box: tuple[Floats, Floats] | None = None
        if bounds is not None:
            flat = x.ravel().astype(np.float64)
            self._box = bounds[0] - flat, bounds[1] - flat

    def beyond(self, normal: Floats, depth: float) -> Floats:
        """The shortest delta with <normal, delta> >= depth, for a unit normal and depth >= 0.

        It is a point of the path `_stretched`, on which <normal, delta> grows. Where the box ends
        before the plane, it is the corner that the normal points to.
        """
        if self._box is None:
            return self._stretched(normal, depth / float(normal @ self._stretched(normal, 1.0)))
        low, high = 0.0, max(depth, 1e-9)
        while self._depth(normal, high) < depth:
            if not self._depth(normal, 2 * high) > self._depth(normal, high):
                return self._stretched(normal, high)
            high *= 2
        for _ in range(BOX_HALVINGS):
            middle = 0.5 * (low + high)
            if self._depth(normal, middle) < depth:
                low = middle
            else:
                high = middle
        return self._stretched(normal, high)

    def within(self, normal: Floats, length: float) -> Floats:
        """Return the delta of at most `length` that goes farthest along the normal."""
        low, high = 0.0, length
        while norm_of(self._stretched(normal, high), self._norm) < length:
            if not self._depth(normal, 2 * high) > self._depth(normal, high):
                return self._stretched(normal, high)  # the corner of the box
            high *= 2
        if norm_of(self._stretched(normal, high), self._norm) <= length:
            return self._stretched(normal, high)
        for _ in range(BOX_HALVINGS):
            middle = 0.5 * (low + high)
            if norm_of(self._stretched(normal, middle), self._norm) <= length:
                low = middle
            else:
                high = middle
        return self._stretched(normal, low)

    def _stretched(self, normal: Floats, factor: float) -> Floats:
        """The path of points that are deepest along the normal for their length.

        l2: the normal times the factor, clipped to the box. l-infinity: all coordinates move by the
        factor, clipped. l1: the coordinates where the normal is largest move to the end of the box
        one after the other until the factor is used up. (The Karush-Kuhn-Tucker conditions of the
        nearest point of a plane say so.)
        """
        if self._norm == "l1":
            return self._one_by_one(normal, factor)
        ray = factor * (normal if self._norm == "l2" else np.sign(normal))
        return ray if self._box is None else np.clip(ray, *self._box)

    def _one_by_one(self, normal: Floats, length: float) -> Floats:
        delta = np.zeros(normal.size)
        if self._box is None:
            place = int(np.abs(normal).argmax())
            delta[place] = length * np.sign(normal[place])
            return delta
        order = np.argsort(-np.abs(normal), kind="stable")
        free = np.where(normal > 0, self._box[1], -self._box[0])[order]
        free = np.where(normal[order] == 0, 0.0, np.maximum(free, 0.0))
        used = np.cumsum(free) - free
        delta[order] = np.sign(normal[order]) * np.clip(length - used, 0.0, free)
        return delta

    def _depth(self, normal: Floats, factor: float) -> float:
        return float(normal @ self._stretched(normal, factor))


# ---- What of a noisy direction is worth keeping: James and Stein's estimate, band by band
#
# The error of a direction from votes is white: independent and of one known variance in every
# coordinate of any orthonormal basis. The gradient of a smoothed image classifier is not: most of
# it lies in low spatial frequencies. So the coefficients of the discrete cosine transform are
# grouped into bands of frequency, and each band is multiplied by (1 - noise / power)_+, its
# estimated share of signal. Inputs that are no images are one band, which a common factor does not
# turn.

LEAST_BAND = 12  # coefficients: with fewer the share of signal is guesswork


class Bands:
    """The bands of inputs of one shape."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = shape if len(shape) in (2, 3) else None
        if self._shape is None:
            return
        rows, columns = shape[-2:]
        square = (np.arange(rows)[:, None] / rows) ** 2 + (np.arange(columns) / columns) ** 2
        frequency = np.broadcast_to(np.sqrt(square), shape).ravel()
        channels = int(np.prod(shape[:-2]))
        # Bands of equal width in frequency, wide enough to hold LEAST_BAND coefficients each.
        count = max(1, min(rows, columns) // 2)
        band = np.minimum((frequency / frequency.max() * count).astype(int), count - 1)
        sizes = np.bincount(band, minlength=count)
        merged, label = np.zeros(count, dtype=int), 0
        held = 0
        for place in range(count):
            merged[place] = label
            held += int(sizes[place])
            if held >= LEAST_BAND * channels:
                label, held = label + 1, 0
        self._band = merged[band]

    def shrunk(self, direction: Floats, variance: float) -> Floats:
        """Return the direction, each frequency band times its estimated share of signal."""
        if self._shape is None:
            return direction
        axes = (-2, -1)
        found = fft.dctn(direction.reshape(self._shape), axes=axes, norm="ortho").ravel()
        sizes = np.bincount(self._band)
        power = np.bincount(self._band, found**2) / np.maximum(sizes, 1)
        factor = np.clip(1 - variance / np.maximum(power, np.finfo(float).tiny), 0, 1)
        if not factor.any():
            return direction
        kept = (found * factor[self._band]).reshape(self._shape)
        return np.asarray(fft.idctn(kept, axes=axes, norm="ortho")).ravel()


# ---- The walk
#
# With z = Phi^-1(p) as the measure of what is left, the boundary is z = 0; for a half-space under
# Gaussian noise z is linear in the perturbation. At a point delta with z left and unit normal u
# (where p falls fastest) the nearest point of the plane where z should be 0 is
#
#     (<u, delta> + z / slope) u,   slope = -dz/dlength.
#
# The normal is the sum of all readings so far, older ones discounted, each weighted by
# phi(z) / (p (1 - p)) as in the score equation of a probit regression: that weighs rare misses as
# much as they tell. Where delta was made from a part of the sum that makes u, <u, delta> u accounts
# for what the error of the old direction cost, so the walk does not creep.

FIRST_LOOK_VOTES = 1024  # of a first look, at most
WIDER = (1.0, 1.5, 2.25, 3.4)  # noise for the first look, where misses are rare
WALK_MISSES = 48
START_SHARE = 0.1  # of the budget: what first looks may cost once a vote against was seen
ROUND_SHARE = 0.05  # of the budget: one reading of the walk
DISCOUNT = 0.9
USUAL_SLOPE = 0.85  # times 1 / sigma: 1 for a half-space under Gaussian noise
SLOPES = (0.25, 4.0)  # likewise: what a measured slope is believed to be within
# The square of a direction's angle is about this times d / votes: pi / 2 for a half-space at its
# boundary, about half of it where bands of frequency are shrunk.
ANGLE_SQUARED_PER_VOTE = 0.25 * math.pi
SURELY = 1.5  # |p - 1/2| sqrt(votes): three standard errors
LATE = 0.5  # of the walk's votes: those whose readings say where the boundary is


@dataclass(slots=True)
class Path:
    """Where a walk ended: a direction, and how deep along it the claim seems to end."""

    normal: Floats
    depth: float
    slope: float
    informed: int  # votes that `depth` rests on
    source: Source
    counts: tuple[int, ...]  # of the last reading: who the rival is

    @property
    def error(self) -> float:
        """The standard error of the depth."""
        return 0.5 * math.sqrt(2 * math.pi / self.informed) / self.slope


@dataclass(slots=True)
class _Log:
    """Keeps the readings of one walk that are near the boundary, each with its perturbation."""

    readings: list[tuple[Floats, Reading]] = field(default_factory=list)

    def bracketed(self, normal: Floats, depth: float) -> float:
        """A depth between the readings that are surely before the boundary and surely beyond it.

        Where z is far from linear, as under noise of heavy tails, its slope alone misleads.
        """
        before, beyond = 0.0, math.inf
        for delta, one in self.readings:
            at = float(normal @ delta)
            if abs(one.share - 0.5) * math.sqrt(one.votes) < SURELY:
                continue
            if one.share > 0.5:
                before = max(before, at)
            else:
                beyond = min(beyond, at)
        if before < beyond < math.inf and not before < depth < beyond:
            return 0.5 * (before + beyond)
        return depth

    def depth(self, normal: Floats, slope: float) -> tuple[float, int]:
        """Estimate where z is 0 along the normal from the later readings."""
        votes = sum(one.votes for _, one in self.readings)
        total, weight = 0.0, 0
        for delta, one in reversed(self.readings):
            total += one.votes * (float(normal @ delta) + score_of(one) / slope)
            weight += one.votes
            if weight >= LATE * votes:
                break
        return self.bracketed(normal, max(total / weight, 0.0)), weight


class _Sum:
    """The discounted sum of readings that gives the direction, with the variance of its error."""

    def __init__(self, first: Reading) -> None:
        weight = _weight(first)
        self._direction = weight * first.fall
        self._variance = weight**2 * first.variance

    def add(self, reading: Reading) -> None:
        weight = _weight(reading)
        self._direction = DISCOUNT * self._direction + weight * reading.fall
        self._variance = DISCOUNT**2 * self._variance + weight**2 * reading.variance

    def normal(self, bands: Bands) -> Floats:
        """The direction as a unit vector."""
        kept = bands.shrunk(self._direction, self._variance)
        return kept / np.linalg.norm(kept)


def _weight(reading: Reading) -> float:
    share = _share(reading)
    return reading.votes * _density(float(special.ndtri(share))) / (share * (1 - share))


def walk(
    compass: FromVotes, room: Room, bands: Bands, law: GeneralizedGaussian, budget: int, batch: int
) -> Path | None:
    """Look for the nearest point where the claim ends.

    `budget` is for the walk and for the proof after it; `search_votes` says what the walk takes.
    None where no look saw a vote against the claim.
    """
    sigma, d = law.sigma, law.d
    slope = USUAL_SLOPE / sigma
    first = whole(min(FIRST_LOOK_VOTES, 0.5 * START_SHARE * budget / compass.cost), batch)
    start = _start(compass, d, slope, first, budget)
    if start is None:
        return None
    summed, depth = start
    normal, log = summed.normal(bands), _Log()
    size = whole(ROUND_SHARE * budget / compass.cost, batch)
    while True:
        delta = room.beyond(normal, depth)
        reading = compass.read(delta, size)
        log.readings.append((delta, reading))
        z = score_of(reading)
        if reading.rate > 0:
            low, high = SLOPES
            # Along the normal the perturbation is shorter, but for l2 in all of R^d.
            rate = reading.rate * float(np.linalg.norm(delta)) / float(normal @ delta)
            slope = min(max(rate / _density(z), low / sigma), high / sigma)
        summed.add(reading)
        normal = summed.normal(bands)
        depth = log.bracketed(normal, max(float(normal @ delta) + z / slope, 0.0))
        if compass.spent + size * compass.cost > search_votes(budget, depth, slope, sigma, d):
            break
    depth, informed = log.depth(normal, slope)
    return Path(normal, depth, slope, informed, compass.source, reading.counts)


def _start(
    compass: FromVotes, d: int, slope: float, votes: int, budget: int
) -> tuple[_Sum, float] | None:
    """A first direction and step, from noise wide enough to see votes against the claim."""
    found: tuple[_Sum, float] | None = None
    for widen in WIDER:
        reading = compass.read(np.zeros(d), votes, widen)
        if reading.variance > 0:
            found = _Sum(reading), max(score_of(reading) * widen / slope, 0.0)
        misses = (1 - reading.share) * votes
        # Without any vote against the claim there is nowhere to walk: go on looking.
        if misses >= WALK_MISSES or (found and compass.spent > START_SHARE * budget):
            break
    return found


def score_of(reading: Reading) -> float:
    """z = Phi^-1(p), finite also where all votes agree."""
    return float(special.ndtri(_share(reading)))


def _share(reading: Reading) -> float:
    return (reading.share * reading.votes + 0.5) / (reading.votes + 1)


def _density(z: float) -> float:
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def search_votes(budget: int, depth: float, slope: float, sigma: float, d: int) -> int:
    """How many of `budget` votes to spend on the walk; the others verify.

    With n votes the direction is off by an angle whose square is
    ANGLE_SQUARED_PER_VOTE d / (slope sigma)^2 / n, which lengthens the perturbation by half of it.
    With the other votes v the proof needs p below 1/2 by about 2 / sqrt(v). The split makes the sum
    of both least.
    """
    shares = np.linspace(0.1, 0.75, 66)
    relative = slope * sigma
    turn = 0.5 * depth * ANGLE_SQUARED_PER_VOTE * d / relative**2 / (shares * budget)
    margin = 2.0 * math.sqrt(2 * math.pi) / slope / np.sqrt((1 - shares) * budget)
    return int(float(shares[np.argmin(turn + margin)]) * budget)


def whole(votes: int | float, batch: int) -> int:
    """Round a number of votes to whole batches, at least one."""
    return max(1, round(votes / batch)) * batch
