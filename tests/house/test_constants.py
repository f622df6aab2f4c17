"""One name, one constant: a reader who meets a constant twice meets the same value."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import dsrs

ROOT = Path(dsrs.__file__).parent
# What every file of a room defines under one name, for the room's registry or its parser.
PER_FILE = {
    "classifiers": {"ADAPTER"},
    "cli": {"DESCRIPTION", "EPILOG"},
}
EVERYWHERE = {"LOG"}  # the logger of a module, by Python's custom


def is_constant(name: str) -> bool:
    """Whether a name is in capitals; letters are type variables and symbols of formulas."""
    return name.isupper() and len(name) > 1 and not name.startswith("_")


def constants(path: Path) -> set[str]:
    """The names in capitals that a module assigns; those with an underscore are its own affair."""
    names: set[str] = set()
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for node in (node for target in targets for node in ast.walk(target)):
                if isinstance(node, ast.Name) and is_constant(node.id):
                    names.add(node.id)
    return names


def holders() -> dict[str, list[str]]:
    """The modules that define each constant, without those whose name is a custom of their room."""
    found = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        module = ".".join(("dsrs", *parts)).removesuffix(".__init__")
        for name in constants(path) - EVERYWHERE - PER_FILE.get(parts[0], set()):
            found[name].append(module)
    return found


def test_a_constant_is_defined_once_in_the_package() -> None:
    assert {name: modules for name, modules in holders().items() if len(modules) > 1} == {}
