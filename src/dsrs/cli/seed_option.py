"""--seed: the key of the noise, given or drawn."""

from __future__ import annotations

from pathlib import Path
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
    from dsrs.store import open_run
    from dsrs.store.schema import STORE_NAME

    if seed != RANDOM:
        return {"seed": seed}
    if (Path(output) / STORE_NAME).is_file():
        with open_run(output) as run:
            if not run.plan.seed_public:
                return {"seed": run.plan.seed, "seed_public": False}
    return {"seed": fresh_seed(), "seed_public": False}
