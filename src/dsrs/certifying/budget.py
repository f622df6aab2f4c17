"""What a run costs before it is made, and the best use of a budget of votes or of time."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from dsrs.certifying.forecast import Clock, Expected, Rehearsal, expected_table, simulated_input
from dsrs.certifying.inputs import Counter
from dsrs.errors import InvalidInput
from dsrs.measures import hopeless_votes
from dsrs.methods import MAX_VOTES, NEYMAN_PEARSON, Plan

UNITS = {"s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600, "d": 86400}
TIME = re.compile(r"(?:\d+(?:\.\d+)?\s*(?:sec|min|[smhd])\s*)+")
DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(sec|min|[smhd])")
REHEARSED = 0.05  # of a budget: what the rehearsal may take
UNMEASURED_SHARE = 0.03  # of a budget of time: for what nobody measured
FEWEST_CHOSEN_INPUTS = 100  # inputs that are left where the budget chooses them
LEAST_N, BUDGET_STEPS, ENOUGH_OF_BUDGET = 16, 12, 0.985  # of the search for the number of votes
PROMISED_DIGITS = 4  # of what a way promises; further ones tell no ways apart
SIMULATED = 32  # inputs whose votes are foretold, for the cost of a plan


@dataclass(frozen=True, slots=True)
class Budget:
    """So many votes, or so many seconds."""

    votes: int | None = None
    seconds: float | None = None

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read `1e6` or `1_000_000` votes, or a time: `30min`, `90s`, `1h30min`."""
        plain = text.strip().lower()
        if TIME.fullmatch(plain):
            seconds = sum(float(size) * UNITS[unit] for size, unit in DURATION_PART.findall(plain))
            if seconds > 0:
                return cls(seconds=seconds)
        try:
            votes = float(plain.replace("_", "").removesuffix("votes"))
        except ValueError:
            votes = math.nan
        if not (1 <= votes < 2**63 and votes == int(votes)):
            raise InvalidInput(
                "a budget is a number of votes, such as 1e6, or a time, such as 30min or 2h, got "
                f"{text!r}"
            )
        return cls(votes=int(votes))


@dataclass(frozen=True, slots=True)
class Choice:
    """A way to make the run, what it costs and what to expect of it.

    `every` is the distance of its inputs among those that were chosen; `votes` and `seconds`
    are of the run, without the rehearsal. `value` is the lower end of the mean radius that it
    shows of the population.
    """

    plan: Plan
    every: int
    inputs: int
    votes: int
    seconds: float | None
    expected: tuple[Expected, ...]
    value: float


def cost(plan: Plan, inputs: int, rehearsal: Rehearsal, labelled: bool) -> tuple[int, float | None]:
    """Votes and seconds of a run; the seconds are None where no speed was measured.

    Some of the inputs of the rehearsal are simulated: methods share votes, and may need fewer for
    one input than for another. Time goes by the rows that the model runs, in whole batches.
    """
    votes, rows, generator = 0, 0, np.random.default_rng(0)
    # Neyman-Pearson alone takes as many votes of every input.
    chosen = rehearsal.profiles[: 1 if plan.methods == (NEYMAN_PEARSON,) else SIMULATED]
    for profile in chosen:
        seen = simulated_input(profile, plan, generator, labelled)
        votes += sum(part.total for part in seen.votes)
        rows += seen.queries or 0
    total = round(inputs * votes / len(chosen))
    if rehearsal.seconds_per_query is None:
        return total, None
    each = rows / len(chosen) * rehearsal.seconds_per_query + rehearsal.seconds_per_input
    return total, inputs * each


def best_use(
    budget: Budget,
    rehearsal: Rehearsal,
    plans: Sequence[Plan],
    inputs: int,
    radii: Sequence[float],
    *,
    labelled: bool = True,
    may_skip: bool = False,
) -> list[Choice]:
    """Ways to spend a budget, the best one first.

    For every plan, and if `may_skip` for every 2nd, 4th, ... of the inputs, the number of votes is
    the largest that fits. The best way has the largest lower end of the mean radius that it will
    show of the population: few votes lose radius, and few inputs say little of the others.

    Raises InvalidInput where the budget is too small for any certificate.
    """
    found = []
    every = 1
    while every == 1 or (may_skip and inputs // every >= FEWEST_CHOSEN_INPUTS):
        for plan in plans:
            part = -(-inputs // every)
            n = _votes_that_fit(budget, rehearsal, plan, part, labelled)
            if n is not None:
                found.append(_choice(plan.replace(n=n), every, part, rehearsal, radii, labelled))
        every *= 2
    if not found:
        raise InvalidInput(
            f"the budget is too small to certify any of {inputs} inputs at alpha = "
            f"{plans[0].alpha:g}; give more, or fewer inputs (--stop, --skip)"
        )
    # Of ways that promise the same, one with fewer methods takes less time.
    return sorted(
        found, key=lambda one: (-round(one.value, PROMISED_DIGITS), len(one.plan.methods))
    )


def _choice(
    plan: Plan,
    every: int,
    inputs: int,
    rehearsal: Rehearsal,
    radii: Sequence[float],
    labelled: bool,
) -> Choice:
    expected = tuple(expected_table(rehearsal.profiles, plan, radii))
    value = max(
        (
            float(one.by_input.mean() - 2 * one.by_input.std() / math.sqrt(inputs))
            for one in expected
        ),
        default=0.0,
    )
    votes, seconds = cost(plan, inputs, rehearsal, labelled)
    return Choice(plan, every, inputs, votes, seconds, expected, value)


def _votes_that_fit(
    budget: Budget, rehearsal: Rehearsal, plan: Plan, inputs: int, labelled: bool
) -> int | None:
    """About the largest n whose run fits the budget; None where it could certify nothing."""

    def share(n: int) -> float:
        """How much of the budget the run takes."""
        votes, seconds = cost(plan.replace(n=n), inputs, rehearsal, labelled)
        if budget.votes is not None:
            return votes / max(budget.votes - rehearsal.votes, 1)
        assert budget.seconds is not None
        assert seconds is not None
        return seconds / max(budget.seconds * (1 - UNMEASURED_SHARE) - rehearsal.seconds, 1e-9)

    n = _largest_below_one(share)
    return None if n is None or hopeless_votes(n, plan.alpha) else n


def _largest_below_one(share: Callable[[int], float]) -> int | None:
    """About the largest n with share(n) <= 1, for a share that grows, nearly straight; or None."""
    low, at_low = LEAST_N, share(LEAST_N)
    if at_low > 1:
        return None
    high = max(low + 1, int(1.05 * low / at_low))
    while (at_high := share(high)) <= 1:
        if high >= MAX_VOTES:
            return MAX_VOTES
        low, at_low, high = high, at_high, min(2 * high, MAX_VOTES)
    for step in range(BUDGET_STEPS):
        if at_low > ENOUGH_OF_BUDGET or high - low < 2:
            break
        # False position, aimed a little low; every third step halves, where the share jumps.
        part = 0.5 if step % 3 == 2 else 0.995 * (1 - at_low) / (at_high - at_low)
        guess = min(max(low + int((high - low) * part), low + 1), high - 1)
        found = share(guess)
        if found <= 1:
            low, at_low = guess, found
        else:
            high, at_high = guess, found
    return low


class TimeIsUp(Exception):
    """The time of a budget is over; what was finished is kept."""


@dataclass(slots=True)
class Deadline:
    """A counter that ends the work when its time is over."""

    inner: Counter
    end: float
    left: int  # inputs that are not finished
    clock: Clock = perf_counter
    told: bool = False

    def skip(self, count: int) -> None:
        """So many inputs were finished before."""
        self.left -= count
        self.inner.skip(count)

    def advance(self, count: int = 1, votes: int = 0) -> None:
        """So many more inputs are finished; raises TimeIsUp where others are left for too long."""
        self.left -= count
        self.inner.advance(count, votes)
        if self.left and self.clock() >= self.end and not self.told:
            self.told = True  # once: what other threads have finished is still kept
            raise TimeIsUp


def largest_expected(rehearsal: Rehearsal, plan: Plan) -> float:
    """The largest radius that any method is expected to certify: what a table must reach."""
    found = expected_table(rehearsal.profiles, plan, [0.0])
    return max((float(np.max(one.by_input)) for one in found), default=0.0)
