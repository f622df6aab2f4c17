"""Certify a run again from its saved votes: another alpha, method or Q, without the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from dsrs.certification import certify
from dsrs.errors import InvalidInput, NotEnoughVotes
from dsrs.laws import Truncated, chosen_from_votes, parse_additional_law
from dsrs.records import HISTOGRAM_BINS, Certificate, Interval, Observation
from dsrs.runs.accuracy import MethodAccuracy, certified_accuracy
from dsrs.runs.certifying import Watch
from dsrs.runs.formats.exporting import format_of, write_rows
from dsrs.runs.formats.outputs import check_output
from dsrs.runs.formats.row import rows_of
from dsrs.runs.reader import Run, open_run
from dsrs.runs.result import RunResult
from dsrs.runs.writer import start_run
from dsrs.sampling.certificates import certify_method
from dsrs.sampling.plan import NEYMAN_PEARSON, SamplingPlan
from dsrs.sampling.strategies import double_sampling_alphas, two_sided_interval
from dsrs.sampling.votes import FIRST, SECOND, SampledInput

T = TypeVar("T")


def recertify_run(
    path: str | Path,
    *,
    alpha: float | None = None,
    method: str | None = None,
    q: Sequence[str] | None = None,
    output: str | Path | None = None,
    overwrite: bool = False,
    progress: Watch | None = None,
) -> list[MethodAccuracy]:
    """Certify a run again; return what each method proves.

    `alpha` replaces that of the run, `method` (`np`, `truncated`, ...) keeps one method alone,
    and `q` replaces the additional laws; what is None stays. The votes allow the laws that were
    sampled, and truncated laws at a multiple of 1/64 (see `intervals_with_ball`); NotEnoughVotes
    says what they do not allow. `output` is a file (.csv, .jsonl, .parquet, .tsv) or a new run
    folder, with the votes; a file is replaced with `overwrite` only.
    """
    form = None if output is None else format_of(Path(output))
    if output is not None and form is not None:
        check_output(Path(output), form, overwrite)
    with open_run(path) as run:
        plan = replanned(run.plan, alpha=alpha, method=method, q=q)
        # All is certified before anything is written: one input may be refused.
        certified = dict(_watched(certify_again(run, plan), len(run), progress))
        results = (
            replace(run.result(index), certificates=certificates)
            for index, certificates in certified.items()
        )
        if output is None:
            return certified_accuracy(results)
        target = Path(output)
        if form is None:
            return certified_accuracy(_kept(run, plan, results, target))
        kept = list(results)
        write_rows(rows_of(kept, plan.to_dict()), target, form)
        return certified_accuracy(kept)


def replanned(
    plan: SamplingPlan,
    *,
    alpha: float | None = None,
    method: str | None = None,
    q: Sequence[str] | None = None,
) -> SamplingPlan:
    """The plan with another alpha, other laws or one method alone."""
    changed = plan.replace(
        alpha=plan.alpha if alpha is None else alpha,
        additional=plan.additional if q is None else tuple(text for text in q if text != "none"),
    )
    if method is None:
        return changed
    if method == NEYMAN_PEARSON:
        return changed.replace(additional=(), neyman_pearson=True)
    wanted = [text for text in changed.additional if method in (text, changed.method_of(text))]
    if not wanted:
        raise InvalidInput(
            f"`method` must be one of {', '.join(changed.methods)}, got {method!r}; "
            "name its law to have another one"
        )
    return changed.replace(additional=tuple(wanted), neyman_pearson=False)


def certify_again(run: Run, plan: SamplingPlan) -> Iterator[tuple[int, dict[str, Certificate]]]:
    """Each finished input of a run with its certificates under another plan."""
    balls = {text: _ball(text, plan, run.sampled_plan) for text in plan.additional}
    for result in run.results():
        certificates = {}
        if plan.neyman_pearson:
            certificates[NEYMAN_PEARSON] = certify_method(result.sampled, plan, NEYMAN_PEARSON)
        for text, ball in balls.items():
            certificates[plan.method_of(text)] = (
                _as_sampled(result.sampled, plan, text)
                if ball is None
                else certify(plan.law, *intervals_with_ball(result.sampled, plan, ball))
            )
        yield result.index, certificates


def intervals_with_ball(
    sampled: SampledInput, plan: SamplingPlan, ball: Truncated
) -> tuple[Interval, Observation]:
    """P_A, and Q_A for Q = P truncated to a ball of whole histogram bins, from P's votes alone.

    Votes under P whose noise fell into the ball are votes under Q. Let N of the n votes fall into
    it and Z of these hit: given N, Z is Binomial(N, Q_A), so Clopper and Pearson's interval misses
    Q_A with probability at most a2 for every N, hence at most a2. P's interval from the same n
    votes misses P_A with probability at most a1. The sum is alpha; the two need not be
    independent. The ball must be chosen without looking at the votes.
    """
    anything = Interval(0.0, 1.0)
    if sampled.stopped:
        return anything, Observation(ball, anything)
    bins = round(ball.percentile * HISTOGRAM_BINS)
    under_p = [votes for votes in map(sampled.stream, (FIRST, SECOND)) if votes is not None]
    p_alpha, q_alpha = double_sampling_alphas(plan.alpha, plan.alpha_share)
    total, successes = sum(v.total for v in under_p), sum(v.successes for v in under_p)
    inside, hits = (
        sum(sum(v.trials[:bins]) for v in under_p),
        sum(sum(v.hits[:bins]) for v in under_p),
    )
    q = two_sided_interval(hits, inside, q_alpha) if inside else anything
    return two_sided_interval(successes, total, p_alpha), Observation(ball, q)


def _as_sampled(sampled: SampledInput, plan: SamplingPlan, text: str) -> Certificate:
    # With one law the method has the name of its kind, whatever it was called in the run.
    alone = plan.replace(additional=(text,), neyman_pearson=False)
    return certify_method(sampled, alone, alone.method_of(text))


def _ball(text: str, plan: SamplingPlan, sampled: SamplingPlan) -> Truncated | None:
    """The ball that stands in for a law that was not sampled; None for one that was."""
    if text in sampled.additional:
        return None
    if not chosen_from_votes(text):
        law = parse_additional_law(text, plan.law)
        others = [
            parse_additional_law(other, plan.law)
            for other in sampled.additional
            if not chosen_from_votes(other)
        ]
        if any(other.resembles(law) for other in others):
            return None
        if isinstance(law, Truncated) and (law.percentile * HISTOGRAM_BINS).is_integer():
            return law
    raise NotEnoughVotes(
        f"there are no votes under {text}: the run sampled {', '.join(sampled.additional) or 'P'}, "
        f"and votes under P allow truncated:B/{HISTOGRAM_BINS} with a whole B, such as "
        "truncated:0.5; sample again with `dsrs certify` for other laws"
    )


def _watched(work: Iterable[T], total: int, progress: Watch | None) -> Iterator[T]:
    with nullcontext() if progress is None else progress(total) as counter:
        for done in work:
            yield done
            if counter:
                counter.advance()


def _kept(
    run: Run, plan: SamplingPlan, results: Iterable[RunResult], output: Path
) -> Iterator[RunResult]:
    """The results, after each was added to a new run folder."""
    config = run.config | {
        "plan": plan.to_dict(),
        "sampled_plan": run.sampled_plan.to_dict(),
        "recertified_from": str(run.path),
    }
    with start_run(output, config) as writer:
        finished = writer.finished()
        for result in results:
            if result.index not in finished:
                writer.add(result)
            yield result
