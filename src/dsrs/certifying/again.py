"""What a finished run still answers: other certificates, the same votes, and what is served now."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from dsrs.certifying.inputs import Watch, checked_input, sample_input, setting_of
from dsrs.certifying.progress import unseen
from dsrs.classifiers import Classifier
from dsrs.datasets import Dataset
from dsrs.duality import prepare
from dsrs.errors import InvalidInput, OtherModel, StoreMismatch
from dsrs.exchange import check_output, format_of, rows_of, write_rows
from dsrs.laws import short_law_text
from dsrs.measures import MethodAccuracy, certified_accuracy
from dsrs.methods import NEYMAN_PEARSON, Plan, methods_of
from dsrs.noise import Stream
from dsrs.store import Run, RunResult, open_run, start_run
from dsrs.votes import SampledInput, VoteCollector, Votes, WorkUnit

# ---- Certify again from the saved votes: another alpha, method or Q, without the model


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


# ---- Take votes again from the seed of the run, and compare them with those that it keeps
#
# The check of a run proves what follows from its votes; whether a model gave these votes is another
# question, and this answers it for inputs that the doubter chooses.


@dataclass(frozen=True, slots=True)
class Retaken:
    """The votes of one input, taken again; `difference` says where they differ, None if nowhere.

    `note` is there if a law was chosen from a pilot, and the rule of this version takes a longer or
    shorter pilot or chooses another law. The votes are then taken again as they were stored.
    """

    index: int
    votes: int
    difference: str | None
    note: str | None = None


def retake_votes(
    path: str | Path, classifier: Classifier, dataset: Dataset, count: int
) -> Iterator[Retaken]:
    """Take the votes of inputs of a run again, one input after another.

    Args:
        path: the run folder.
        classifier: the model that the run says it asked.
        dataset: the data that the run says it certified.
        count: how many inputs, chosen by fresh randomness of the operating system; all of them
            where the run has no more.

    Raises:
        StoreMismatch: model or data are not those of the run, by their fingerprints.
    """
    if count < 1:
        raise InvalidInput(f"`votes` must be at least 1, got {count}")
    dataset = dataset.named_for(classifier)
    with open_run(path) as run:
        plan, config = run.sampled_plan, run.config
        for what, given in (("model", classifier.fingerprint), ("data", dataset.fingerprint)):
            if config[what]["fingerprint"] != given:
                raise StoreMismatch(
                    f"this is not the {what} of {path}: its fingerprint is {given}, and that of "
                    f"the run {config[what]['fingerprint']}"
                )
        indices = run.indices()
        chosen = secrets.SystemRandom().sample(indices, min(count, len(indices)))
        for index in sorted(chosen):
            stored = run.result(index).sampled
            again = sample_input(
                classifier, dataset.input(index), plan, index, dataset.label(index)
            )
            note = None
            if stored.choices and _parts(stored) != _parts(again):
                note = "the rule of this version takes another pilot, or chooses another law"
                votes = _as_stored(classifier, dataset.input(index), plan, stored)
                again = replace(again, choices=stored.choices, votes=votes)
            taken = sum(part.total for part in again.votes)
            yield Retaken(index, taken, _difference(stored, again), note)


def _parts(sampled: SampledInput) -> list[tuple[Stream, int, int]]:
    """Which votes were taken, in their order."""
    return [(part.stream, part.start, part.stop) for part in sampled.votes]


def _as_stored(
    classifier: Classifier, x: ArrayLike, plan: Plan, stored: SampledInput
) -> tuple[Votes, ...]:
    """The votes of the streams that were stored, under the laws that were chosen then."""
    target, plan = stored.target, plan.on_grid_of(classifier.bounds)
    assert target is not None
    image, parts = checked_input(classifier, x, plan, stored.index), []
    with VoteCollector() as workers:
        for part in stored.votes:
            unit = WorkUnit(stored.index, part.stream, part.start, part.stop)
            counted = workers.collect(classifier, image, setting_of(plan), unit)
            trials, hits = counted.votes.sum(axis=0).tolist(), counted.votes[target].tolist()
            parts.append(
                replace(part, counts=counted.by_class, trials=tuple(trials), hits=tuple(hits))
            )
    return tuple(parts)


def _difference(stored: SampledInput, again: SampledInput) -> str | None:
    """The first thing in which two records of the votes of one input differ."""
    if stored.input != again.input:
        return f"the input has the fingerprint {again.input}, and {stored.input} was stored"
    for what in ("label", "moved"):
        was, now = getattr(stored, what), getattr(again, what)
        if was != now:
            return f"`{what}` is {now}, and {was} was stored"
    if stored.target != again.target:
        return f"the class was {stored.target}, and is now {again.target}"
    if stored.choices != again.choices:
        return "the votes chose another law"
    for before, after in zip(stored.votes, again.votes, strict=False):
        if before != after:
            return (
                f"{before.stream.purpose} votes from {before.start} on: {list(before.counts)} by "
                f"class were stored, and are now {list(after.counts)}"
            )
    if len(stored.votes) != len(again.votes):
        return f"{len(stored.votes)} parts of votes were stored, and {len(again.votes)} are wanted"
    return None


# ---- Compare what is served with what a promise was made about: model, precision, noise and grid
#
# A certificate or a prediction set is about one model, on one kind of device, under one noise law
# and on one grid. A service that runs another one has no promise, however alike they look.

SHOWN_CHARACTERS = 60  # characters of a value


@dataclass(frozen=True, slots=True)
class Compared:
    """One fact of what is quoted, and of what is served.

    Args:
        name: of the fact.
        quoted: as the run or the file of prediction sets says it.
        served: as it is now.
        same: whether the promise holds for both.
    """

    name: str
    quoted: str
    served: str
    same: bool


def facts_of_run(config: Mapping[str, Any]) -> dict[str, Any]:
    """What the certificates of a run are about, from its config."""
    model, plan = config["model"], config["plan"]
    names = ("fingerprint", "input_shape", "bounds", "num_classes")
    facts = {name: model[name] for name in (*names, "scaling") if name in model}
    return facts | {"device": config["device"], "law": plan["law"], "grid": plan["grid"]}


def facts_of_model(classifier: Classifier, device: str) -> dict[str, Any]:
    """What is served, but for its noise."""
    return {
        "fingerprint": classifier.fingerprint,
        "input_shape": list(classifier.input_shape),
        "bounds": [float(bound) for bound in classifier.bounds],
        "num_classes": classifier.num_classes,
        "device": device.partition(":")[0],
    }


def compare_served(quoted: Mapping[str, Any], served: Mapping[str, Any]) -> list[Compared]:
    """Every fact that both name, compared."""
    compared = []
    for name in [name for name in quoted if name in served]:
        said, now = quoted[name], served[name]
        cut = said != now and _text(said) == _text(now)  # what differs may be at the end
        compared.append(Compared(name, _text(said, end=cut), _text(now, end=cut), said == now))
    return compared


def refuse_other(compared: Sequence[Compared], what: str) -> None:
    """Raise OtherModel, naming every difference, unless what is served is what is quoted."""
    different = [one for one in compared if not one.same]
    if different:
        lines = "".join(
            f"\n  {one.name}: {what} has {one.quoted}, served is {one.served}" for one in different
        )
        raise OtherModel(
            f"what is served is not what {what} speaks of, so nothing that it promises may be "
            f"quoted:{lines}\nserve the same, or calibrate or certify what is served"
        )


def _text(value: Any, *, end: bool = False) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    if len(text) <= SHOWN_CHARACTERS:
        return text
    return "..." + text[3 - SHOWN_CHARACTERS :] if end else text[: SHOWN_CHARACTERS - 3] + "..."
