"""What commands print: JSON, text without control characters, tables, runs and their inputs.

`output.schema.json` beside this file says what every field of `--json` means.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from fractions import Fraction
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TextIO, cast

from dsrs.certifying import ERASE_LINE
from dsrs.files import one_line, printable, to_json
from dsrs.measures import floor_text, percent

if TYPE_CHECKING:
    from dsrs.measures import MethodAccuracy
    from dsrs.proofs import AttackedInput
    from dsrs.store import Run, RunResult, VotesSpent

# ---- JSON


def print_json(shape: str, document: Any, indent: int | None = 2) -> None:
    """Print the answer of a command, in which infinity is the text `inf`.

    Args:
        shape: its entry in the schema, such as `gate` or `show-index`.
        document: what to print.
        indent: spaces of each level; None: all in one line.
    """
    # What a record's own `to_dict` gives may still hold infinity.
    plain = to_json(to_json(document))
    print(json.dumps(checked(shape, plain), indent=indent, allow_nan=False))


def checked(shape: str, document: Any) -> Any:
    """The document as it is: tests validate it here against the schema."""
    return document


def schema_of(shape: str) -> dict[str, Any]:
    """The JSON schema of what a command prints, whole in itself.

    Args:
        shape: an entry of `$defs` in the schema, such as `gate` or `show-index`.
    """
    schema = json.loads(files("dsrs.cli").joinpath("output.schema.json").read_text("utf-8"))
    certificate = files("dsrs.proofs").joinpath("certificate.schema.json").read_text("utf-8")
    schema["$defs"]["certificate"] = json.loads(certificate)
    return {**schema, "$ref": f"#/$defs/{shape}"}


# ---- Streams without control characters of names and messages of others


class PrintableStream:
    """A text stream that writes out control characters, but for those of the progress bar, and
    what its encoding does not have."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        own = ERASE_LINE if text.startswith(ERASE_LINE) else ""
        shown, encoding = printable(text.removeprefix(own)), self._stream.encoding or "utf-8"
        return self._stream.write(own + shown.encode(encoding, "backslashreplace").decode(encoding))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def printable_output() -> Iterator[None]:
    """Inside, everything that is printed is printable."""
    out, err = (cast(TextIO, PrintableStream(stream)) for stream in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(err):
        yield


@contextmanager
def notes_on_stderr(quiet: bool) -> Iterator[None]:
    """Inside, what the package notes on the way (that it compiles, say) is shown, a line each."""
    log, handler = logging.getLogger("dsrs"), logging.StreamHandler(sys.stderr)
    before = log.level
    log.setLevel(logging.WARNING if quiet else logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


# ---- Tables of plain text with aligned columns


def table(rows: Sequence[Sequence[object]], headers: Sequence[str]) -> str:
    """Aligned columns: text to the left, numbers (and what looks like them) to the right."""
    cells = [[one_line(str(cell)) for cell in row] for row in rows]
    columns = range(len(headers))
    widths = [max([len(headers[c]), *(len(row[c]) for row in cells)]) for c in columns]
    numeric = [all(_looks_numeric(row[c]) for row in cells) for c in columns]

    def line(row: Sequence[str]) -> str:
        parts = [
            row[c].rjust(widths[c]) if numeric[c] else row[c].ljust(widths[c]) for c in columns
        ]
        return "  ".join(parts).rstrip()

    return "\n".join([line(headers), "  ".join("-" * width for width in widths), *map(line, cells)])


def _looks_numeric(text: str) -> bool:
    return not text or text[0] in "+-.0123456789" or text in ("inf", "nan", "-")


# ---- Certified accuracy as a table in the terminal, rounded down


def accuracy_table(accuracies: Sequence[MethodAccuracy], labelled: bool) -> str:
    """One line a method: the share of inputs certified at each radius, in percent."""
    from dsrs.laws import short_law_text

    if not accuracies:
        return "no inputs are finished yet"
    first = accuracies[0]
    short = any(accuracy.short for accuracy in accuracies)
    headers = [
        "method",
        *(f"r={radius:g}" for radius in first.radii),
        "mean r",
        "abstained",
        "undecided",
        *(["short"] if short else []),
    ]
    rows = [
        [
            short_law_text(accuracy.method),
            *(percent(Fraction(count, accuracy.total)) for count in accuracy.correct),
            floor_text(accuracy.average_radius, 4),
            f"{accuracy.abstained}/{accuracy.total}",
            f"{accuracy.undecided}/{accuracy.total}",
            *([f"{accuracy.short}/{accuracy.total}"] if short else []),
        ]
        for accuracy in accuracies
    ]
    what = "certified accuracy (%)" if labelled else "inputs with a certificate (%), no labels,"
    return f"{what} at l2 radius r, {first.total} inputs\n{table(rows, headers)}"


def measured(
    opened: Run, radii: Sequence[float] | None
) -> tuple[list[RunResult], list[MethodAccuracy], VotesSpent]:
    """The results of a run, its certified accuracy at these radii, and the votes it took."""
    from dsrs.measures import certified_accuracy
    from dsrs.store import votes_spent

    results = list(opened.results())
    accuracies = certified_accuracy(results, radii or opened.plan.goal.asked)
    return results, accuracies, votes_spent(results, opened.sampled_plan)


def print_measured(
    opened: Run,
    results: Sequence[RunResult],
    accuracies: Sequence[MethodAccuracy],
    spent: VotesSpent,
) -> None:
    """Print the table, the votes, and why hardly anything is certified, where that is so."""
    from dsrs.measures import diagnose

    plan = opened.plan
    print(accuracy_table(accuracies, opened.config["data"]["labels"]))
    print("votes: " + spent.text())
    for sentence in diagnose(results, plan):
        print(f"why so little: {sentence}")


# ---- One input of a run for people: classes, votes, certificates and its attack

MOST_CLASSES = 3  # with the most votes of a stream


def input_text(result: RunResult, names: Sequence[str], attacked: AttackedInput | None) -> str:
    """What is known of one input.

    Args:
        result: its votes and certificates.
        names: of the classes, as far as they have any.
        attacked: what the attack on it came to, if there was one.
    """
    known = {
        "label": result.label,
        "prediction": result.predicted,
        "certified class": result.target,
    }
    lines = [f"input {result.index}"]
    lines += [
        f"  {text}: {_class(value, names)}" for text, value in known.items() if value is not None
    ]
    lines += ["", _votes(result, names), "", _certificates(result)]
    if attacked is not None:
        lines += ["", _attack(attacked, names)]
    return "\n".join(lines)


def _class(label: int, names: Sequence[str]) -> str:
    return f"{label} {one_line(names[label])}" if label < len(names) else str(label)


def _votes(result: RunResult, names: Sequence[str]) -> str:
    """The classes with the most votes, of each purpose and law."""
    rows = []
    for votes in result.votes:
        counts = votes.counts
        most = sorted(range(len(counts)), key=lambda label: -counts[label])[:MOST_CLASSES]
        shares = [
            f"class {_class(label, names)}: {counts[label]:,}" for label in most if counts[label]
        ]
        law = votes.stream.additional
        noise = "P" if law is None else law.short_text
        rows.append([votes.stream.purpose, noise, f"{votes.total:,}", ", ".join(shares)])
    return table(rows, ["purpose", "noise", "votes", "of these"])


def _certificates(result: RunResult) -> str:
    from dsrs.laws import short_law_text
    from dsrs.measures import ceil_text, floor_text

    rows = []
    for name, found in result.certificates.items():
        known = found.known_of_p
        bounds = f"{floor_text(known.lower, 4)} to {ceil_text(known.upper, 4)}" if known else ""
        alpha = "" if found.subject is None else f"{found.subject.alpha:g}"
        radius = floor_text(found.radius, 6)
        rows.append([short_law_text(name), found.status, radius, bounds, alpha])
    return table(rows, ["method", "status", "l2 radius", "P_A", "alpha"])


def _attack(attacked: AttackedInput, names: Sequence[str]) -> str:
    from dsrs.measures import ceil_text

    found = attacked.counterexample
    if found is None or attacked.attacked is None:
        return "attack: no counterexample was proved"
    rival = "" if found.rival is None else f", rival class {_class(found.rival, names)}"
    return f"attack: {found.shown} at distance {ceil_text(attacked.attacked, 6)}{rival}"
