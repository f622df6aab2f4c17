"""Fill the cache of compiled kernels: `python -m dsrs.proofs.compiling`, a process of its own."""

from __future__ import annotations

import os
import sys

from dsrs.duality import kernel


def main() -> int:
    """Compile every entry for the types it is called with, by calling it, and mark the cache."""
    folder = kernel.cache_folder()
    if folder is None:
        return 1
    os.environ[kernel.SWITCH] = "compiled"
    from dsrs.duality.variation import total_variation
    from dsrs.laws import GeneralizedGaussian, Rescaled
    from dsrs.proofs.certification import certify
    from dsrs.proofs.checking import check
    from dsrs.proofs.constraints import constraints_of, problem_of
    from dsrs.proofs.interval import Interval, Observation

    law = GeneralizedGaussian(784, 1.0, 380)
    seen = Observation(Rescaled(law, 0.8), Interval(0.985, 0.988))
    check(certify(law, Interval(0.95, 0.96), seen))
    total_variation(problem_of(law, constraints_of(law, Interval(0.9, 1), ())), 0.1)
    (folder / kernel.COMPLETE).touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
