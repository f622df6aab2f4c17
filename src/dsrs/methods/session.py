"""One input on its way: asks the strategies of a plan what they want, until they want no more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dsrs.errors import InvalidInput
from dsrs.methods.base import Want
from dsrs.methods.first_order import Halves
from dsrs.methods.plan import Plan
from dsrs.noise.stream import Stream
from dsrs.proofs.certificate import Certificate
from dsrs.votes.records import ESTIMATION, SELECTION, SampledInput, Votes

# votes[c, b]: votes for class c whose noise norm fell into radial bin b.
Histogram = NDArray[np.int64]


class Session:
    """The votes of one input so far. Whoever has the classifier fetches what `want` names."""

    def __init__(self, plan: Plan, index: int, label: int | None, moved: float = 0.0) -> None:
        target = label if plan.target == "label" else None
        self.plan = plan
        self.seen = SampledInput(index, label, None, target, moved=moved)
        self._strategies = plan.strategies()
        self._halves = Halves(plan.n)

    def want(self) -> Want | None:
        """The votes to take next, or None.

        Votes that choose come first: after them each strategy knows what it will estimate. Of all
        that is wanted of one stream the least is taken first, so that each strategy finds the
        counts after the numbers of votes that it asks for.
        """
        if self.seen.target is None:
            return Want(Stream(SELECTION, self.plan.law), self.plan.n0)
        asked = (one.want(self.seen) for one in self._strategies.values())
        wants = [want for want in asked if want is not None]
        if not wants:
            return None
        first = min(wants, key=lambda want: want.stream.purpose != SELECTION)
        alike = [want for want in wants if want.stream == first.stream]
        least = min(alike, key=lambda want: want.stop)
        return replace(least, sums=any(want.sums for want in alike))

    def add(self, want: Want, votes: Histogram, sums: NDArray[np.int64] | None = None) -> None:
        """The votes that were taken: all from where the stream ended up to `want.stop`.

        `sums` is the sum of the noise of those that missed, where the want asks for it.
        """
        start = self.seen.taken(want.stream)
        if votes.sum() != want.stop - start:
            raise InvalidInput(f"expected {want.stop - start} votes, got {votes.sum()}")
        seen = self.seen
        if seen.target is None:
            seen = replace(seen, target=int(votes.sum(axis=1).argmax()))
        assert seen.target is not None
        taken = Votes(
            want.stream,
            start,
            counts=tuple(votes.sum(axis=1).tolist()),
            trials=tuple(votes.sum(axis=0).tolist()),
            hits=tuple(votes[seen.target].tolist()),
            slope=None if sums is None else self._halves.add(want.stop, sums),
        )
        seen = replace(seen, votes=(*seen.votes, taken))
        for one in self._strategies.values():
            if one.text not in seen.choices:
                law = one.choose(seen)
                if law is not None:
                    seen = replace(seen, choices={**seen.choices, one.text: law})
        self.seen = seen

    def finish(self, seconds: float, queries: int | None = None) -> SampledInput:
        """The votes with what they predict and what they cost."""
        seen = replace(self.seen, seconds=seconds, queries=queries)
        for purpose in (SELECTION, ESTIMATION):
            under_p = Stream(purpose, self.plan.law)
            if taken := seen.taken(under_p):
                counts = seen.first(under_p, taken).counts
                return replace(seen, predicted=int(np.argmax(counts)))
        return seen


def certificates_of(seen: SampledInput, plan: Plan) -> dict[str, Certificate]:
    """The certificate of each method of `plan`, by name (`np`, `truncated`, `rescaled`).

    `plan` may differ from the plan that sampled the votes in alpha, its split, and the methods, as
    far as the votes allow it; `NotEnoughVotes` says what is missing otherwise. A law that was
    chosen from votes is not chosen again. Choose alpha and method without looking at the results,
    or the failure probability is no longer alpha.
    """
    return {name: one.certified(seen) for name, one in plan.strategies().items()}
