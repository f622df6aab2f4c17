"""A session: what is asked for next, in which pieces, and what is kept of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from dsrs.errors import InvalidInput
from dsrs.laws import HISTOGRAM_BINS, AdditionalLaw, GeneralizedGaussian, Rescaled, Truncated
from dsrs.methods import METHODS, Entry, Method, Plan, Session, Want, certificates_of
from dsrs.noise import Stream
from dsrs.proofs import Certificate, abstention
from dsrs.votes import ESTIMATION, SELECTION, Counts, SampledInput
from methods.simulation import Profile, simulate_input

LAW = GeneralizedGaussian(16, 0.5, 4)
HALF = Truncated(LAW, 0.5)
SURE = Profile.of_two(np.ones(HISTOGRAM_BINS))
LIKELY = Profile.of_two(np.full(HISTOGRAM_BINS, 0.8))


def wants(plan: Plan, profile: Profile = LIKELY, label: int | None = 1) -> list[Want]:
    """All that a session asks for, in order."""
    session, found = Session(plan, 0, label), []
    generator = np.random.default_rng(1)
    while (unit := session.next()) is not None:
        found.append(Want(unit.stream, unit.stop))
        votes = profile.draw(unit.stream.law, unit.stop - unit.first, generator)
        session.add(unit, Counts(votes))
    return found


def under_p(*stops: int) -> list[Want]:
    return [Want(Stream(ESTIMATION, LAW), stop) for stop in stops]


def test_votes_under_p_are_one_stream_for_all_methods() -> None:
    plan = Plan(LAW, ("np", "truncated:0.5", "rescaled:0.4"), n=1000, sample_share=0.3)
    assert wants(plan) == [
        *under_p(300, 1000),
        Want(Stream(ESTIMATION, HALF), 700),
        Want(Stream(ESTIMATION, Rescaled(LAW, 0.4)), 700),
    ]


@pytest.mark.parametrize("methods", [("np", "truncated:0.5"), ("truncated:0.5", "np")])
def test_the_least_is_taken_first_whoever_asks_first(methods: tuple[str, ...]) -> None:
    stops = [want.stop for want in wants(Plan(LAW, methods, n=800)) if want.stream.law == LAW]
    assert stops == [400, 800]


def test_an_early_stop_looks_on_the_way() -> None:
    plan = Plan(LAW, ("np", "truncated:0.5"), n=5000, early_stop=True)
    looks = under_p(1024, 2048, 2500, 4096, 5000)
    assert [want for want in wants(plan) if want.stream.law == LAW] == looks
    assert wants(plan, label=0) == under_p(1024)


def test_without_a_label_votes_choose_the_class_first() -> None:
    plan = Plan(LAW, ("np",), n=800, n0=30)
    assert wants(plan, label=None) == [Want(Stream(SELECTION, LAW), 30), *under_p(800)]
    assert wants(plan.replace(target="predicted"), label=0)[0] == Want(Stream(SELECTION, LAW), 30)


def test_the_fallback_asks_for_more_votes_under_p() -> None:
    plan = Plan(LAW, ("truncated:0.5", "rescaled:0.4"), n=800, fallback=True)
    assert wants(plan, SURE) == under_p(400, 800)
    assert wants(plan) == [
        *under_p(400),
        Want(Stream(ESTIMATION, HALF), 400),
        Want(Stream(ESTIMATION, Rescaled(LAW, 0.4)), 400),
    ]


def test_two_names_of_one_law_share_its_votes() -> None:
    plan = Plan(LAW, ("rescaled:0.4", "rescaled:0.8x"), n=800)
    assert wants(plan) == [*under_p(400), Want(Stream(ESTIMATION, Rescaled(LAW, 0.4)), 400)]


def test_a_chosen_law_is_kept_and_not_chosen_again() -> None:
    plan = Plan(LAW, ("truncated:heuristic",), n=4000)
    seen = simulate_input(plan, LIKELY, 0, 1, np.random.default_rng(1))
    chosen = seen.choices["truncated:heuristic"]
    # Another alpha would choose another ball, but there are no votes under that one.
    loose = certificates_of(seen, plan.replace(alpha=0.3))["truncated"]
    assert [one.law for one in loose.observations] == [chosen]
    other = simulate_input(plan.replace(alpha=0.3), LIKELY, 0, 1, np.random.default_rng(1))
    assert other.choices["truncated:heuristic"] != chosen


def test_a_fixed_law_is_no_choice() -> None:
    plan = Plan(LAW, ("np", "truncated:0.5"), n=800)
    assert simulate_input(plan, LIKELY, 0, 1, np.random.default_rng(1)).choices == {}


def test_the_prediction_is_that_of_the_selection_or_else_of_all_votes_under_p() -> None:
    plan = Plan(LAW, ("np", "truncated:0.5"), n=800, n0=50)
    for label, target in ((0, 0), (1, 1), (None, 1)):
        seen = simulate_input(plan, LIKELY, 3, label, np.random.default_rng(1))
        assert (seen.index, seen.label) == (3, label)
        assert (seen.predicted, seen.target) == (1, target)


def test_votes_must_be_those_that_were_wanted() -> None:
    session = Session(Plan(LAW, ("np",), n=800), 0, 1)
    unit = session.next()
    assert unit is not None
    with pytest.raises(InvalidInput, match="expected 800 votes, got 799"):
        session.add(unit, Counts(LIKELY.draw(LAW, 799, np.random.default_rng(1))))


def test_votes_that_choose_come_before_all_others() -> None:
    # Flat accuracy: the pilot finds no better law than P, and asks for fewer votes under it than
    # Neyman-Pearson does.
    plan = Plan(LAW, ("np", "tailored", "truncated:0.5"), n=1000)
    purposes = [want.stream.purpose for want in wants(plan)]
    assert SELECTION in purposes
    assert purposes == sorted(purposes, reverse=True)
    seen = simulate_input(plan, LIKELY, 0, 1, np.random.default_rng(1))
    assert set(certificates_of(seen, plan)) == {"np", "tailored", "truncated"}


@dataclass(frozen=True, slots=True)
class Pilot(Method):
    """Chooses a ball from votes of its own purpose, then takes votes under it."""

    def want(self, seen: SampledInput) -> Want | None:
        if not seen.taken(Stream("pilot", LAW)):
            return Want(Stream("pilot", LAW), 100)
        law = seen.choices[self.text]
        assert isinstance(law, Truncated)
        return None if seen.taken(Stream(ESTIMATION, law)) else Want(Stream(ESTIMATION, law), 300)

    def choose(self, seen: SampledInput) -> AdditionalLaw | None:
        if not seen.taken(Stream("pilot", LAW)):
            return None
        assert self.text not in seen.choices, "chosen twice"
        return Truncated(self.plan.law, seen.first(Stream("pilot", LAW), 100).successes / 100)

    def certificate(self, seen: SampledInput) -> Certificate:
        law = seen.choices[self.text]
        assert isinstance(law, Truncated)
        return abstention(self.plan.law, law)


def test_votes_of_another_purpose_are_another_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "pilot", Entry("pilot", "pilot", "a pilot", Pilot))
    plan = Plan(LAW, ("np", "pilot"), n=400)
    seen = simulate_input(plan, LIKELY, 0, 1, np.random.default_rng(1))
    chosen = seen.choices["pilot"]
    assert isinstance(chosen, Truncated)
    assert 0.6 < chosen.percentile < 0.95
    taken = [(votes.stream, votes.total) for votes in seen.votes]
    assert taken == [
        (Stream(ESTIMATION, LAW), 400),
        (Stream("pilot", LAW), 100),
        (Stream(ESTIMATION, chosen), 300),
    ]
    assert certificates_of(seen, plan)["pilot"].observations[0].law == chosen


@pytest.mark.parametrize("method", ["np", "tailored"])
@pytest.mark.parametrize("ends", [(0.55, 0.25), (0.95, 0.3)])
def test_a_class_that_leads_is_compared_by_every_method(
    method: str, ends: tuple[float, float]
) -> None:
    """Outer shells vote less surely, so that a law Q might be chosen for the majority."""
    leader = np.linspace(*ends, HISTOGRAM_BINS)
    shares = np.stack([leader, *[(1 - leader) / 6] * 6])
    plan = Plan(LAW, (method,), n=10_000, classes="all", target="predicted")
    seen = simulate_input(plan, Profile(shares), 0, None, np.random.default_rng(3))
    (found,) = certificates_of(seen, plan).values()
    assert (seen.target, found.claim, found.status) == (0, "lead", "certified")
