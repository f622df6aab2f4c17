"""--shard: one part of the inputs, for arrays of jobs that know nothing of each other."""

from __future__ import annotations

import re
from typing import NamedTuple

from dsrs.cli.options import Options
from dsrs.errors import InvalidInput

SHARD = re.compile(r"(\d+)/(\d+)")


class Shard(NamedTuple):
    """Part `number` (from 1) of `parts`."""

    number: int
    parts: int

    def of(self, indices: list[int]) -> list[int]:
        """Every `parts`-th input, so that all parts have about as many, and as hard ones."""
        return indices[self.number - 1 :: self.parts]


def add_shard(group: Options) -> None:
    """--shard of the inputs."""
    group.add_argument(
        "--shard",
        type=shard,
        default=Shard(1, 1),
        metavar="I/N",
        kept=False,
        help="only the I-th of N parts of the inputs, as 3/16; join the parts with `dsrs merge`",
    )


def shard(text: str) -> Shard:
    """3/16 as a part."""
    match = SHARD.fullmatch(text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise InvalidInput(f"expected I/N with I from 1 to N, such as 3/16, got {text!r}")
    return Shard(int(match[1]), int(match[2]))
