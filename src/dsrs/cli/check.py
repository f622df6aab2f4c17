"""`dsrs check`: certificates written as a proof file, and proved by a checker, another program."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.certifying import Progress
from dsrs.cli.model_options import (
    add_source_options,
    classifier_from,
    dataset_from,
    model_and_data,
    with_stored_source,
)
from dsrs.cli.options import Commands
from dsrs.cli.output import print_json
from dsrs.errors import DataError, DsrsError, InvalidInput
from dsrs.files import one_line
from dsrs.measures import floor_text

if TYPE_CHECKING:
    from dsrs.certifying import Retaken
    from dsrs.evidence import Checked, Evidence, Verdict

EXIT_PROVED, EXIT_NOT_PROVED = 0, 1
MOST_SHOWN = 20  # certificates that are told one by one
MARK = 12  # characters of a fingerprint that people compare; `--json` has all

# From the subject of a certificate to what it must say.
Given = Callable[[Mapping[str, Any]], str]

DESCRIPTION = """\
Prove certificates: write all that they rest on into one file, and run the checker on it, a small
program of its own (dsrs-check) that searches for nothing and shares no code with what made them.

For a run the bounds are proved from its votes, with the parts of alpha that were fixed before. In a
file of certificates or a table the bounds are taken as given. Anybody can check the file again:
python-flint is all that it takes. docs/check.md says what a proof rests on.
"""
EPILOG = """\
examples:
  dsrs check runs/mine                  every certificate of a run, with its votes
  dsrs check runs/mine --proof mine.jsonl
                                        keep the proof file, for `dsrs-check mine.jsonl` anywhere
  dsrs check certificates.json          certificates as `dsrs radius --json` prints them
  dsrs check radii.csv --sample 1000    rows that `dsrs recertify` or `dsrs export` wrote
  dsrs check sets.json                  prediction sets of `dsrs conformal calibrate`
  dsrs check runs/mine --votes 5        also take the votes of 5 inputs again, and compare them
  dsrs check one.json --model net.onnx --input image.npy
                                        also whether it is about this model and this input

exit codes: 0 all proved, 1 anything not proved or nothing to prove, 2 bad arguments or input,
130 interrupted (Ctrl-C).
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "check",
        run=run,
        help="prove certificates by the checker, which shares no code with what made them",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    parser.add_argument(
        "source",
        help="a run folder; certificates or prediction sets in JSON, - for standard input; or a "
        "table of `dsrs recertify` or `dsrs export` (CSV, JSON lines, Parquet)",
    )
    parser.add_argument("--proof", metavar="FILE", help="keep the proof file here")
    parser.add_argument("--sample", type=int, metavar="N", help="only N of them, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of --sample")
    parser.add_argument(
        "--first", type=int, default=1, metavar="K", help="go on from the K-th certificate"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace the file of --proof")
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    doubts = parser.add_argument_group("is it about this model, this input, and these votes?")
    doubts.add_argument(
        "--input",
        metavar="FILE",
        help="an .npy file: compare its fingerprint, and that of --model, with every certificate's",
    )
    doubts.add_argument(
        "--votes",
        type=int,
        metavar="K",
        help="of a run: take the votes of K inputs again from its seed, chosen at random, and "
        "compare them with those stored; of prediction sets: the scores of K calibration inputs",
    )
    add_source_options(doubts, required=False)


def run(arguments: argparse.Namespace) -> int:
    from dsrs.evidence import check_evidence, some_of
    from dsrs.files import check_new_file

    for name in ("sample", "first"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise InvalidInput(f"`{name}` must be at least 1, got {value}")
    if arguments.proof is not None:
        check_new_file(Path(arguments.proof), arguments.overwrite)
    evidence = _evidence_of(arguments.source)
    if not evidence.lines and not evidence.abstained:
        raise DataError(f"{arguments.source} holds no certificates")
    fingerprints = fingerprints_from(arguments)
    evidence = some_of(evidence, arguments.first, arguments.sample, arguments.seed)
    with Progress(len(evidence.subjects), "checking", quiet=arguments.quiet) as bar:
        checked = check_evidence(evidence, arguments.proof, lambda verdict: bar.advance())
    verdicts = tuple(compared(each, evidence, fingerprints) for each in checked)
    checked = replace(checked, verdicts=verdicts)
    retaken = [] if arguments.votes is None else retaken_votes(arguments)
    try:
        _report(checked, evidence, retaken, arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # `dsrs check ... | head`: what was found is found, whoever reads it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    different = any(votes.difference is not None for votes in retaken)
    return EXIT_PROVED if checked and not different else EXIT_NOT_PROVED


def _evidence_of(source: str) -> Evidence:
    from dsrs.evidence import evidence_of, evidence_of_text

    if source == "-":
        return evidence_of_text(sys.stdin.read(), {"file": "standard input"})
    return evidence_of(source)


# ------------------------------------------------------------------------------- what is printed


def _report(
    checked: Checked, evidence: Evidence, retaken: list[Retaken], arguments: argparse.Namespace
) -> None:
    summary = checked.summary
    if arguments.json:
        certificates = [_fields(verdict, evidence) for verdict in checked]
        votes = {} if arguments.votes is None else {"votes": retaken}
        counts = {"proved": checked.proved, "not_proved": len(checked) - checked.proved}
        print_json(
            "check",
            {
                **counts,
                "abstained": checked.abstained,
                "given": summary["given"],
                "proof_sha256": summary["file_sha256"],
                "checker_sha256": summary["checker_sha256"],
                "certificates": certificates,
                **votes,
            },
        )
        return
    for line in verdict_lines(list(checked), evidence):
        print(line)
    for part in retaken:
        what = "scores" if is_sets_file(arguments.source) else "votes"
        same = f"all {part.votes:,} {what} are the stored ones"
        note = f" ({part.note})" if part.note else ""
        print(f"{what} of input {part.index}, taken again: {part.difference or same}{note}")
    print("taken as given: " + "; ".join(_given(evidence, summary, arguments.source)))
    print(f"SHA-256 of the proof file {summary['file_sha256']}")
    print(f"SHA-256 of the checker    {summary['checker_sha256']}")
    some = evidence.about.get("part")
    print(repr(checked) if some is None else f"{checked!r}: {some}")


def _given(evidence: Evidence, summary: Mapping[str, Any], source: str) -> list[str]:
    """What was taken as given, beyond what no file can show."""
    if is_sets_file(source):
        return [
            "the calibration scores, and that calibration inputs are like the test inputs; what is "
            "promised holds on average, not for each single input"
        ]
    given = []
    if evidence.from_votes:
        given.append("that votes were counted honestly, of this model")
        if _is_without_grid(source):
            from dsrs.laws import WITHOUT_GRID

            given.append(WITHOUT_GRID)
    if summary["given"]:
        given.append(f"{summary['given']:,} bounds of probabilities, for which there are no votes")
    return given or ["nothing"]


def verdict_lines(verdicts: list[Verdict], evidence: Evidence) -> list[str]:
    """A line for each verdict: for what is not proved only where there are many.

    What all certificates are about alike (alpha, n, seed, model) stands in one line behind them.
    """
    facts = {verdict.name: _facts(verdict, evidence) for verdict in verdicts}
    told = Counter(fact for each in facts.values() for fact in set(each))
    common = {fact for fact, times in told.items() if times == len(verdicts)}
    bad = [verdict for verdict in verdicts if not verdict]
    good = [verdict for verdict in verdicts if verdict]
    shown = bad[:MOST_SHOWN] + (good if len(verdicts) <= MOST_SHOWN else [])
    lines = []
    for verdict in shown:
        radius, _ = evidence.subjects.get(verdict.name, (0.0, None))
        own = [verdict.name, *([f"radius {floor_text(radius, 6)}"] if radius else [])]
        own += [fact for fact in facts[verdict.name] if fact not in common]
        line = f"{'PROVED' if verdict else 'NOT PROVED'}: {', '.join(own)}"
        lines.append(one_line(f"{line}: {verdict.reason}" if verdict.reason else line))
    if len(bad) > MOST_SHOWN:
        lines.append(f"... and {len(bad) - MOST_SHOWN:,} more that are not proved")
    if common and verdicts:
        shared = [fact for fact in facts[verdicts[0].name] if fact in common]
        lines.append(one_line(f"in common: {', '.join(shared)}"))
    return lines


def _facts(verdict: Verdict, evidence: Evidence) -> list[str]:
    """What a certificate is about, without what its name says."""
    _, subject = evidence.subjects.get(verdict.name, (0.0, None))
    if subject is None:
        return []
    named = "" if subject.class_name is None else f" ({subject.class_name})"
    facts = [f"class {subject.target}{named}", f"alpha {subject.alpha}", f"n {subject.n}"]
    facts.append(f"seed {subject.seed} ({'public' if subject.seed_public else 'drawn'})")
    for name, value in (("model", subject.model), ("input", subject.input)):
        if value is not None:
            facts.append(f"{name} {_short(value)}")
    return facts


def _fields(verdict: Verdict, evidence: Evidence) -> dict[str, Any]:
    radius, subject = evidence.subjects.get(verdict.name, (None, None))
    return {
        "name": verdict.name,
        "proved": verdict.proved,
        "reason": verdict.reason,
        "given": verdict.given,
        "radius": radius,
        "subject": subject,
    }


def _short(fingerprint: str) -> str:
    """A fingerprint with the first digits of its hash; names are left as they are."""
    kind, colon, digits = fingerprint.rpartition(":")
    is_hash = len(digits) > 2 * MARK and not set(digits) - set("0123456789abcdef")
    return kind + colon + (digits[:MARK] if is_hash else digits)


def _is_without_grid(folder: str) -> bool:
    """Whether a run that can be read added its noise in float32."""
    from dsrs.store import open_run

    try:
        with open_run(folder) as run:
            return run.sampled_plan_fields.get("grid") is None
    except DsrsError:
        return False  # the verdicts say what is wrong with it


# -------------------------------------------------------------------- beyond the proofs


def retaken_votes(arguments: argparse.Namespace) -> list[Retaken]:
    """The votes of --votes inputs of a run, taken again from its seed; of sets, their scores."""
    from dsrs.certifying import retake_votes
    from dsrs.conformal import Sets, retake_scores
    from dsrs.store import open_run

    source, count = arguments.source, arguments.votes
    if is_sets_file(source):
        if arguments.model is None or arguments.data is None:
            raise InvalidInput(
                "--votes of prediction sets needs --model and --data of the calibration"
            )
        sets, what = Sets.load(source), "scoring again"
        classifier, dataset = model_and_data(arguments)
        most = sets.calibration.inputs
        again = retake_scores(sets, classifier, dataset, count, device=arguments.device)
    elif Path(source).is_dir():
        with open_run(source) as opened:
            config, most, what = opened.config, len(opened), "voting again"
        completed = with_stored_source(arguments, config)
        classifier, dataset = model_and_data(completed)
        again = retake_votes(source, classifier, dataset, count)
    else:
        raise InvalidInput("--votes needs a run folder, which has the votes, or prediction sets")
    found = []
    with Progress(min(count, most), what, quiet=arguments.quiet) as bar:
        for retaken in again:
            found.append(retaken)
            bar.advance(votes=retaken.votes)
    return found


def is_sets_file(source: str) -> bool:
    """Whether a source is a file of `dsrs conformal calibrate`, by how it begins."""
    path = Path(source)
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(64).startswith(b'{"kind": "prediction sets"')


def fingerprint_of_input(values: Any, subject: Mapping[str, Any]) -> str:
    """The fingerprint of this input as this certificate would write it."""
    from dsrs.proofs import SALTED, input_fingerprint

    salted = str(subject.get("input")).startswith(SALTED)
    seed, index = subject.get("seed"), subject.get("index")
    # Without the salt it is no fingerprint of any input.
    salt = (seed, index) if salted and seed is not None and index is not None else None
    return input_fingerprint(values, salt)


def fingerprints_from(arguments: argparse.Namespace) -> dict[str, Given]:
    """The fingerprints of --input and --model, by their names in the subject of a certificate."""
    if arguments.input is None and (arguments.model is None or arguments.votes is not None):
        return {}
    import numpy as np

    from dsrs.datasets import Dataset

    fingerprints: dict[str, Given] = {}
    dataset = dataset_from(arguments) if arguments.data is not None else None
    if arguments.input is not None:
        try:
            values = np.load(arguments.input, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise DataError(f"cannot read {arguments.input} as an .npy file: {error}") from None
        fingerprints["input"] = partial(fingerprint_of_input, values)
        if dataset is None:
            if arguments.scale is not None:
                raise InvalidInput("--scale needs --data, whose features it scales")
            input_rows = values[None].astype(np.float32)
            dataset = Dataset.from_arrays(input_rows, bounds=tuple(arguments.bounds))
    if arguments.model is not None:
        if dataset is None:
            raise InvalidInput("--model needs --input or --data, which say the shape of its inputs")
        named = classifier_from(arguments, dataset).fingerprint
        fingerprints["model"] = lambda subject: named
    return fingerprints


def compared(verdict: Verdict, evidence: Evidence, fingerprints: Mapping[str, Given]) -> Verdict:
    """The verdict, not proved where the certificate names another model or input, or none."""
    from dsrs.files import to_json

    _, known = evidence.subjects.get(verdict.name, (0.0, None))
    subject: Mapping[str, Any] = {} if known is None else to_json(known)
    for name, fingerprint in fingerprints.items():
        said, given = subject.get(name), fingerprint(subject)
        if not verdict or said == given:
            continue
        reason = f"it is about another {name}: {said}, and --{name} has {given}"
        if said is None:
            reason = f"it does not say which {name} it is about"
        verdict = replace(verdict, proved=False, reason=reason)
    return verdict
