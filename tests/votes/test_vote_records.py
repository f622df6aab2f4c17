"""Votes: what they refuse, what of them can be asked for, and that they survive JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dsrs.errors import DataError, InvalidInput, NotEnoughVotes
from dsrs.laws import GeneralizedGaussian, Truncated
from dsrs.noise import NoiseLaw, Stream
from dsrs.votes import ESTIMATION, SELECTION, SampledInput, Votes

LAW = GeneralizedGaussian(784, 0.5, 380)
BALL = Truncated(LAW, 0.1 + 0.2)
REST = (0,) * 63


def votes(hits: int = 3, law: NoiseLaw = LAW, start: int = 0, purpose: str = ESTIMATION) -> Votes:
    """Five votes, all of them in the first bin."""
    return Votes(Stream(purpose, law), start, (5 - hits, hits), (5, *REST), (hits, *REST))


SAMPLED = SampledInput(
    index=4,
    label=None,
    predicted=1,
    target=1,
    votes=(
        votes(5, purpose=SELECTION),
        votes(3),
        votes(4, BALL),
        votes(1, start=5),
        votes(2, start=10),
    ),
    choices={"truncated:heuristic": BALL},
    seconds=1 / 3,
)


def test_votes_survive_json() -> None:
    fields = json.loads(json.dumps(SAMPLED.to_dict()))
    assert SampledInput.from_dict(fields, LAW) == SAMPLED
    assert SAMPLED.votes[1].total == 5
    assert SAMPLED.votes[1].successes == 3
    assert SAMPLED.votes[3].stop == 10


def test_a_stream_is_read_from_its_beginning() -> None:
    assert SAMPLED.taken(Stream(ESTIMATION, LAW)) == 15
    assert SAMPLED.taken(Stream(ESTIMATION, Truncated(LAW, 0.1 + 0.2))) == 5
    assert SAMPLED.taken(Stream(SELECTION, BALL)) == 0
    assert SAMPLED.ends(Stream(ESTIMATION, LAW)) == [5, 10, 15]
    assert SAMPLED.first(Stream(ESTIMATION, LAW), 5) == SAMPLED.votes[1]
    both = SAMPLED.first(Stream(ESTIMATION, LAW), 10)
    assert (both.start, both.counts, both.successes) == (0, (6, 4), 4)
    assert SAMPLED.first(Stream(SELECTION, LAW), 5).successes == 5


@pytest.mark.parametrize("count", [4, 7, 16])
def test_counts_that_were_not_kept_are_refused(count: int) -> None:
    with pytest.raises(NotEnoughVotes, match=rf"input 4 needs the first {count} .*P \(15\)"):
        SAMPLED.first(Stream(ESTIMATION, LAW), count)


def test_votes_under_another_law_are_not_taken_for_it() -> None:
    with pytest.raises(NotEnoughVotes, match=r"needs the first 5 estimation votes under trunc"):
        SAMPLED.first(Stream(ESTIMATION, Truncated(LAW, 0.31)), 5)


def test_votes_that_contradict_themselves_are_refused() -> None:
    with pytest.raises(InvalidInput, match="between 0 and `trials`"):
        votes(hits=6)
    with pytest.raises(InvalidInput, match="64 bins"):
        Votes(Stream(ESTIMATION, LAW), 0, (1,), (1,), (1,))
    with pytest.raises(InvalidInput, match="count the same votes"):
        Votes(Stream(ESTIMATION, LAW), 0, (1, 1), (1, *REST), (1, *REST))
    with pytest.raises(InvalidInput, match="`start` must not be negative, got -1"):
        votes(start=-1)
    with pytest.raises(DataError, match="the fields of votes"):
        Votes.from_dict({"purpose": ESTIMATION}, LAW)
    with pytest.raises(DataError, match="one sampled input"):
        SampledInput.from_dict({"index": 1}, LAW)


def test_a_choice_of_p_survives_json() -> None:
    sampled = replace(SAMPLED, choices={"tailored": LAW, "truncated:heuristic": BALL})
    fields = json.loads(json.dumps(sampled.to_dict()))
    assert fields["choices"]["tailored"] is None
    assert SampledInput.from_dict(fields, LAW) == sampled
