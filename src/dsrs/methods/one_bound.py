"""Methods with one constraint: one stream of votes, one lower bound, perhaps looked at early.

Why alpha holds. The stream, its law and its length are fixed before its first vote (by the plan, or
by selection votes, which are independent of it). Looks and their parts of alpha are fixed as well
(looks.py), so the bounds at all looks hold together except with probability alpha, and stopping at
any look by any rule is allowed.

With `classes = all` the certificate may instead compare the class with every other one: half of
each part of alpha goes to the class, half to all of its rivals (`PlannedBound`). Which of the two
forms is used is decided by selection votes, at no cost.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from dsrs.methods.base import Method, Want, certify_or_abstain
from dsrs.methods.bounds import PlannedBound, most_of_others, planned
from dsrs.methods.comparing import comparing_advised
from dsrs.methods.futility import given_up, numbers_of_looks
from dsrs.methods.goals import bound_needed, no_lead, out_of_reach
from dsrs.methods.looks import Look, schedule
from dsrs.noise import Stream
from dsrs.proofs import (
    NOTHING_KNOWN,
    Certificate,
    Interval,
    Observation,
    abstention,
    certificate_of,
    find_lead,
)
from dsrs.votes import SampledInput


@dataclass(frozen=True, slots=True)
class Estimation:
    """The stream whose probability is bounded, and how many votes it has at most."""

    stream: Stream
    votes: int


@dataclass(frozen=True, slots=True)
class OneBound(Method):
    """A method that bounds the probability of the class under one law."""

    one_bound: ClassVar[bool] = True
    compares_classes: ClassVar[bool] = True

    @abstractmethod
    def estimation(self, seen: SampledInput) -> Estimation | Want:
        """The stream to estimate, or the selection votes that are needed to know it."""

    def want(self, seen: SampledInput) -> Want | None:
        asked = self.estimation(seen)
        if isinstance(asked, Want):
            return asked
        taken = seen.taken(asked.stream)
        if taken >= asked.votes or self._finished(seen, asked):
            return None
        ends = [look.votes for look in self.looks(asked)]
        if self.plan.early_stop:
            ends = sorted({*ends, *numbers_of_looks(asked.votes)})
        return Want(asked.stream, next(end for end in ends if end > taken))

    def certificate(self, seen: SampledInput) -> Certificate:
        asked, plan = self.estimation(seen), self.plan
        if isinstance(asked, Want):
            raise seen.lacks(asked.stream, asked.stop)
        if self._given_up(seen, asked):
            additional = asked.stream.additional
            found = abstention(plan.law, *(() if additional is None else (additional,)))
            found = self.on_grid(found, seen)
        elif self._reached(seen, asked):
            # Bounds hold at every look, also where another alpha would have gone on.
            found = self._proved(seen, asked)
        else:
            raise seen.lacks(asked.stream, asked.votes)
        short = plan.goal.radius is not None and found.radius < plan.goal.radius
        return replace(found, status="short" if short else found.status)

    def looks(self, asked: Estimation) -> tuple[Look, ...]:
        """When bounds are made, with their parts of alpha."""
        plan = self.plan
        if plan.goal.is_open:
            return (Look(asked.votes, plan.alpha),)
        return schedule(asked.votes, plan.alpha, plan.batch)

    def bounds(self, seen: SampledInput) -> tuple[PlannedBound, ...]:
        asked = self.estimation(seen)
        if isinstance(asked, Want):
            return ()
        looks, alpha = self.looks(asked), self.plan.alpha
        if self._compares_all(seen, asked):
            return planned(asked.stream, looks, alpha, ("class", "lower"), ("others", "lower"))
        return planned(asked.stream, looks, alpha, ("class", "lower"))

    def _reached(self, seen: SampledInput, asked: Estimation) -> list[Look]:
        ends = set(seen.ends(asked.stream))
        return [look for look in self.looks(asked) if look.votes in ends]

    def _given_up(self, seen: SampledInput, asked: Estimation) -> bool:
        leads = self._compares_all(seen, asked)
        return self.plan.early_stop and not leads and given_up(seen, asked.stream, asked.votes)

    def _finished(self, seen: SampledInput, asked: Estimation) -> bool:
        """Whether the answer is known, or no further look is likely to change it."""
        if self._given_up(seen, asked):
            return True
        goal, reached = self.plan.goal, self._reached(seen, asked)
        if goal.is_open or not reached:
            return False
        wanted = goal.next_radius(self._proved(seen, asked).radius)
        if wanted is None:
            return True
        votes = seen.first(asked.stream, reached[-1].votes)
        if self._compares_all(seen, asked):
            scores = 2 * wanted / self.plan.law.sigma if self.plan.law.is_gaussian else 0.0
            return no_lead(votes.successes, most_of_others(votes, seen), votes.total, scores)
        needed = bound_needed(asked.stream, wanted) if wanted > 0 else 0.5
        return out_of_reach(votes.successes, votes.total, self.looks(asked)[-1], needed)

    def _proved(self, seen: SampledInput, asked: Estimation) -> Certificate:
        """What the looks so far prove: the best of their bounds."""
        plan, stream = self.plan, asked.stream
        taken = self.taken(seen)
        known = Interval(taken[0], 1.0)
        if len(taken) == 2:
            rivals = self.rivals(taken[0], taken[1])
            proof = find_lead(plan.law, known.lower, rivals)
            return self.on_grid(certificate_of(plan.law, proof), seen)
        if stream.additional is None:
            return self.on_grid(certify_or_abstain(plan.law, known), seen)
        observed = Observation(stream.additional, known)
        return self.on_grid(certify_or_abstain(plan.law, NOTHING_KNOWN, observed), seen)

    def _compares_all(self, seen: SampledInput, asked: Estimation) -> bool:
        """Whether the class is compared with every other one.

        A law Q that was chosen for the input was chosen for its majority.
        """
        return asked.stream.additional is None and comparing_advised(seen, self.plan)
