"""What people call lists its arguments, so that an API reference can be made from the code.

Docstrings are sentences, also those that only readers of the code see.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dsrs

PAGES = [
    path
    for folder in (Path(__file__).parents[2], Path(__file__).parents[2] / "docs")
    for path in sorted(folder.glob("*.md"))
]
IMPORTED = re.compile(r"^\s*(?:>>> )?from (dsrs\.[a-z_.]+) import ([A-Za-z_, ]+)$", re.MULTILINE)


def in_documents() -> Iterator[tuple[str, Any]]:
    """The names that examples of the documentation import from rooms of the package."""
    for page in PAGES:
        for module, names in IMPORTED.findall(page.read_text(encoding="utf-8")):
            for name in names.split(", "):
                yield name, getattr(importlib.import_module(module), name.strip())


def called() -> dict[str, Any]:
    """Public functions and classes by name, and methods of classes with two parameters."""
    public = {name: getattr(dsrs, name) for name in dsrs.__all__} | dict(in_documents())
    methods = {
        f"{owner}.{name}": method
        for owner, kind in public.items()
        if inspect.isclass(kind)
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and len(parameters(method)) > 1
    }
    return {name: item for name, item in (public | methods).items() if callable(item)}


def parameters(item: Any) -> list[str]:
    """The names of the parameters that a caller gives."""
    return [name for name in inspect.signature(item).parameters if name not in ("self", "cls")]


CALLED = called()


@pytest.mark.parametrize("name", CALLED)
def test_docstrings_list_all_parameters(name: str) -> None:
    text = inspect.getdoc(CALLED[name]) or ""
    section = re.search(r"^(Args|Attributes):$(.*)", text, re.MULTILINE | re.DOTALL)
    listed = re.findall(r"^    [*]*(\w+):", section[2], re.MULTILINE) if section else []
    errors = inspect.isclass(CALLED[name]) and issubclass(CALLED[name], Exception)
    assert errors or set(parameters(CALLED[name])) <= set(listed), f"{name} lists {listed}"


def test_examples_of_the_documentation_are_among_them() -> None:
    assert {"certify", "smooth", "from_callable", "open_run", "load_dataset"} <= CALLED.keys()


def test_docstrings_say_something() -> None:
    root = Path(dsrs.__file__).parent
    nodes = [
        (path, node)
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    ]
    short = {
        f"{path.relative_to(root)}: {text}"
        for path, node in nodes
        if (text := ast.get_docstring(node)) is not None and len(text.split()) < 3
    }
    without = {
        path for path, node in nodes if isinstance(node, ast.Module) and not ast.get_docstring(node)
    }
    assert not short
    assert not without
