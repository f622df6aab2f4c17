"""Puts tests/ on the import path, so that a test can write `from oracle.textbook import ...`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
