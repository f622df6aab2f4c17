"""--q LAW, and what was seen under it: the options of `radius`."""

from __future__ import annotations

from dsrs.cli.options import Options
from dsrs.errors import InvalidInput


def add_second_law(group: Options, *, numbers: str, count: int) -> None:
    """--q LAW with --q-votes or with `count` numbers after the option `numbers`."""
    group.add_argument(
        "--q",
        action="append",
        dest="q_law",
        default=[],
        metavar="LAW",
        help="additional law (see below); give it again for several",
    )
    group.add_argument(
        numbers,
        nargs=count,
        type=float,
        action="append",
        dest="q_numbers",
        default=[],
        metavar=("LOW", "HIGH")[:count],
        help="interval of Q_A under --q" if count == 2 else "lower bound of Q_A under --q",
    )
    group.add_argument(
        "--q-votes",
        action="append",
        default=[],
        metavar="RIGHT/ALL",
        help="votes under --q, e.g. 49800/50000",
    )


def votes_of(text: str) -> tuple[int, int]:
    """48750/50000 as two numbers."""
    right, slash, trials = (part.strip() for part in text.partition("/"))
    if not (slash and right.isdecimal() and trials.isdecimal()):
        raise InvalidInput(f"votes are written RIGHT/ALL, such as 48750/50000, got {text!r}")
    return int(right), int(trials)
