"""Runs the Python examples of one page in this process: `python run_examples.py PAGE`.

A process of its own knows nothing that other tests have imported, as that of a reader.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

VALUE = re.compile(r" (\d|'|\(|\[|True|False|array\(|dtype\()")  # other comments are words


def blocks(page: Path, language: str) -> list[str]:
    """The blocks of this language in a page of Markdown."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.M | re.S)


def run_example(source: str, names: dict[str, Any], page: str) -> None:
    """Execute an example; an expression with a comment behind it must have that value."""
    lines = source.splitlines()
    for statement in ast.parse(source).body:
        assert statement.end_lineno is not None
        comment = lines[statement.end_lineno - 1][statement.end_col_offset :].partition("#")[2]
        if isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), page, "eval"), names)
            if VALUE.match(comment):
                assert repr(value) == comment.strip(), f"{page}: {ast.unparse(statement)}"
        else:
            exec(compile(ast.Module([statement], []), page, "exec"), names)


if __name__ == "__main__":
    shared: dict[str, Any] = {"__name__": "example"}
    for example in blocks(Path(sys.argv[1]), "python"):
        run_example(example, shared, sys.argv[1])
