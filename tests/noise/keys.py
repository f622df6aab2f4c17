"""The keys of the noise kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dsrs.noise.stream import _entropy, _key


def stream_key(seed: int, index: int, stream: str) -> NDArray[np.uint32]:
    """The 128-bit key of the normals of one stream of one input."""
    return _key(_entropy(seed, index, stream))
