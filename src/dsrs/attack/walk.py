"""The walk to the nearest point where a claim ends: step to the boundary, turn, project, repeat.

With z = Phi^-1(p) as the measure of what is left, the boundary is z = 0; for a half-space under
Gaussian noise z is linear in the perturbation. At a point delta with z left and unit normal u
(where p falls fastest) the nearest point of the plane where z should be 0 is

    (<u, delta> + z / slope) u,   slope = -dz/dlength.

The normal is the sum of all readings so far, older ones discounted, each weighted by
phi(z) / (p (1 - p)) as in the score equation of a probit regression: that weighs rare misses as
much as they tell. Where delta was made from a part of the sum that makes u, <u, delta> u accounts
for what the error of the old direction cost, so the walk does not creep.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from dsrs.attack.box import Floats, Room
from dsrs.attack.readings import FromVotes, Reading
from dsrs.attack.shrinking import Bands
from dsrs.laws import GeneralizedGaussian
from dsrs.proofs import Source

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
