"""Fill the cache of compiled kernels: `python -m dsrs.proofs.compiling`, a process of its own."""

from __future__ import annotations

import sys

from dsrs.duality import cache_folder, compile_here, mark_complete


def main() -> int:
    """Compile every entry for the types it is called with, by calling it, and mark the cache."""
    folder = cache_folder()
    if folder is None:
        return 1
    import numpy as np

    from dsrs.duality import dual_bound, loss_at_shorter_shifts, total_variation
    from dsrs.laws import GeneralizedGaussian, Rescaled
    from dsrs.proofs.base import Interval, Observation
    from dsrs.proofs.certification import certify
    from dsrs.proofs.evaluation import constraints_of, problem_of

    compile_here(folder)
    law = GeneralizedGaussian(784, 1.0, 380)
    box = Interval(0.95, 0.96), Observation(Rescaled(law, 0.8), Interval(0.985, 0.988))
    certify(law, *box)
    problem = problem_of(law, constraints_of(law, box[0], box[1:]))
    multipliers = np.array([0.5, 0.5])
    dual_bound(problem, multipliers, 0.1)
    loss_at_shorter_shifts(problem, multipliers)
    total_variation(problem, 0.1)
    mark_complete(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
