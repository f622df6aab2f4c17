"""What counts votes on a device, as those see it who share out the work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsrs.noise import NoiseBlock


class Share(NamedTuple):
    """The rows `begin` up to `end` of a block: those of a batch that are counted."""

    block: NoiseBlock
    begin: int
    end: int


class VotesThere(ABC):
    """Adds up votes on a device; for one thread."""

    @abstractmethod
    def add(self, share: Share) -> list[Share]:
        """Count these rows; returns what there was no memory for, to be counted otherwise."""

    @abstractmethod
    def finish(self) -> list[Share]:
        """Count what is waiting; returns what there was no memory for."""

    @abstractmethod
    def taken(self) -> NDArray[np.int64]:
        """The votes since the last call, by class and radial bin: here all is waited for."""
