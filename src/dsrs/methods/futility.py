"""Giving up on inputs that cannot be certified any more, which costs no alpha."""

from __future__ import annotations

from dsrs.confidence import clopper_pearson_upper
from dsrs.noise import Stream
from dsrs.votes import SampledInput

# An input is given up when, at this confidence, its class has no majority. It decides how often a
# certifiable input is lost, and has no part in alpha.
FUTILITY = 1e-3
FIRST_LOOK = 1024


def hopeless(successes: int, trials: int) -> bool:
    """True when the class is, at confidence 1 - FUTILITY, below one half.

    Stopping costs no alpha, at any number of looks and by any rule. Couple the run with the one
    that takes the same votes and never stops: it issues the same certificate whenever this run
    issues one, and where this run stops it abstains, which is never wrong. So
    {wrong certificate} is part of the failure of the run that never stops. The rule only decides
    how often an input with P_A > 1/2 is given up: at most FUTILITY at each look.
    """
    return trials > 0 and clopper_pearson_upper(successes, trials, FUTILITY) <= 0.5


def numbers_of_looks(n: int) -> list[int]:
    """Numbers of votes after which an early stop is considered, ending with n: 1024, 2048, ..."""
    ends = []
    end = FIRST_LOOK
    while end < n:
        ends.append(end)
        end *= 2
    return [*ends, n]


def given_up(seen: SampledInput, stream: Stream, n: int) -> bool:
    """Whether the votes of a stream showed at some look before n that it is hopeless."""
    for end in set(numbers_of_looks(n)).intersection(seen.ends(stream)):
        votes = seen.first(stream, end)
        if hopeless(votes.successes, votes.total):
            return True
    return False
