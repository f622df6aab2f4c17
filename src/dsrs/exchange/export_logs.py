"""The results of a run as the logs of the original DSRS scripts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dsrs.errors import InvalidInput
from dsrs.exchange.dsrs_logs import LoggedRadius, radius_log_text, sampling_log_text
from dsrs.exchange.log_folder import RADIUS_KINDS, SAMPLING
from dsrs.exchange.log_names import (
    FALLBACK_RULE,
    HEURISTIC_RULE,
    MODEL_ENDING,
    PAPER_RULE,
    LogHeader,
    RadiusName,
)
from dsrs.laws import (
    AdditionalLaw,
    Rescaled,
    Truncated,
    chosen_from_votes,
    names_a_law,
    parse_additional_law,
)
from dsrs.methods import NEYMAN_PEARSON, Plan, methods_of
from dsrs.methods.double_sampling import DoubleSampling
from dsrs.proofs.certificate import Certificate
from dsrs.proofs.interval import Interval
from dsrs.store.reader import Run
from dsrs.store.result import RunResult
from dsrs.votes.records import ESTIMATION

RULES_BY_HEURISTIC = {
    "truncated:heuristic": HEURISTIC_RULE,
    "truncated:paper-heuristic": PAPER_RULE,
}
RULES_FALLING_BACK = {"truncated:heuristic": FALLBACK_RULE}  # with the fall-back to P of a plan
OTHERWISE = "use csv or jsonl"


def dsrs_log_texts(run: Run, methods: Iterable[str]) -> dict[str, str]:
    """File name -> text of every log of the original DSRS layout that these methods fill."""
    plan, results = run.plan, list(run.results())
    _check_plan(plan, run.sampled_plan)
    if any(certificate.moved for result in results for certificate in result.certificates.values()):
        raise InvalidInput(
            "the DSRS logs have no place for inputs that were moved to a grid, which their radii "
            f"are less by; {OTHERWISE}, or certify with --grid none"
        )
    others = [result.index for result in results if result.target != result.label]
    if others:
        raise InvalidInput(
            "the DSRS logs are about the labels of the inputs, and the certificate of input "
            f"{others[0]} is about another class; {OTHERWISE}"
        )
    model = _model_name(run.config) + MODEL_ENDING
    texts: dict[str, str] = {}
    for method in methods:
        # Methods share the log of their first votes under P, which are the same votes.
        if method == NEYMAN_PEARSON:
            texts |= _neyman_pearson_texts(plan, results, model)
        else:
            texts |= _double_sampling_texts(plan, results, method, model)
    return texts


def _check_plan(plan: Plan, sampled: Plan) -> None:
    """Refuse what the logs cannot say."""
    if plan != sampled:
        what = "a run that was certified again"
    elif plan.law.measured_in != "l2":
        what = f"noise that is round in {plan.law.measured_in}"
    elif plan.law.eta != 2:
        what = f"`eta`, which is {plan.law.eta:g}"
    elif not plan.goal.is_open:
        what = "inputs that were stopped after different numbers of votes"
    elif plan.classes != "top":
        what = "`classes` = all"
    else:
        return
    raise InvalidInput(f"the DSRS logs have no place for {what}; {OTHERWISE}")


def _neyman_pearson_texts(plan: Plan, results: list[RunResult], model: str) -> dict[str, str]:
    p = LogHeader(plan.law.k, plan.law.sigma, plan.n, plan.alpha)
    certificates = {r.index: r.certificates[NEYMAN_PEARSON] for r in results}
    radii = {index: LoggedRadius(certificate.radius) for index, certificate in certificates.items()}
    intervals = {index: certificate.known_of_p for index, certificate in certificates.items()}
    return {
        f"{SAMPLING}/{model}/{p.stem}.txt": sampling_log_text(p, intervals),
        _radius_path(RadiusName(p, None, False), model): radius_log_text(radii),
    }


def _double_sampling_texts(
    plan: Plan, results: list[RunResult], method: str, model: str
) -> dict[str, str]:
    k, sigma = plan.law.k, plan.law.sigma
    p = LogHeader(k, sigma, plan.n_first, plan.alpha * plan.alpha_share)
    budget = (plan.n_second, plan.alpha * (1 - plan.alpha_share))
    text = next(text for text in plan.methods if plan.name_of(text) == method)
    rule, beta = _rule_of(text, plan)
    q = LogHeader(k, sigma if beta is None else beta, *budget, rule)
    name = RadiusName(p, rule or repr(beta), truncated=rule is not None)
    under_p: dict[int, Interval] = {}
    under_q: dict[int, Interval] = {}
    radii: dict[int, LoggedRadius] = {}
    for result in results:
        certificate = result.certificates[method]
        radii[result.index] = LoggedRadius(certificate.radius, _multipliers(certificate))
        under_p[result.index] = certificate.known_of_p
        if certificate.observations:
            under_q[result.index] = certificate.observations[0].interval
        first = _votes_before_fallback(plan, result, method)
        if first is not None:
            # A log of this rule has the interval of all votes under P in the place of Q's.
            under_p[result.index], under_q[result.index] = first, certificate.known_of_p
        elif rule == FALLBACK_RULE and under_p[result.index].upper == 1:
            raise InvalidInput(
                f"input {result.index} would be read as a fall-back, because its interval of P "
                f"ends at 1; {OTHERWISE}"
            )
    return {
        f"{SAMPLING}/{model}/{p.stem}.txt": sampling_log_text(p, under_p),
        f"{SAMPLING}/{model}/{q.stem}.txt": sampling_log_text(q, under_q),
        _radius_path(name, model): radius_log_text(radii),
    }


def _votes_before_fallback(plan: Plan, result: RunResult, method: str) -> Interval | None:
    """The interval of the first votes of an input that fell back to P; None if it did not."""
    sampling = methods_of(plan)[method]
    assert isinstance(sampling, DoubleSampling)
    stream = sampling.under_p(ESTIMATION)
    if not plan.fallback or result.sampled.taken(stream) < plan.n_first:
        return None
    first = result.sampled.first(stream, plan.n_first)
    return sampling.p_interval(first) if sampling.falls_back(first) else None


def _multipliers(certificate: Certificate) -> tuple[float, ...]:
    """Return lambda_p and lambda_q; 0 where there is no proof."""
    step = None if certificate.proof is None else certificate.proof.outermost
    return (*(() if step is None else step.multipliers), 0.0, 0.0)[:2]


def _rule_of(text: str, plan: Plan) -> tuple[str | None, float | None]:
    """The rule of a truncated law, or the sigma of a rescaled one."""
    rules = RULES_FALLING_BACK if plan.fallback else RULES_BY_HEURISTIC
    if text in rules:
        return rules[text], None
    if plan.fallback:
        raise InvalidInput(
            f"the DSRS logs have a place for the fall-back of {', '.join(RULES_FALLING_BACK)} "
            f"only, not for that of {plan.name_of(text)!r}; {OTHERWISE}"
        )
    law: AdditionalLaw | None = None
    if names_a_law(text) and not chosen_from_votes(text):
        law = parse_additional_law(text, plan.law)
    if isinstance(law, Truncated):
        return repr(law.percentile), None
    if isinstance(law, Rescaled) and law.beta != plan.law.sigma:
        return None, law.beta
    raise InvalidInput(
        f"the DSRS logs have no place for {plan.name_of(text)!r}, only for np, truncated and "
        f"rescaled laws; choose one with --method, or {OTHERWISE}"
    )


def _radius_path(name: RadiusName, model: str) -> str:
    kind = RADIUS_KINDS[name.rule is not None]
    return f"{kind}/{model}/{name.stem}.txt"


def _model_name(config: Mapping[str, Any]) -> str:
    """The model's file name without its ending and a piece of its fingerprint, as a safe path.

    Two models of one file name have logs of their own. A run that was made from Python does not
    know a file.
    """
    named = config.get("source", {}).get("model") or "model"
    stem = Path(named).stem if isinstance(named, str) else "ensemble"
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", stem).strip("._") or "model"
    return f"{safe}-{hashlib.sha256(config['model']['fingerprint'].encode()).hexdigest()[:8]}"
