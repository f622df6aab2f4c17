"""What a training recipe is: a record of its settings, and the loss of one batch.

A recipe is one file: a frozen dataclass derived from `Recipe` whose fields are made by `setting`,
with the settings that its authors recommend, and its loss. The command line, the card of a model
and the checkpoint read everything from the record, so a new recipe needs its file and a line in
the registry (`dsrs.training.recipes`). PyTorch is imported inside functions: the help of
`dsrs train` reads the records without it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from dsrs.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

Value = TypeVar("Value")


def setting(
    default: Value, help: str, *, kind: type[float] = float, least: float | None = 0.0
) -> Value:
    """A field of a recipe that `dsrs train` offers as an option.

    Args:
        default: The value where the recipe recommends no other one for the data.
        help: What the option does, for `dsrs train --help`.
        kind: int or float.
        least: The smallest value that is allowed; None for no limit.
    """
    return field(default=default, metadata={"help": help, "kind": kind, "least": least})


@dataclass(frozen=True)
class Batch:
    """What a recipe is given for one step of the optimiser.

    Attributes:
        images: n images in [0, 1].
        labels: Their n classes.
        noise: Gives fresh noise of the shape of a batch.
        ramp: Rises from 0 to 1 over the first epochs; scales what a recipe adds to the cross
            entropy or how far it attacks, where its authors do so.
    """

    images: Tensor
    labels: Tensor
    noise: Callable[[Tensor], Tensor]
    ramp: float = 1.0


@dataclass(frozen=True)
class Recipe(ABC):
    """How to train a base classifier for smoothing.

    Class attributes: `name` chooses the recipe on the command line, `summary` says what it does in
    a line, `source` where it comes from.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str]

    noises: int = setting(1, "noise vectors per image (m)", kind=int, least=1)

    def __post_init__(self) -> None:
        for entry in fields(self):
            value, least = getattr(self, entry.name), entry.metadata["least"]
            if value is None and entry.default is None:
                continue
            if not math.isfinite(value) or (least is not None and value < least):
                wanted = "finite" if least is None else f"at least {least:g}"
                raise InvalidInput(f"`{entry.name}` must be {wanted}, got {value}")

    @abstractmethod
    def objective(self, model: Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """The loss of a batch, and the logits (m, n, classes) that the training answers are in."""

    @classmethod
    def recommended(cls, data: str, sigma: float) -> Recipe:
        """The settings that the recipe's authors recommend for `data` and noise of size `sigma`."""
        return cls()

    @classmethod
    def schedule(cls, data: str) -> dict[str, Any]:
        """Fields of `TrainingSettings` in which the recipe departs from those of the data."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `recipe_from_dict` gives the same recipe back."""
        return {"name": self.name, **asdict(self)}
