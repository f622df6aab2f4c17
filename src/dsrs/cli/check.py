"""`dsrs check`: certificates proved again in ball arithmetic, from a run, a table or a file."""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.certifying import Progress
from dsrs.cli.check_lines import verdict_lines
from dsrs.cli.check_subject import compared, fingerprints_from, is_sets_file, retaken_votes
from dsrs.cli.model_options import add_source_options
from dsrs.cli.options import Commands
from dsrs.cli.output import print_json
from dsrs.errors import DataError, DsrsError, InvalidInput, MissingExtra
from dsrs.files import one_line, open_csv

if TYPE_CHECKING:
    from dsrs.audit import Verdict
    from dsrs.audit.items import Item
    from dsrs.certifying import Retaken

EXIT_VERIFIED, EXIT_REFUTED, EXIT_UNDECIDED = 0, 1, 3  # exit codes
PARQUET_MAGIC = b"PAR1"

DESCRIPTION = """\
Prove certificates again with Arb (python-flint): every integral is enclosed, and no code is shared
with what made them. A certificate is

  verified   everything that it says is proved
  refuted    something that it says is provably false, or does not follow from its votes or proof
  undecided  an enclosure is too wide, or something is missing or unknown; the reason is given
  abstained  it claims nothing

For a run its votes are counted again: the class, the laws that were sampled, the parts of alpha and
the bounds. In a file of certificates or a table the bounds are taken as given. docs/check.md says
what a verdict rests on.
"""
EPILOG = """\
examples:
  dsrs check runs/mine                  every certificate of a run, with its votes
  dsrs check certificates.json          certificates as `dsrs radius --json` prints them
  dsrs check radii.csv --sample 1000    rows that `dsrs recertify` or `dsrs export` wrote
  dsrs check sets.json                  prediction sets of `dsrs conformal calibrate`
  dsrs check runs/mine --votes 5        also take the votes of 5 inputs again, and compare them
  dsrs check one.json --model net.onnx --input image.npy
                                        also whether it is about this model and this input

exit codes: 0 all verified, 1 any refuted, 3 none refuted but any undecided, or nothing to verify,
2 bad arguments or input, 130 interrupted (Ctrl-C).
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "check",
        run=run,
        help="prove certificates again in ball arithmetic, sharing no code with the solver",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    parser.add_argument(
        "source",
        help="a run folder; certificates or prediction sets in JSON, - for standard input; or a "
        "table of `dsrs recertify` or `dsrs export` (CSV, JSON lines, Parquet)",
    )
    parser.add_argument("--sample", type=int, metavar="N", help="only N of them, drawn at random")
    parser.add_argument("--seed", default=0, help="of --sample")
    parser.add_argument(
        "--seconds", default=30.0, help="processor seconds after which a certificate is undecided"
    )
    parser.add_argument(
        "--fast",
        action="store_true",
        help="prove nothing: compare with what our own floats give, and exit with 3",
    )
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
    if arguments.sample is not None and arguments.sample < 1:
        raise InvalidInput(f"`sample` must be at least 1, got {arguments.sample}")
    if not arguments.seconds > 0:
        raise InvalidInput(f"`seconds` must be positive, got {arguments.seconds}")
    from dsrs.audit import NOTHING_PROVED, is_of_flint
    from dsrs.audit.verdicts import Unreadable

    try:
        items = items_of(arguments.source)
    except Unreadable as error:
        raise DataError(str(error)) from None
    except ImportError as error:
        if not is_of_flint(error):
            raise
        print(f"dsrs: {NOTHING_PROVED}", file=sys.stderr)
        return EXIT_UNDECIDED
    if not items:
        raise DataError(f"{arguments.source} holds no certificates")
    if arguments.sample is not None and arguments.sample < len(items):
        chosen = random.Random(arguments.seed).sample(range(len(items)), arguments.sample)
        items = [items[place] for place in sorted(chosen)]
    if arguments.fast:
        return _compare_with_floats(items)
    fingerprints = fingerprints_from(arguments)
    began, verdicts = time.monotonic(), []
    with Progress(len(items), "checking", quiet=arguments.quiet) as bar:
        for item in items:
            verdicts.append(compared(item.check(arguments.seconds), fingerprints))
            bar.advance()
    wall = time.monotonic() - began
    retaken = [] if arguments.votes is None else retaken_votes(arguments)
    try:
        _report(verdicts, retaken, wall, arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # `dsrs check ... | head`: what was found is found, whoever reads it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if any(votes.difference is not None for votes in retaken):
        return EXIT_REFUTED
    return exit_code(verdicts)


def exit_code(verdicts: list[Verdict]) -> int:
    """What the verdicts come to; abstentions claim nothing."""
    words = {verdict.word for verdict in verdicts}
    if "refuted" in words:
        return EXIT_REFUTED
    return EXIT_VERIFIED if words - {"abstained"} == {"verified"} else EXIT_UNDECIDED


def items_of(source: str) -> list[Item]:
    """What there is to check in a folder, a table, a file or standard input."""
    from dsrs.audit.items import items_of_json, items_of_run
    from dsrs.store import refuse_strange_files

    if source == "-":
        return items_of_json(sys.stdin.read())
    path = Path(source)
    if path.is_dir():
        refuse_strange_files(path)
        return items_of_run(path)
    if path.name.endswith((".csv", ".csv.gz")):
        return list(_items_of_csv(path))
    if path.exists() and not (path.is_file() or path.is_fifo()):
        raise DataError(f"{source} is no file and no folder")
    try:
        content = path.read_bytes()
        if content.startswith(PARQUET_MAGIC):
            return list(_items_of_parquet(content, source))
        return items_of_json(content.decode())
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {source}: {error}") from None


def _items_of_csv(path: Path) -> Iterator[Item]:
    from dsrs.audit.items import Item, item_of_row
    from dsrs.audit.verdicts import NotACertificate

    def refuse(reason: str) -> Any:
        raise NotACertificate(reason)

    with open_csv(path) as table:
        _demand_columns(str(path), table.header)
        for row in table.rows:
            name, error = f"line {row.line}", row.error
            if error is not None:
                yield Item(name, lambda error=error: refuse(error))  # type: ignore[misc]
            else:
                yield item_of_row(name, row.cells)


def _items_of_parquet(content: bytes, source: str) -> Iterator[Item]:
    from dsrs.audit.items import item_of_row

    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet") from None
    try:
        table = parquet.read_table(pyarrow.BufferReader(content))
        rows = table.to_pylist()
    except (pyarrow.ArrowException, OSError, OverflowError, ValueError) as error:
        # Also dates that Python does not have, in columns that are not needed.
        raise DataError(f"{source} cannot be read as Parquet: {error}") from None
    _demand_columns(source, table.column_names)
    for number, cells in enumerate(rows):
        yield item_of_row(f"row {number}", cells)


def _demand_columns(source: str, header: list[str]) -> None:
    from dsrs.audit.table_rows import NEEDED_COLUMNS

    missing = [name for name in NEEDED_COLUMNS if name not in header]
    if not {"radius", "certified_radius"} & set(header):
        missing.append("radius")
    if missing:
        raise DataError(
            f"{source} lacks the column(s) {', '.join(missing)}; `dsrs recertify` and "
            "`dsrs export` write them"
        )


def _compare_with_floats(items: list[Item]) -> int:
    """Whether the functions that made the certificates agree with them, which proves nothing."""
    from dsrs.audit.verdicts import Refuted, Undecided
    from dsrs.conformal import Sets, flaw_of_sets
    from dsrs.duality import prepare
    from dsrs.proofs import Certificate, find_flaw

    prepare(len(items))
    for item in items:
        try:
            fields = item.read()
            if fields is not None and fields.get("kind") == Sets.kind:
                flaw = flaw_of_sets(Sets.from_dict(fields))
            else:
                flaw = None if fields is None else find_flaw(Certificate.from_dict(fields))
        except (DataError, Refuted, Undecided) as error:
            flaw = str(error)
        agrees = "agrees with our floats" if flaw is None else f"DISAGREES with our floats: {flaw}"
        print(one_line(f"{item.name}: {agrees}"))
    print("nothing was proved: without --fast every certificate is")
    return EXIT_UNDECIDED


def _report(
    verdicts: list[Verdict], retaken: list[Retaken], wall: float, arguments: argparse.Namespace
) -> None:
    from dsrs.audit import VERDICT_WORDS

    counts = {word: sum(verdict.word == word for verdict in verdicts) for word in VERDICT_WORDS}
    seconds = sum(verdict.seconds for verdict in verdicts)
    if arguments.json:
        times = {"processor_seconds": seconds, "wall_seconds": wall}
        votes = {} if arguments.votes is None else {"votes": retaken}
        print_json("check", {**counts, **times, "certificates": verdicts, **votes})
        return
    for line in verdict_lines(verdicts):
        print(line)
    if is_sets_file(arguments.source):
        print(
            "calibration scores are taken as given, and so is that calibration inputs are like "
            "the test inputs; what is promised holds on average, not for each single input"
        )
    elif not Path(arguments.source).is_dir():
        print(
            "bounds of probabilities are taken as given; a run folder has the votes they are from"
        )
    elif _is_without_grid(arguments.source):
        from dsrs.laws import WITHOUT_GRID

        print(WITHOUT_GRID)
    for part in retaken:
        what = "scores" if is_sets_file(arguments.source) else "votes"
        same = f"all {part.votes:,} {what} are the stored ones"
        note = f" ({part.note})" if part.note else ""
        print(f"{what} of input {part.index}, taken again: {part.difference or same}{note}")
    said = ", ".join(f"{count:,} {word}" for word, count in counts.items())
    print(f"{said}; {seconds:.1f} s of the processor, {wall:.1f} s by the clock")


def _is_without_grid(folder: str) -> bool:
    """Whether a run that can be read added its noise in float32."""
    from dsrs.store import open_run

    try:
        with open_run(folder) as run:
            return run.sampled_plan_fields.get("grid") is None
    except DsrsError:
        return False  # the verdicts say what is wrong with it
