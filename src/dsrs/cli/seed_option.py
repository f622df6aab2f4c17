"""--seed: the key of the noise, given or drawn."""

from __future__ import annotations

from typing import Any

from dsrs.cli.options import Options
from dsrs.cli.values import whole_number
from dsrs.errors import InvalidInput


def add_seed(group: Options, *, default: int | None, help: str) -> None:
    """--seed of the votes, None for one that is drawn; `help` says what the default means."""
    group.add_argument("--seed", type=seed_text, default=default, metavar="SEED", help=help)


def seed_text(text: str) -> int | None:
    """A whole number, or None for `random`."""
    try:
        return None if text == "random" else whole_number(text)
    except InvalidInput:
        raise InvalidInput(f"expected a whole number or random, got {text!r}") from None


def seed_of_run(seed: int | None, output: str) -> dict[str, Any]:
    """The fields of the plan of a run in the folder `output`.

    A random seed is drawn once: a run that exists is continued with the one that it has.
    """
    from dsrs.noise import fresh_seed
    from dsrs.store import drawn_seed

    if seed is not None:
        return {"seed": seed}
    drawn = drawn_seed(output)
    return {"seed": fresh_seed() if drawn is None else drawn, "seed_public": False}


def noise_text(seed: int | None) -> str:
    """Who knows the noise of the answers that were given."""
    if seed is None:
        return "noise: fresh for each answer"
    return f"noise: public seed {seed}, for experiments"
