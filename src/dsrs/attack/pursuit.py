"""One certified input: walk to where its claim seems to end, then prove it with fresh votes.

A search may look at any number of votes and choose its points by any rule: whatever it chose is
fixed before the votes of a verification begin, and these come from a stream of noise of their own.

At one point, with the share a of alpha (Clopper and Pearson throughout):
- H1, "the target has a majority": rejected if the upper bound of P_A at level a is below 1/2.
- H2, "the target is not behind the rival b" (b was chosen before): given that N of the votes were
  for one of the two, those for b are Binomial(N, q) with q = P_b / (P_A + P_b); rejected if the
  lower bound of q at level a is above 1/2.
For the claim of a majority H2 is tested only after H1 was rejected. Then both have the whole of a:
if H1 is true, nothing wrong is said unless it is rejected, which has probability at most a; if it
is false, only the rejection of H2 can be wrong, with probability at most a too. For the claim of a
lead H2 is tested alone, because a class may lead without a majority.

The j-th point has the j-th share of alpha in POINT_ALPHA_SHARES, which add up to one; there are
no more points than shares. An attack within a given distance verifies one point, with the whole of
alpha. Given all that came before, the proof at the j-th point is wrong with probability at most its
share, so some proof of the input is wrong with probability at most alpha, however the points were
chosen and wherever the search stopped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Event
from time import perf_counter

import numpy as np
from scipy import special

from dsrs.attack.readings import Aim, FromBackPropagation, FromVotes
from dsrs.attack.walk import SURELY, Bands, Floats, Path, Room, walk, whole
from dsrs.confidence import AlphaBudget, clopper_pearson_lower, clopper_pearson_upper
from dsrs.errors import InvalidInput
from dsrs.noise import Stream
from dsrs.proofs import AttackedInput, Candidate, Claim, Shown

FEWEST_PROOF_VOTES = 2000  # votes that can show another class ahead where noise is not ideal
POINT_ALPHA_SHARES = (0.1, 0.7, 0.15, 0.05)  # the second point is meant to be the nearest


class Shares:
    """The shares of alpha of one input, in the order in which points are verified."""

    def __init__(self, alpha: float, shares: Sequence[float] = POINT_ALPHA_SHARES) -> None:
        self._budget = AlphaBudget(alpha)
        self._left = [share * alpha for share in shares]

    @property
    def next(self) -> float:
        """Return the share of alpha for the next point; 0 when no further point is allowed."""
        return self._left[0] if self._left else 0.0

    def spend(self, purpose: str) -> float:
        """Spend the share of alpha of the next point."""
        return self._budget.spend(self._left.pop(0), purpose)


def proved(
    counts: Sequence[int], target: int, rival: int, claim: Claim, alpha: float, slack: float = 0.0
) -> Shown:
    """What these votes prove of the point that they were taken at.

    `slack` is how much any sampled probability may differ from that of the ideal noise. Under H2
    the sampled q is then at most 1/2 + slack / (P_A + P_b). Where an eighth of the votes or more
    are for one of the two, that sum is at least 1/16: else Pr[N >= n/8] <= exp(-0.026 n), which is
    below 1e-22 from FEWEST_PROOF_VOTES votes on.
    """
    hits, others, total = counts[target], counts[rival], sum(counts)
    if claim == "majority" and not clopper_pearson_upper(hits, total, alpha) + slack < 0.5:
        return "nothing"
    either = hits + others
    usable = either > 0 if slack == 0 else total >= FEWEST_PROOF_VOTES and 8 * either >= total
    if usable and clopper_pearson_lower(others, either, alpha) > 0.5 + 16 * slack:
        return "answer changed"
    return "majority lost" if claim == "majority" else "nothing"


# ---- The pursuit

# A first point is chosen to be proved almost surely, and tells where the boundary is; the second
# has most of the votes and of alpha, and is chosen as near as these allow. The numbers come from
# simulations of a half-space: they leave about the least distance with 99% of inputs proved.
FIRST_PROOF_SHARE = 0.35  # of the votes that the walk left
RETRY_VOTES = 0.6  # of what is left, while nothing is proved
SAFE, BOLD = 1.5, 0.9  # standard errors beyond the point where half of the proofs succeed
LEAST_BATCHES = 16  # with fewer there is nothing to split
LEAST_PROOF_SHARE = 0.04  # of the budget: a proof with fewer votes is not tried
SHRINKINGS = 8  # tries to have a point within a distance after it was rounded to the grid


@dataclass(slots=True)
class Range:
    """The interval in which the claim ends along a path, as far as it is known."""

    path: Path
    depth: float
    votes: int  # that this estimate rests on
    before: float = 0.0  # the claim surely still holds at this depth

    def learn(self, depth: float, votes: int, share: float) -> None:
        """Narrow the range by the mean score of votes at `depth`."""
        inside = min(max(share, 0.5 / votes), 1 - 0.5 / votes)
        seen = depth + float(special.ndtri(inside)) / self.path.slope
        self.depth = max((self.depth * self.votes + seen * votes) / (self.votes + votes), 0.0)
        self.votes += votes
        if (share - 0.5) * math.sqrt(votes) > SURELY:
            # Where z is not linear, earlier estimates do not outweigh what was seen here.
            self.before = max(self.before, depth)
            self.depth = max(self.depth, seen, 1.1 * self.before)

    def provable(self, votes: int, alpha: float, sureness: float) -> float:
        """Return the depth at which this many votes will probably prove that the claim ended."""
        error = 0.5 * math.sqrt(1 / votes + 1 / self.votes)
        margin = 0.5 * float(-special.ndtri(alpha)) / math.sqrt(votes) + sureness * error
        return self.depth + margin * math.sqrt(2 * math.pi) / self.path.slope


def check_budget(budget: int, batch: int) -> None:
    """Refuse a budget that cannot be split."""
    if budget < LEAST_BATCHES * batch:
        raise InvalidInput(
            f"`budget` must be at least {LEAST_BATCHES * batch} votes where a forward pass has "
            f"{batch} rows, got {budget}"
        )


def pursue(
    aim: Aim,
    room: Room,
    certified: float,
    method: str,
    *,
    budget: int,
    alpha: float,
    eps: float | None = None,
    stop: Event,
) -> AttackedInput:
    """Attack one input with at most `budget` votes, all in whole batches.

    With `eps` the only question is whether the claim ends within that distance: nothing is asked
    where the certificate covers it.
    """
    started = perf_counter()
    law, batch = aim.law, aim.setting.batch
    compasses = [FromVotes(aim, stop)]
    gradient = aim.classifier.gradient()
    if gradient is not None:
        compasses.append(FromBackPropagation(aim, stop, gradient))
    paths, bands = [], Bands(aim.x.shape)
    for compass in compasses if eps is None or not certified > eps else ():
        path = walk(compass, room, bands, law, budget // len(compasses), batch)
        if path is not None:
            paths.append(path)
    found = AttackedInput(
        index=aim.index,
        target=aim.target,
        method=method,
        claim=aim.claim,
        certified=certified,
        candidates=(),
        nearest=None,
        perturbation=None,
        votes=sum(compass.spent for compass in compasses),
        estimate=None,
        norm=aim.norm,
        eps=eps,
    )
    if paths:
        best = min(paths, key=lambda path: path.depth + path.error)
        found = _prove(aim, room, best, found, budget, alpha, stop)
    return replace(found, seconds=perf_counter() - started)


def _prove(
    aim: Aim,
    room: Room,
    path: Path,
    found: AttackedInput,
    budget: int,
    alpha: float,
    stop: Event,
) -> AttackedInput:
    batch, spent, eps = aim.setting.batch, found.votes, found.eps
    # Within a given distance one point is verified: the farthest along the normal.
    shares = Shares(alpha, POINT_ALPHA_SHARES if eps is None else (1.0,))
    known = Range(path, path.depth, path.informed)
    rival, candidates, perturbations = aim.rival(path.counts), list[Candidate](), list[Floats]()

    nearest: int | None = None
    while shares.next > 0:
        left = (budget - spent) // batch * batch
        portion = FIRST_PROOF_SHARE if not candidates else RETRY_VOTES
        alone = nearest is not None or eps is not None
        votes = left if alone else whole(portion * left, batch)
        if left - votes < LEAST_PROOF_SHARE * budget:
            votes = left
        if votes < max(LEAST_PROOF_SHARE * budget, 1):
            break
        if eps is None:
            depth = known.provable(votes, shares.next, SAFE if nearest is None else BOLD)
            delta = room.beyond(path.normal, depth)
        else:
            delta = _within(aim, room, path.normal, eps)
            depth = float(path.normal @ delta)
        length = aim.length(delta)
        if nearest is not None and length >= candidates[nearest].norm:
            break
        purpose = f"attack verification {len(candidates)}"
        share = shares.spend(purpose)
        counts = aim.votes(delta, Stream(purpose, aim.law), votes, stop).by_class
        spent += votes
        shown = proved(counts, aim.target, rival, aim.claim, share, aim.slack)
        one = Candidate(length, counts, rival, share, shown, path.source, aim.setting.seed, purpose)
        candidates.append(one)
        perturbations.append(delta)
        if one.ends(aim.claim):
            nearest = len(candidates) - 1
        known.learn(depth, votes, aim.share(counts, rival))
        rival = aim.rival(counts)
    chosen = nearest if nearest is not None else len(candidates) - 1
    return replace(
        found,
        candidates=tuple(candidates),
        nearest=nearest,
        perturbation=aim.perturbation(perturbations[chosen]) if candidates else None,
        votes=spent,
        estimate=aim.length(room.beyond(path.normal, known.depth)),
    )


def _within(aim: Aim, room: Room, normal: Floats, eps: float) -> Floats:
    """The perturbation deepest along the normal whose point, as it is voted on, is within `eps`."""
    # Less than half a step may be rounded to the same point.
    grid, length = aim.setting.grid, eps
    least = 0.0 if grid is None else 0.51 * grid.step
    for _ in range(SHRINKINGS):
        delta = room.within(normal, length)
        excess = aim.length(delta) - eps
        if excess <= 0:
            return delta
        length = max(length - max(1.01 * excess, least), 0.0)
    return np.zeros(normal.size)
