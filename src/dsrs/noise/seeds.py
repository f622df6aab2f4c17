"""Seeds: the key of all noise of an answer or a run."""

from __future__ import annotations

import secrets

from dsrs.errors import InvalidInput
from dsrs.laws import shown

# Seeds of more bits would share words with the number of an input.
SEED_BITS = 128


def fresh_seed() -> int:
    """A seed that the operating system draws now, and that nobody can have known before."""
    return secrets.randbits(SEED_BITS)


def check_seed(seed: object) -> None:
    """Raise InvalidInput unless `seed` is a whole number from 0 to 2^128 - 1."""
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**SEED_BITS:
        raise InvalidInput(f"`seed` must be a whole number from 0 to 2^128 - 1, got {shown(seed)}")
