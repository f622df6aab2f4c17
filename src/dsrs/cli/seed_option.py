"""--seed: the key of the noise, given or drawn."""

from __future__ import annotations

from typing import Any

from dsrs.cli.options import Options
from dsrs.cli.values import whole_number
from dsrs.errors import InvalidInput

RANDOM = "random"


def add_seed(group: Options, *, default: int | str, help: str) -> None:
    """--seed of the votes; `help` says what the default means."""
    group.add_argument("--seed", type=seed_text, default=default, metavar="SEED", help=help)


def seed_text(text: str) -> int | str:
    """A whole number, or `random`."""
    try:
        return RANDOM if text == RANDOM else whole_number(text)
    except InvalidInput:
        raise InvalidInput(f"expected a whole number or {RANDOM}, got {text!r}") from None


def seed_of_run(seed: int | str, output: str) -> dict[str, Any]:
    """The fields of the plan of a run in the folder `output`.

    A random seed is drawn once: a run that exists is continued with the one that it has.
    """
    from dsrs.noise.seeds import fresh_seed
    from dsrs.store.reader import drawn_seed

    if seed != RANDOM:
        return {"seed": seed}
    drawn = drawn_seed(output)
    return {"seed": fresh_seed() if drawn is None else drawn, "seed_public": False}
