"""What `certify` issues is never refuted: honest runs of every method and option."""

from __future__ import annotations

import pytest

pytest.importorskip("flint")

from audit.honest_runs import SECONDS, Checked, checked_run, laws_of, summary
from dsrs.duality.kernel import compile_kernels

PARTS, RUNS = 10, 500


def checked_runs(count: int, seed: int, start: int = 0) -> list[Checked]:
    return [one for number in range(start, start + count) for one in checked_run(seed, number)]


def test_a_sample_of_honest_runs_is_never_refuted(capsys: pytest.CaptureFixture[str]) -> None:
    found = checked_runs(60, seed=1)
    print(summary(found))
    words = [one.verdict.word for one in found]
    assert "refuted" not in words
    assert words.count("verified") > 40
    assert words.count("undecided") <= 2


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_thousands_of_honest_runs_are_never_refuted_and_hardly_ever_undecided(part: int) -> None:
    compile_kernels()
    found = checked_runs(RUNS, seed=0, start=part * RUNS)
    print(summary(found))
    assert not any(one.verdict.word == "refuted" for one in found)
    claims = [one for one in found if one.verdict.word != "abstained"]
    usual = [one for one in claims if laws_of(one.certificate) <= 2]
    undecided = [one for one in usual if one.verdict.word == "undecided"]
    assert len(undecided) <= 0.01 * len(usual)
    slow = [one for one in found if one.verdict.seconds > SECONDS]
    assert len(slow) <= 0.01 * len(found)


def test_a_pilot_whose_votes_all_agree_at_many_norms_ends_in_a_verdict() -> None:
    """The fit of this run's pilot once ran off to scores that overflowed."""
    assert all(
        checked.verdict.word in ("verified", "abstained") for checked in checked_run(0, 2938)
    )
