"""Everything that decides how a denoiser is trained, in one record that can be saved."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dsrs.errors import InvalidInput


@dataclass(frozen=True)
class DenoiserSettings:
    """Sizes of the noise, network and optimisation.

    Attributes:
        smallest: Least sigma of the noise, in the units of the data.
        largest: Greatest sigma; each image of a batch has a size of its own in between.
        epochs: Passes over the data.
        square_share: Share of the epochs that begin, by the mean square error. The others ask for
            stability where gradients of the model can be had.
        learning_rate: The peak of `one_cycle`, for Adam.
        most_gradient: Norm to which longer gradients are cut.
        batch_size: Images of one step.
        channels: Channels of the network where it has fewest, see `ResidualDenoiser`.
        seed: Of weights, order and noise.
    """

    smallest: float
    largest: float
    epochs: int = 16
    square_share: float = 0.125
    learning_rate: float = 2e-3
    most_gradient: float = 1.0
    batch_size: int = 128
    channels: int = 24
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.smallest <= self.largest:
            raise InvalidInput(
                "the sizes of the noise must be 0 < `smallest` <= `largest`, got "
                f"{self.smallest} and {self.largest}"
            )
        if not 0 <= self.square_share <= 1:
            raise InvalidInput(f"`square_share` must be in [0, 1], got {self.square_share}")
        for name in ("epochs", "batch_size", "channels"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"`{name}` must be at least 1, got {getattr(self, name)}")
        for name in ("learning_rate", "most_gradient"):
            if not getattr(self, name) > 0:
                raise InvalidInput(f"`{name}` must be positive, got {getattr(self, name)}")

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `from_dict` gives the same settings back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> DenoiserSettings:
        """The settings that `to_dict` wrote."""
        return cls(**fields)
