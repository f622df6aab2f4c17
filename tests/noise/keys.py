"""The keys of the noise kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsrs.noise import philox_key, seed_words


def stream_key(seed: int, index: int, stream: str) -> NDArray[np.uint32]:
    """The 128-bit key of the normals of one stream of one input."""
    return philox_key(seed_words(seed, index, stream))
