"""Packages are used from outside by what they export, so that their files can change."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import dsrs

REPOSITORY = Path(__file__).parents[2]
SOURCE = Path(dsrs.__file__).parent
FOLDERS = ("tests", "reproduction", "benchmarks", "examples", "scripts")
LAZY = ["dsrs"] + [
    f"dsrs.{path.parent.name}"
    for path in sorted(SOURCE.glob("*/__init__.py"))
    if "dsrs._lazy" in path.read_text(encoding="utf-8")
]
# `errors` is one file, `cli.main` is the program that people start, and the check is replaced.
OF_ALL = ("dsrs.errors", "dsrs._lazy", "dsrs.cli.main")
MOST_MODULES_IN_TESTS = 80


class Import(NamedTuple):
    """A name that a file imports from a module of dsrs; the name is empty for `import MODULE`."""

    file: Path
    module: str
    name: str

    @property
    def full(self) -> str:
        """The module: that of the statement, or the one that the name stands for."""
        inner = f"{self.module}.{self.name}"
        return inner if self.name and is_module(inner) else self.module

    @property
    def package(self) -> str:
        return f"{self.full}..".split(".")[1]

    def __str__(self) -> str:
        return f"{self.file.name}: from {self.module} import {self.name or '(itself)'}"


@cache
def is_module(name: str) -> bool:
    place = SOURCE.parent.joinpath(*name.split("."))
    return place.with_suffix(".py").exists() or (place / "__init__.py").exists()


@cache
def imports_of(folder: Path) -> tuple[Import, ...]:
    return tuple(
        found
        for file in sorted(folder.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        for found in imported(file, node)
        if found.module.partition(".")[0] == "dsrs"
    )


def imported(file: Path, node: ast.AST) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        yield from (Import(file, alias.name, "") for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield from (Import(file, node.module, alias.name) for alias in node.names)


def between_packages() -> Iterator[Import]:
    """What packages import from each other."""
    for found in imports_of(SOURCE):
        home = found.file.relative_to(SOURCE).parts[0]
        if home != found.package:
            yield found


def is_inner(found: Import) -> bool:
    """Whether it is of a file of a package, or of a name that the package does not export."""
    if found.full.startswith(OF_ALL):
        return False
    if not found.name or found.module == "dsrs":
        known = {"", "__version__", *dsrs.__all__}
        return found.full.count(".") > 1 or (found.full == "dsrs" and found.name not in known)
    return found.module.count(".") > 1 or found.name not in (
        importlib.import_module(found.module).__all__
    )


def test_packages_import_from_each_other_what_is_exported() -> None:
    inner = [str(found) for found in between_packages() if is_inner(found)]
    assert inner == []


@pytest.mark.parametrize("folder", ["reproduction", "benchmarks", "examples", "scripts"])
def test_programs_beside_the_package_import_what_is_exported(folder: str) -> None:
    inner = [str(found) for found in imports_of(REPOSITORY / folder) if is_inner(found)]
    # The benchmark of a kernel reads the kernel itself.
    known = {"noise_on_device.py: from dsrs.noise import fused"}
    assert {*inner} <= known


def test_nothing_private_is_imported_from_another_package() -> None:
    outside = [found for folder in FOLDERS for found in imports_of(REPOSITORY / folder)]
    private = [
        str(found)
        for found in [*outside, *between_packages()]
        if any(part.startswith("_") for part in f"{found.module}.{found.name}".split("."))
        and (found.module, found.name) != ("dsrs._lazy", "exports")
        and not found.name.startswith("__")
    ]
    assert private == []


def test_tests_import_few_modules() -> None:
    imports = imports_of(REPOSITORY / "tests")
    modules = {found.full for found in imports}
    assert len(modules) <= MOST_MODULES_IN_TESTS, sorted(modules)


def test_files_of_a_package_import_each_other_directly() -> None:
    """Through `__init__` they would import themselves in a circle."""
    circles = [
        str(found)
        for found in imports_of(SOURCE)
        if found.file != SOURCE / found.package / "__init__.py"
        and found.full == f"dsrs.{found.file.relative_to(SOURCE).parts[0]}"
    ]
    assert circles == []


def seen_by_type_checkers(package: str) -> dict[str, str]:
    """Name -> its module, in the block of imports beside the table of a lazy package."""
    tree = ast.parse(Path(str(importlib.import_module(package).__file__)).read_text("utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    froms = (node for node in block.body if isinstance(node, ast.ImportFrom))
    ours = [node for node in froms if str(node.module).startswith("dsrs")]
    return {alias.name: str(node.module) for node in ours for alias in node.names}


@pytest.mark.parametrize("package", LAZY)
def test_lazy_packages_export_what_type_checkers_see(package: str) -> None:
    module, seen = importlib.import_module(package), seen_by_type_checkers(package)
    exported = set(module.__all__)
    assert seen.keys() <= exported
    assert exported - seen.keys() <= vars(module).keys()
    for name, home in seen.items():
        assert getattr(module, name) is not None
        # A file of this name would take the place of what it defines.
        assert is_module(f"{package}.{name}") == (home == package)
