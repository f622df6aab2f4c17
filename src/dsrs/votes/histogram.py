"""The place of each vote in a histogram, by class and noise norm, in one call for a whole batch.

Between two forward passes the interpreter finds its own code pushed out of the caches: there a call
of NumPy on a few hundred values takes ten times as long as it does in a loop of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dsrs.kernels import jitted, kernel_folder


def _add_votes(classes: Any, norms: Any, edges: Any, votes: Any) -> bool:
    """votes[c, b] += 1 for class c and the bin b of each norm; False if a class is none of them.

    Bin b holds the norms up to `edges[b]`, the last one all above.
    """
    for i in range(classes.size):
        if not 0 <= classes[i] < votes.shape[0]:
            return False
        first, last = 0, edges.size
        while first < last:
            middle = (first + last) // 2
            if edges[middle] < norms[i]:
                first = middle + 1
            else:
                last = middle
        votes[classes[i], first] += 1
    return True


add_votes = jitted(_add_votes, kernel_folder(Path(__file__)))
