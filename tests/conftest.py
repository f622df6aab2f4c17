"""Puts tests/ on the import path, so that a test can write `from oracle.textbook import ...`.

Thousands of certificates: the tests run on compiled kernels, unless DSRS_KERNELS says otherwise.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("DSRS_KERNELS", "compiled")
