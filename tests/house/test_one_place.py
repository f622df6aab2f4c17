"""One thing, one place: few files know a kind of certificate, and no code stands twice."""

from __future__ import annotations

import ast
from pathlib import Path

import dsrs

ROOT = Path(dsrs.__file__).parent
MOST_FILES = 8
MOST_SHARED_LINES = 12


def test_certificates_of_the_leading_class_are_known_in_few_files() -> None:
    files = [path for path in ROOT.rglob("*.py") if "leading" in path.read_text()]
    knowing = sorted(str(path.relative_to(ROOT)) for path in files)
    assert 0 < len(knowing) <= MOST_FILES, knowing


def lines_of_code(path: Path) -> list[str]:
    """The lines of a file without imports, blank lines and indents."""
    text = path.read_text(encoding="utf-8")
    imports = {
        number
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    numbered = enumerate(text.splitlines(), 1)
    return [line.strip() for number, line in numbered if line.strip() and number not in imports]


def test_no_block_of_code_stands_twice() -> None:
    places: dict[tuple[str, ...], list[str]] = {}
    for path in sorted(ROOT.rglob("*.py")):
        lines = lines_of_code(path)
        for first in range(len(lines) - MOST_SHARED_LINES):
            block = tuple(lines[first : first + MOST_SHARED_LINES + 1])
            places.setdefault(block, []).append(f"{path.relative_to(ROOT)}: {block[0]}")
    assert [where for where in places.values() if len(where) > 1] == []
