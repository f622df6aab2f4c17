"""Certificates from votes alone: the model is not needed, so a saved run can be certified again."""

from __future__ import annotations

from dsrs.certification import certify
from dsrs.errors import InfeasibleBox, NotEnoughVotes
from dsrs.laws import chosen_from_votes, parse_additional_law
from dsrs.records import Certificate, Interval, Observation
from dsrs.sampling.plan import NEYMAN_PEARSON, SamplingPlan
from dsrs.sampling.strategies import (
    double_sampling_alphas,
    fallback_interval,
    falls_back,
    neyman_pearson_interval,
    two_sided_interval,
)
from dsrs.sampling.votes import ADDITIONAL, FIRST, SECOND, SampledInput, Votes

ANYTHING = Interval(0.0, 1.0)


def certify_votes(sampled: SampledInput, plan: SamplingPlan) -> dict[str, Certificate]:
    """The certificate of each method of `plan`, by name (`np`, `truncated`, `rescaled`).

    `plan` may differ from the plan that sampled the votes in alpha, its split, and the methods, as
    far as the votes allow it; `NotEnoughVotes` says what is missing otherwise. The law of a `q:`
    stream is the one that was sampled: a heuristic is not asked again. Choose alpha and method
    without looking at the results, or the failure probability is no longer alpha.
    """
    return {method: certify_method(sampled, plan, method) for method in plan.methods}


def certify_method(sampled: SampledInput, plan: SamplingPlan, method: str) -> Certificate:
    """The certificate of one method of `plan`."""
    if method == NEYMAN_PEARSON:
        return _neyman_pearson(sampled, plan)
    texts = {plan.method_of(text): text for text in plan.additional}
    if method not in texts:
        raise NotEnoughVotes(
            f"the plan has the methods {', '.join(plan.methods)}, not {method!r}; "
            f"add its law to `additional`"
        )
    return _double_sampling(sampled, plan, texts[method])


def _neyman_pearson(sampled: SampledInput, plan: SamplingPlan) -> Certificate:
    if sampled.stopped:
        return certify(plan.law, ANYTHING)
    under_p = [votes for votes in map(sampled.stream, (FIRST, SECOND)) if votes is not None]
    total = sum(votes.total for votes in under_p)
    if total != plan.n:
        raise NotEnoughVotes(
            f"Neyman-Pearson needs {plan.n} votes under P, but input {sampled.index} has {total}; "
            f"sample again, or ask for n = {total}"
        )
    successes = sum(votes.successes for votes in under_p)
    return certify(plan.law, neyman_pearson_interval(successes, total, plan.alpha))


def _double_sampling(sampled: SampledInput, plan: SamplingPlan, text: str) -> Certificate:
    if sampled.stopped:
        law = parse_additional_law(text, plan.law, p_lower=0.0)
        return certify(plan.law, ANYTHING, Observation(law, ANYTHING))
    first = _exactly(sampled, FIRST, plan.n_first)
    p_alpha, q_alpha = double_sampling_alphas(plan.alpha, plan.alpha_share)
    p = two_sided_interval(first.successes, first.total, p_alpha)
    if falls_back(first, plan):
        more = _exactly(sampled, SECOND, plan.n_second)
        return certify(
            plan.law, fallback_interval(first.total, more.successes, more.total, p_alpha)
        )
    votes = _under_additional(sampled, plan, text)
    if votes is None and p.lower <= 0.5:
        # No vote under Q can help a class without a majority under P, so none may have been taken.
        law = parse_additional_law(text, plan.law, p_lower=p.lower)
        return certify(plan.law, p, Observation(law, ANYTHING))
    if votes is None or votes.q is None or votes.total != plan.n_second:
        found = "none" if votes is None else str(votes.total)
        raise NotEnoughVotes(
            f"{text} needs {plan.n_second} votes under this law, but input {sampled.index} has "
            f"{found}; it has votes of: {_inventory(sampled)}"
        )
    q = two_sided_interval(votes.successes, votes.total, q_alpha)
    try:
        return certify(plan.law, p, Observation(votes.q, q))
    except InfeasibleBox:
        # The intervals contradict each other, so one of them is wrong: part of alpha. Abstain.
        return certify(plan.law, ANYTHING, Observation(votes.q, ANYTHING))


def _exactly(sampled: SampledInput, stream: str, count: int) -> Votes:
    votes = sampled.stream(stream)
    if votes is None or votes.total != count:
        raise NotEnoughVotes(
            f"the plan needs {count} votes of stream {stream!r}, but input {sampled.index} has "
            f"votes of: {_inventory(sampled)}; keep n and `sample_share` as they were sampled"
        )
    return votes


def _under_additional(sampled: SampledInput, plan: SamplingPlan, text: str) -> Votes | None:
    """The votes that were taken under the law of this name."""
    if chosen_from_votes(text):
        names = (ADDITIONAL + plan.method_of(text), ADDITIONAL + text)
        found = (votes for votes in map(sampled.stream, names) if votes is not None)
        return next(found, None)
    law = parse_additional_law(text, plan.law)
    for votes in sampled.votes:
        if votes.q is not None and votes.q.resembles(law):
            return votes
    return None


def _inventory(sampled: SampledInput) -> str:
    under = {
        votes.stream: f" under {votes.q.short_text}"
        for votes in sampled.votes
        if votes.q is not None
    }
    return ", ".join(
        f"{votes.stream} ({votes.total}{under.get(votes.stream, '')})" for votes in sampled.votes
    )
