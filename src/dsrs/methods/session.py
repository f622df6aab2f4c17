"""The votes of one input so far: `Session.next` names those to take, `add` keeps their counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dsrs.errors import InvalidInput
from dsrs.laws import DEFAULT_GRID
from dsrs.methods.base import Method, Want
from dsrs.methods.defaults import entry_of
from dsrs.methods.plan import Plan
from dsrs.noise import Stream
from dsrs.proofs import Certificate
from dsrs.votes import ESTIMATION, SELECTION, Counts, SampledInput, Tally, Votes, WorkUnit


def method_of(plan: Plan, text: str) -> Method:
    """The method that the plan writes as `text`; InvalidInput where the plan does not fit it."""
    method: Method = entry_of(text).load()(plan, text)
    if not plan.goal.is_open and not method.one_bound:
        raise InvalidInput(
            "a radius or precision to stop at is for methods with one bound (np, tailored), not "
            f"for {text}: it has no looks with parts of alpha"
        )
    if plan.classes == "all" and not method.compares_classes:
        raise InvalidInput(
            f"`classes` = all is for np, tailored and laws of double sampling, not for {text}"
        )
    method.check_plan()
    return method


def methods_of(plan: Plan) -> dict[str, Method]:
    """The methods of a plan, by the names of their certificates.

    Raises InvalidInput where the plan does not fit one of them.
    """
    return {plan.name_of(text): method_of(plan, text) for text in plan.methods}


class Session:
    """The votes of one input so far, and what its methods ask for next.

    Count the unit of work that `next` names, hand its counts to `add`, and go on until there is
    none.
    """

    def __init__(self, plan: Plan, index: int, label: int | None, moved: float = 0.0) -> None:
        target = label if plan.target == "label" else None
        # Votes cannot be taken on a default that is not chosen: these come from elsewhere.
        self.plan = plan.replace(grid=None) if plan.grid == DEFAULT_GRID else plan
        grid = self.plan.known_grid
        self.seen = SampledInput(index, label, None, target, moved=moved, grid=grid)
        self._methods = methods_of(self.plan)
        self._tallies: dict[Stream, tuple[Tally, ...]] = {}

    def next(self) -> WorkUnit | None:
        """The votes to take next, or None."""
        want = self._want()
        if want is None:
            return None
        if want.stream not in self._tallies:
            asked = (one.tallies(want.stream, self.seen) for one in self._methods.values())
            # Methods that name the same tally share it.
            self._tallies[want.stream] = tuple(
                {tally.name: tally for tallies in asked for tally in tallies}.values()
            )
        tallies = tuple(tally.empty() for tally in self._tallies[want.stream])
        return WorkUnit(
            self.seen.index, want.stream, self.seen.taken(want.stream), want.stop, tallies
        )

    def _want(self) -> Want | None:
        """What is wanted first.

        Votes that choose come first: after them each method knows what it will estimate. Of all
        that is wanted of one stream the least is taken first, so that each method finds the
        counts after the numbers of votes that it asks for.
        """
        if self.seen.target is None:
            return Want(Stream(SELECTION, self.plan.law), self.plan.n0)
        asked = (one.want(self.seen) for one in self._methods.values())
        wants = [want for want in asked if want is not None]
        if not wants:
            return None
        first = min(wants, key=lambda want: want.stream.purpose != SELECTION)
        alike = [want for want in wants if want.stream == first.stream]
        return min(alike, key=lambda want: want.stop)

    def add(self, unit: WorkUnit, counts: Counts) -> None:
        """Keep the votes of the unit that `next` named."""
        votes, seen = counts.votes, self.seen
        if votes.sum() != unit.stop - unit.first:
            raise InvalidInput(f"expected {unit.stop - unit.first} votes, got {votes.sum()}")
        if seen.target is None:
            seen = replace(seen, target=int(votes.sum(axis=1).argmax()))
        assert seen.target is not None
        tallies = self._tallies[unit.stream]
        for tally, counted in zip(tallies, counts.tallies, strict=True):
            tally.merge(counted)
        summaries = {tally.name: tally.summary() for tally in tallies}
        taken = Votes(
            unit.stream,
            unit.first,
            counts=tuple(votes.sum(axis=1).tolist()),
            trials=tuple(votes.sum(axis=0).tolist()),
            hits=tuple(votes[seen.target].tolist()),
            tallies={name: part for name, part in summaries.items() if part is not None},
        )
        seen = replace(seen, votes=(*seen.votes, taken))
        for one in self._methods.values():
            law = None if one.text in seen.choices else one.choose(seen)
            if law is not None:
                seen = replace(seen, choices={**seen.choices, one.text: law})
        self.seen = seen

    def finish(self, seconds: float, queries: int | None = None) -> SampledInput:
        """The votes with what they predict and what they cost."""
        seen = replace(self.seen, seconds=seconds, queries=queries)
        for purpose in (SELECTION, ESTIMATION):
            stream = Stream(purpose, self.plan.law)
            if taken := seen.taken(stream):
                return replace(seen, predicted=int(np.argmax(seen.first(stream, taken).counts)))
        return seen


def certificates_of(seen: SampledInput, plan: Plan) -> dict[str, Certificate]:
    """The certificate of each method of `plan`, by name (`np`, `truncated`, `rescaled`).

    `plan` may differ from the plan that sampled the votes in alpha, its split, and the methods, as
    far as the votes allow it; `NotEnoughVotes` says what is missing otherwise. A law that was
    chosen from votes is not chosen again. Choose alpha and method without looking at the results,
    or the failure probability is no longer alpha. A default grid is the one that was sampled.
    """
    if plan.grid == DEFAULT_GRID:
        plan = plan.replace(grid=seen.grid)
    return {name: one.certified(seen) for name, one in methods_of(plan).items()}
