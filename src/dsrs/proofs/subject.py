"""What a certificate is about: which class of which model at which input, from which votes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from dsrs.errors import InvalidInput

SALTED = "salted:"  # how the fingerprint of a row of a table begins
LARGEST_SEED = 2**128 - 1


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom a certificate speaks of.

    Args:
        target: the certified class.
        alpha: the probability, at most, that the votes made a false certificate.
        method: the method, as the plan writes it.
        n: the budget of votes of the method.
        seed: with `index` it keys the noise of the votes, which can so be taken again.
        seed_public: whether the seed was known before the input was; then a stranger who chooses
            the input knows its noise.
        index: the number of the input in its dataset or, outside of one, in its noise.
        model: fingerprint of the model; None where it is not known.
        input: `input_fingerprint` of the input; None where it is not known.
        class_name: the name of the class, where it has one.
    """

    target: int = field(metadata={"json": "class"})
    alpha: float
    method: str
    n: int
    seed: int
    seed_public: bool
    index: int
    model: str | None = None
    input: str | None = None
    class_name: str | None = None

    def __post_init__(self) -> None:
        if self.target < 0 or self.index < 0:
            raise InvalidInput(
                f"a class and an index must not be negative, got {self.target} and {self.index}"
            )
        if not 0 < self.alpha < 1:
            raise InvalidInput(f"`alpha` must be in (0, 1), got {self.alpha!r}")
        if self.n < 1:
            raise InvalidInput(f"`n` must be at least 1, got {self.n}")
        if not 0 <= self.seed <= LARGEST_SEED:
            raise InvalidInput(f"`seed` must be from 0 to 2^128 - 1, got {self.seed}")


def input_fingerprint(x: ArrayLike, salt: tuple[int, int] | None = None) -> str:
    """SHA-256 of the values of an input as float32, with their shape.

    Args:
        x: the input.
        salt: the seed and the index of a certificate. A row of a table has few possible values, and
            its plain hash would tell in which other files the same row stands.
    """
    values = np.ascontiguousarray(x, dtype="<f4")
    head = f"dsrs input float32 {'x'.join(map(str, values.shape))}\n"
    if salt is not None:
        head += f"seed {salt[0]} index {salt[1]}\n"
    digest = hashlib.sha256(head.encode() + values.tobytes()).hexdigest()
    return digest if salt is None else SALTED + digest
