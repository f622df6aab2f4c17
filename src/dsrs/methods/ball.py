"""Double sampling from votes under P alone: those that fell into a ball are votes under Q."""

from __future__ import annotations

from dataclasses import dataclass

from dsrs.errors import NotEnoughVotes
from dsrs.laws import Truncated, chosen_from_votes, parse_additional_law
from dsrs.laws.bins import HISTOGRAM_BINS
from dsrs.methods.base import Method, Want, certify_or_abstain
from dsrs.methods.defaults import NEYMAN_PEARSON
from dsrs.methods.futility import given_up
from dsrs.methods.intervals import double_sampling_alphas, two_sided_interval
from dsrs.methods.plan import Plan
from dsrs.proofs.certificate import Certificate
from dsrs.proofs.certification import abstention
from dsrs.proofs.interval import NOTHING_KNOWN, Observation
from dsrs.votes.records import ESTIMATION, SampledInput


@dataclass(frozen=True, slots=True)
class BallOfVotes(Method):
    """Q is P truncated to a ball of whole histogram bins, observed by P's own votes.

    Let N of the first `votes` votes under P fall into the ball and Z of these hit: given N, Z is
    Binomial(N, Q_A), so Clopper and Pearson's interval misses Q_A with probability at most a2 for
    every N, hence at most a2. P's interval from the same votes misses P_A with probability at most
    a1. The sum is alpha; the two need not be independent. The ball and the number of votes must be
    chosen without looking at the votes: after a fall-back there are more than `votes` of them,
    because all of these hit.
    """

    votes: int  # under P

    @property
    def ball(self) -> Truncated:
        law = None
        if not chosen_from_votes(self.text):
            law = parse_additional_law(self.text, self.plan.law)
        if isinstance(law, Truncated) and (law.percentile * HISTOGRAM_BINS).is_integer():
            return law
        raise NotEnoughVotes(
            f"there are no votes under {self.text}; votes under P allow "
            f"truncated:B/{HISTOGRAM_BINS} with a whole B, such as truncated:0.5; sample again "
            "with `dsrs certify` for other laws"
        )

    def want(self, seen: SampledInput) -> Want | None:
        stream = self.under_p(ESTIMATION)
        return Want(stream, self.votes) if seen.taken(stream) < self.votes else None

    def certificate(self, seen: SampledInput) -> Certificate:
        plan, ball, stream = self.plan, self.ball, self.under_p(ESTIMATION)
        if plan.early_stop and given_up(seen, stream, self.votes):
            return self.on_grid(abstention(plan.law, ball), seen)
        votes = seen.first(stream, self.votes)
        bins = round(ball.percentile * HISTOGRAM_BINS)
        inside, hits = sum(votes.trials[:bins]), sum(votes.hits[:bins])
        p_alpha, q_alpha = double_sampling_alphas(plan.alpha, plan.alpha_share)
        p = self.charged(two_sided_interval(votes.successes, votes.total, p_alpha), plan.law)
        q = two_sided_interval(hits, inside, q_alpha) if inside else NOTHING_KNOWN
        # Q_A is a share: of the ball's mass, which is off by as much as that of the hits in it.
        q = self.charged(q, plan.law, 2 / ball.percentile)
        return self.on_grid(certify_or_abstain(plan.law, p, Observation(ball, q)), seen)


def votes_under_p(sampled: Plan) -> int:
    """How many votes under P every input of such a run has, unless it was given up."""
    return sampled.n if NEYMAN_PEARSON in sampled.methods else sampled.n_first
