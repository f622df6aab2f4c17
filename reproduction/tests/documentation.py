"""The documentation as one line a page, to look for what a computation says it should state."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def stated(page: str) -> str:
    """The text of this page of docs/ with its line breaks and runs of spaces made single spaces."""
    return re.sub(r"\s+", " ", (DOCS / f"{page}.md").read_text(encoding="utf-8"))


def row(*cells: object) -> str:
    """A line of a Markdown table."""
    return "| " + " | ".join(str(cell) for cell in cells) + " |"
