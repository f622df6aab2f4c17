"""The house's one direction: who may import whom."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import dsrs

ROOT = Path(dsrs.__file__).parent
# What a room may import of the package, besides itself, `errors`, `_lazy` and the version.
ALLOWED = {
    "errors": set(),
    "_lazy": set(),
    "laws": set(),
    "files": set(),
    "kernels": set(),
    "confidence": {"kernels"},
    "noise": {"kernels", "laws"},
    "networks": set(),
    "classifiers": {"files", "kernels", "laws", "networks", "noise"},
    "datasets": {"classifiers", "files"},
    "duality": {"kernels", "laws"},
    "proofs": {"duality", "files", "kernels", "laws"},
    "votes": {"classifiers", "files", "kernels", "laws", "networks", "noise"},
    "landscape": {"confidence", "laws", "proofs"},
    "methods": {"confidence", "landscape", "laws", "noise", "proofs", "votes"},
    "tuning": {"confidence", "landscape", "laws", "methods"},
    "store": {
        *("classifiers", "datasets", "files", "landscape", "laws", "methods", "proofs", "votes"),
    },
    "measures": {"confidence", "methods", "proofs", "store", "votes"},
    "exchange": {
        *(
            "evidence",
            "confidence",
            "files",
            "landscape",
            "laws",
            "measures",
            "methods",
            "proofs",
            "store",
        ),
        "votes",
    },
    "certifying": {
        *(
            "classifiers",
            "confidence",
            "datasets",
            "duality",
            "exchange",
            "landscape",
            "laws",
        ),
        *("measures", "methods", "noise", "proofs", "store", "votes"),
    },
    "__init__": {"attack", "evidence", "laws", "proofs", "reports", "smoothed"},
    "evidence": {
        *("conformal", "files", "laws", "methods", "noise", "proofs", "store", "votes"),
    },
    "attack": {
        *("certifying", "classifiers", "confidence", "datasets", "kernels", "laws", "measures"),
        *("methods", "noise", "proofs", "store", "votes"),
    },
    "conformal": {
        *("attack", "certifying", "classifiers", "confidence", "datasets", "files", "laws"),
        *("methods", "noise", "proofs", "store"),
    },
    "reports": {
        "conformal",
        *("confidence", "exchange", "files", "landscape", "laws", "measures", "methods"),
        *("proofs", "store", "tuning", "votes"),
    },
    "smoothed": {
        *(
            "certifying",
            "classifiers",
            "datasets",
            "exchange",
            "files",
            "kernels",
            "laws",
            "measures",
        ),
        *("methods", "noise", "proofs", "reports", "store", "votes"),
    },
    "training": {"classifiers", "datasets", "files", "laws", "networks"},
    "adapting": {
        *("certifying", "classifiers", "confidence", "datasets", "files", "laws", "methods"),
        *("store", "training", "tuning"),
    },
}
# Frameworks are imported by these rooms alone.
ADAPTERS = {
    *("classifiers", "datasets", "evidence", "exchange", "networks", "noise", "reports", "store"),
    *("smoothed", "training"),
}
MOST_LINES_OF_A_FILE, MOST_LINES_OF_A_FUNCTION, MOST_PARAMETERS = 500, 60, 9


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
        extra = imports_of(file) - ALLOWED[room] - {room, "errors", "_lazy", "__version__"}
        assert not extra, f"{file.relative_to(ROOT)} imports {extra}"


def modules_of(file: Path) -> set[Path]:
    """The files of the package that a file imports, those for type checkers included."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            path = ROOT.parent.joinpath(*name.split(".")).with_suffix(".py")
            if name.startswith("dsrs.") and path.exists():
                found.add(path)
    return found


def test_files_do_not_import_each_other_in_a_circle() -> None:
    left = {file: modules_of(file) for file in ROOT.rglob("*.py") if file.name != "__init__.py"}
    # Files that import nothing of what is left can be read first; so can those after them.
    while ready := [file for file, wanted in left.items() if not wanted & left.keys() - {file}]:
        for file in ready:
            del left[file]
    assert not left, sorted(str(file.relative_to(ROOT)) for file in left)


def test_every_room_is_constrained() -> None:
    rooms = {file.relative_to(ROOT).parts[0].removesuffix(".py") for file in ROOT.rglob("*.py")}
    assert rooms == {*ALLOWED, "cli", "__main__"}


def test_nobody_imports_the_command_line() -> None:
    for file in ROOT.rglob("*.py"):
        if "cli" not in file.relative_to(ROOT).parts and file.name != "__main__.py":
            assert "cli" not in imports_of(file), file


def test_the_core_needs_no_heavy_framework() -> None:
    heavy = {"torch", "onnxruntime", "onnx", "sklearn", "matplotlib", "PIL", "pyarrow", "pandas"}
    for room in ALLOWED.keys() - ADAPTERS:
        for file in files_of(room):
            for node in ast.walk(ast.parse(file.read_text())):
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.module:
                    names = [node.module]
                assert not {name.split(".")[0] for name in names} & heavy, file


def is_too_large(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it has too many lines, or parameters besides `self` and the rest in `**options`.

    A kernel for a GPU takes its arrays and the constants of its tile one by one.
    """
    of = function.args
    names = [parameter.arg for parameter in of.posonlyargs + of.args + of.kwonlyargs]
    parameters = [name for name in names if name not in ("self", "cls")]
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    kernel = any(ast.unparse(decorator) == "triton.jit" for decorator in function.decorator_list)
    most = 2 * MOST_PARAMETERS if kernel else MOST_PARAMETERS
    return lines > MOST_LINES_OF_A_FUNCTION or len(parameters) > most


def test_functions_are_small_enough_to_read() -> None:
    too_large = {
        f"{file.relative_to(ROOT).as_posix()} {node.name}"
        for file in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_too_large(node)
    }
    assert not too_large


def test_files_are_small_enough_to_read() -> None:
    for file in ROOT.rglob("*.py"):
        assert len(file.read_text().splitlines()) <= MOST_LINES_OF_A_FILE, file
