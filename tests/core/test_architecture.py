"""The house's one direction: who may import whom."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import dsrs

ROOT = Path(dsrs.__file__).parent
# What a room may import of the package, besides itself, `errors` and the version.
ALLOWED = {
    "errors": set(),
    "laws": set(),
    "kernel_cache": set(),
    "confidence": {"kernel_cache"},
    "files": set(),
    "rounding": set(),
    "grid": {"laws"},
    "normals": set(),
    "records": {"laws"},
    "accuracy": {"records"},
    "duality": {"kernel_cache", "laws"},
    "constraints": {"duality", "laws", "records"},
    "certification": {"constraints", "duality", "laws", "records"},
    "leading": {"certification", "constraints", "laws", "records"},
    "first_order": {"certification", "laws", "records"},
    "proofs": {
        *("certification", "constraints", "duality", "first_order", "laws", "leading", "records"),
    },
    "table": {"certification", "duality", "grid", "laws", "records"},
    "compiling": {"certification", "constraints", "duality", "laws", "proofs", "records"},
    "landscape": {"certification", "confidence", "laws", "records"},
    "classifiers": {"normals"},
    "datasets": {"files"},
    "votes": {"laws", "records"},
    "counterexamples": {"records"},
    "sampling": {"classifiers", "grid", "kernel_cache", "laws", "normals", "records"},
    "strategies": {
        *(
            "certification",
            "confidence",
            "first_order",
            "grid",
            "landscape",
            "laws",
            "leading",
            "records",
            "votes",
        ),
    },
    "executors": {"classifiers", "sampling"},
    "voting": {"classifiers", "sampling", "strategies", "votes"},
    "smoothed": {
        *("classifiers", "grid", "laws", "records", "sampling", "strategies", "votes", "voting"),
    },
    "__init__": {"attack", "certification", "laws", "proofs", "records", "smoothed", "table"},
    "audit": set(),  # it must share no numerical code with what it audits
    "other_norms": {"confidence", "laws", "records", "strategies"},
    "runs": {
        *("accuracy", "classifiers", "counterexamples", "datasets", "duality", "executors"),
        *("files", "landscape", "laws", "records", "sampling", "strategies", "table", "votes"),
        "voting",
    },
    "attack": {
        *("accuracy", "classifiers", "confidence", "counterexamples", "datasets", "laws"),
        *("records", "runs", "sampling", "strategies", "voting"),
    },
    "reports": {
        *(
            "accuracy",
            "confidence",
            "counterexamples",
            "files",
            "landscape",
            "laws",
            "records",
            "rounding",
            "runs",
        ),
        "votes",
    },
    "training": {"classifiers", "datasets", "files", "laws"},
    "paper": {
        *("certification", "confidence", "duality", "files", "laws", "leading", "records"),
        *("reports", "rounding", "runs", "strategies", "training"),
    },
}
# Frameworks are imported by these rooms alone.
ADAPTERS = {"classifiers", "datasets", "reports", "runs", "training", "paper"}


def imports_of(file: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(file.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "dsrs":
            names = [f"dsrs.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        rooms |= {name.split(".")[1] for name in names if name.startswith("dsrs.")}
    return rooms


def files_of(room: str) -> list[Path]:
    single = ROOT / f"{room}.py"
    return [single] if single.exists() else sorted((ROOT / room).rglob("*.py"))


@pytest.mark.parametrize("room", ALLOWED)
def test_a_room_imports_only_what_comes_before_it(room: str) -> None:
    for file in files_of(room):
        extra = imports_of(file) - ALLOWED[room] - {room, "errors", "__version__"}
        assert not extra, f"{file.relative_to(ROOT)} imports {extra}"


def test_every_room_is_constrained() -> None:
    rooms = {file.relative_to(ROOT).parts[0].removesuffix(".py") for file in ROOT.rglob("*.py")}
    assert rooms == {*ALLOWED, "cli", "__main__"}


def test_nobody_imports_the_command_line() -> None:
    for file in ROOT.rglob("*.py"):
        if "cli" not in file.relative_to(ROOT).parts and file.name != "__main__.py":
            assert "cli" not in imports_of(file), file


def test_the_core_needs_no_heavy_framework() -> None:
    heavy = {"torch", "onnxruntime", "onnx", "sklearn", "matplotlib", "PIL", "pyarrow"}
    for room in ALLOWED.keys() - ADAPTERS:
        for file in files_of(room):
            for node in ast.walk(ast.parse(file.read_text())):
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.module:
                    names = [node.module]
                assert not {name.split(".")[0] for name in names} & heavy, file


def test_files_are_small_enough_to_read() -> None:
    for file in ROOT.rglob("*.py"):
        assert len(file.read_text().splitlines()) <= 400, file
