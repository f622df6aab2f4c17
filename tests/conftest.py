"""Puts tests/ on the import path, so that a test can write `from oracle.textbook import ...`.

Thousands of certificates: the tests run on compiled kernels, unless DSRS_KERNELS says otherwise.
Where several processes share the cores, each computes with one thread.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("DSRS_KERNELS", "compiled")
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
