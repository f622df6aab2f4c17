"""The check shares nothing with what it checks: it imports no other part of the package."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

pytest.importorskip("flint")

import dsrs.audit
from dsrs.audit.kinds import CHECKED_KINDS
from dsrs.audit.methods import CHECKED_METHODS

ROOM = Path(dsrs.audit.__file__).parent
FILES = sorted(ROOM.rglob("*.py"))


def imported(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOM)))
def test_a_file_of_the_check_imports_the_check_flint_and_python_alone(file: Path) -> None:
    for name in imported(file):
        first = name.partition(".")[0]
        assert name.startswith("dsrs.audit") or first == "flint" or first in sys.stdlib_module_names


def test_every_kind_and_every_method_has_a_file_of_its_own() -> None:
    kinds = {kind.__module__ for kind in CHECKED_KINDS.values()}
    assert len(kinds) == len(CHECKED_KINDS)
    methods = {name: check.__module__ for name, check in CHECKED_METHODS.items()}
    laws = {"truncated", "rescaled", "weighted"}
    assert len({methods[name] for name in laws}) == 1
    assert len(set(methods.values())) == len(methods) - len(laws) + 1


def test_functions_are_short() -> None:
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 60, f"{file}: {node.name}"
