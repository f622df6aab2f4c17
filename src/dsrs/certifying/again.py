"""Certify a run again from its saved votes: another alpha, method or Q, without the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from dsrs.certifying.many_inputs import Watch
from dsrs.certifying.progress import unseen
from dsrs.duality import prepare
from dsrs.errors import InvalidInput
from dsrs.exchange import check_output, format_of, rows_of, write_rows
from dsrs.laws import short_law_text
from dsrs.measures import MethodAccuracy, certified_accuracy
from dsrs.methods import NEYMAN_PEARSON, Plan, methods_of
from dsrs.store import Run, RunResult, open_run, start_run


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
    sampled; NotEnoughVotes says what they do not allow. `output` is a file (.csv, .jsonl, .parquet,
    .tsv) or a new run folder, with the votes; a file is replaced with `overwrite` only.
    """
    form = None if output is None else format_of(Path(output))
    if output is not None and form is not None:
        check_output(Path(output), form, overwrite)
    with open_run(path) as run:
        plan = replanned(run.plan, alpha=alpha, method=method, q=q)
        prepare(len(run) * len(plan.methods))
        # All is certified before anything is written: one input may be refused.
        results = []
        with (progress or unseen)(len(run)) as counter:
            for result in certify_again(run, plan):
                results.append(result)
                counter.advance()
        if output is not None and form is None:
            _keep(run, plan, results, Path(output))
        elif output is not None and form is not None:
            write_rows(rows_of(results, plan.to_dict()), Path(output), form)
        return certified_accuracy(results)


def replanned(
    plan: Plan,
    *,
    alpha: float | None = None,
    method: str | None = None,
    q: Sequence[str] | None = None,
) -> Plan:
    """The plan with another alpha, other laws or one method alone."""
    methods = plan.methods
    if q is not None:
        kept = [NEYMAN_PEARSON] if NEYMAN_PEARSON in methods else []
        laws = [text for text in q if text != "none"]
        methods = tuple(kept + laws) or (NEYMAN_PEARSON,)
    changed = plan.replace(methods=methods)
    if alpha is not None or len(methods) > len(plan.methods):
        # What was promised of all certificates together does not hold of other or more ones.
        each = plan.alpha if alpha is None else alpha
        changed = changed.replace(alpha=each, family_alpha=None, family_size=None)
    if method is None:
        return changed
    wanted = [
        text
        for text in changed.methods
        if method in (text, changed.name_of(text), short_law_text(text))
    ]
    if not wanted and method != NEYMAN_PEARSON:
        names = ", ".join(map(changed.name_of, changed.methods))
        raise InvalidInput(
            f"`method` must be one of {names}, got {method!r}; name its law to have another one"
        )
    return changed.replace(methods=tuple(wanted) or (NEYMAN_PEARSON,))


def certify_again(run: Run, plan: Plan) -> Iterator[RunResult]:
    """Each finished input of a run with its certificates under another plan."""
    methods = methods_of(plan)
    for result in run.results():
        certificates = {name: one.certified(result.sampled) for name, one in methods.items()}
        yield replace(result, certificates=certificates)


def _keep(run: Run, plan: Plan, results: Iterable[RunResult], output: Path) -> None:
    """Write the results into a new run folder."""
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
