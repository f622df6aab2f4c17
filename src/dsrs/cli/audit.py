"""`dsrs audit`: every certificate proved again in ball arithmetic."""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.cli.options import Commands
from dsrs.cli.progress import Progress
from dsrs.errors import DataError, InvalidInput
from dsrs.files.csv_rows import open_csv

if TYPE_CHECKING:
    from dsrs.audit import Verdict

MOST_SHOWN = 20

DESCRIPTION = """\
Prove certificates again with Arb (python-flint, the extra `audit`): every integral is enclosed, no
numerical code is shared with the rest of the package. A certificate is

  verified   everything that it says is proved
  refuted    something that it says is provably false, or does not follow from its votes
  undecided  an enclosure is too wide, or something is missing; the reason is given

For a run its votes are counted again: the class, the laws that were sampled, the parts of alpha and
the bounds. In a file of certificates or a table the bounds are taken as given. docs/audit.md says
what a verdict rests on.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "audit",
        help="prove certificates again in ball arithmetic, sharing no code with the solver",
        description=DESCRIPTION,
        epilog="exit code 1 if a certificate is refuted",
    )
    parser.add_argument(
        "source",
        help="a run folder, certificates in JSON (as `dsrs radius --json` prints them), or a table "
        "of `dsrs recertify` or `dsrs export` (.csv, .csv.gz)",
    )
    parser.add_argument("--sample", type=int, metavar="N", help="only N of them, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of --sample (default: 0)")
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.sample is not None and arguments.sample < 1:
        raise InvalidInput(f"`sample` must be at least 1, got {arguments.sample}")
    work = _work_of(Path(arguments.source))
    if not work:
        raise DataError(f"{arguments.source} holds no certificates")
    if arguments.sample is not None and arguments.sample < len(work):
        chosen = random.Random(arguments.seed).sample(range(len(work)), arguments.sample)
        work = [work[place] for place in sorted(chosen)]
    verdicts = []
    with Progress(len(work), "auditing", quiet=arguments.quiet) as bar:
        for audit in work:
            verdicts.append(audit())
            bar.advance()
    _report(verdicts, arguments.json)
    return 1 if any(verdict.word == "refuted" for verdict in verdicts) else 0


def _work_of(source: Path) -> list[Callable[[], Verdict]]:
    """One audit for each certificate."""
    if source.is_dir():
        return _work_of_run(source)
    if source.name.endswith((".csv", ".csv.gz")):
        return _work_of_table(source)
    return _work_of_file(source)


def _work_of_run(source: Path) -> list[Callable[[], Verdict]]:
    from dsrs.audit import BoundsAudit, audit_certificate
    from dsrs.store import open_run

    with open_run(source) as saved:
        plan, sampled = saved.plan_fields, saved.sampled_plan_fields
        inputs = [saved.fields(index) for index in saved.indices()]

    def audit(votes: dict[str, Any], method: str, fields: Any) -> Callable[[], Verdict]:
        bounds = BoundsAudit(plan, sampled, method, votes)
        return lambda: audit_certificate(fields, f"input {votes['index']}, {method}", bounds)

    return [
        audit(votes, method, fields)
        for votes, certificates in inputs
        for method, fields in certificates.items()
    ]


def _work_of_table(source: Path) -> list[Callable[[], Verdict]]:
    from dsrs.audit import NEEDED, Undecided, Verdict, audit_certificate, certificate_of

    with open_csv(source) as found:
        missing = [name for name in NEEDED if name not in found.header]
        if not {"radius", "certified_radius"} & set(found.header):
            missing.append("radius")
        if missing:
            raise DataError(
                f"{source} lacks the column(s) {', '.join(missing)}; `dsrs recertify` and "
                "`dsrs export` write them"
            )
        rows = list(found.good_rows(str(source)))

    def audit(line: int, cells: dict[str, str]) -> Callable[[], Verdict]:
        name = f"line {line}"

        def verdict() -> Verdict:
            try:
                fields = certificate_of(cells)
            except Undecided as doubt:
                return Verdict(name, "undecided", str(doubt))
            except DataError as error:
                raise DataError(f"{source}, {name}: {error}") from None
            return audit_certificate(fields, name)

        return verdict

    return [
        audit(row.line, row.cells) for row in rows if not row.cells["status"].startswith("error")
    ]


def _work_of_file(source: Path) -> list[Callable[[], Verdict]]:
    from dsrs.audit import audit_certificate

    try:
        text = sys.stdin.read() if str(source) == "-" else source.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {source}: {error}") from None

    def audit(number: int, fields: Any) -> Callable[[], Verdict]:
        return lambda: audit_certificate(fields, f"certificate {number}")

    return [audit(number, fields) for number, fields in enumerate(_objects(text, source), 1)]


def _objects(text: str, source: Path) -> list[Any]:
    """One JSON object over several lines, or one a line."""
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        pass
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise DataError(f"{source} does not hold certificates in JSON: {error}") from None


def _report(verdicts: list[Verdict], as_json: bool) -> None:
    from dsrs.audit import WORDS

    counts = {word: sum(verdict.word == word for verdict in verdicts) for word in WORDS}
    seconds = sum(verdict.seconds for verdict in verdicts)
    if as_json:
        listed = [verdict.to_dict() for verdict in verdicts]
        print(json.dumps({**counts, "seconds": seconds, "certificates": listed}))
        return
    for word in ("refuted", "undecided"):
        found = [verdict for verdict in verdicts if verdict.word == word]
        for verdict in found[:MOST_SHOWN]:
            print(f"{word.upper()}: {verdict.name}: {verdict.reason}")
        if len(found) > MOST_SHOWN:
            print(f"... and {len(found) - MOST_SHOWN:,} more {word}")
    said = ", ".join(f"{count:,} {word}" for word, count in counts.items())
    print(f"{said}, in {seconds:.1f} s")
