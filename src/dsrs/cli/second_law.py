"""--q LAW, and what was seen under it: the options of `radius` and `montecarlo`.

Before --q was a law everywhere, it held the numbers and --q-law the law; both still work.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from dsrs.errors import InvalidInput


def add_second_law(group: argparse._ActionsContainer, *, numbers: str, count: int) -> None:
    """--q LAW with --q-votes or with `count` numbers after the option `numbers`."""
    group.add_argument(
        "--q",
        nargs="+",
        action=_LawOrNumbers,
        count=count,
        numbers=numbers,
        dest="q_law",
        default=[],
        metavar="LAW",
        help="additional law (see below); give it again for several",
    )
    group.add_argument("--q-law", action="append", dest="q_law", help=argparse.SUPPRESS)
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


class _LawOrNumbers(argparse.Action):
    def __init__(self, *places: Any, count: int, numbers: str, **options: Any) -> None:
        super().__init__(*places, **options)
        self._count = count
        self._numbers = numbers

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        words = [str(word) for word in values or ()]
        found = [_number(word) for word in words]
        if len(words) == self._count and None not in found:
            namespace.q_numbers = [*namespace.q_numbers, found]
        elif len(words) == 1:
            namespace.q_law = [*namespace.q_law, words[0]]
        else:
            raise argparse.ArgumentError(
                self,
                f"expected one law, such as truncated:0.8, got {' '.join(words)!r}; "
                f"what was seen under it goes with {self._numbers} or --q-votes",
            )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
