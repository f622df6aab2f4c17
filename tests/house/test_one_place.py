"""A kind of certificate is known in few files: its own, those of its room's registry, the check."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dsrs

ROOT = Path(dsrs.__file__).parent
MOST_FILES = 8


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [("first-order", r"first[-_]order|FirstOrder"), ("leading class", r"leading")],
)
def test_a_kind_of_certificate_is_known_in_few_files(kind: str, pattern: str) -> None:
    files = [path for path in ROOT.rglob("*.py") if re.search(pattern, path.read_text())]
    knowing = sorted(str(path.relative_to(ROOT)) for path in files)
    assert 0 < len(knowing) <= MOST_FILES, f"{kind}: {knowing}"
