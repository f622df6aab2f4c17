"""TorchScript archives that cannot do anything but arithmetic on tensors.

TorchScript is a program. Some of it runs while it is read: `__setstate__`, the defaults of
parameters and the constants of classes. So the archive is checked twice. Before PyTorch sees it,
its source is read token by token: nothing in it may run at loading time, and every operator that it
names must be one of `tensor_operators`. After loading, before the first input, the compiled graph
of every method is walked node by node, where each operator has its true name.
"""

from __future__ import annotations

import io
import pickletools
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from dsrs.classifiers.model_archive import archive_of, entries_of
from dsrs.classifiers.tensor_operators import SCRIPT_NODES, TENSOR_OPERATORS
from dsrs.errors import ClassifierError

# Notes for debugging (.debug_pkl), byte code for phones and extra files are left out.
KEPT = re.compile(
    r"data\.pkl|constants\.pkl|version|byteorder|\.data/\w+|\.format_version|\.storage_alignment"
    r"|(?:data|constants)/\d+|code/[\w./]+\.py"
)
# What the data of a module is built from: its own classes, tensors and plain containers.
PICKLED_NAMES = re.compile(
    r"(?!__torch__\.torch\.classes\b)__torch__[\w.]* \w+"
    r"|torch (?:\w+Storage|device|Size|\w*int\d+|b?float\d+|bool)"
    r"|torch\._utils _rebuild_tensor_v2|torch\._utils _rebuild_parameter"
    r"|torch\.jit\._pickle (?:build_\w+|restore_type_tag)|collections OrderedDict"
)
# As PyTorch prints source: spaces and newlines, no comments, strings in double quotes.
TOKEN = re.compile(
    r'(?P<space>[ \n]+)|(?P<string>"(?!"")(?:[^"\\\n]|\\[ -~])*")|(?P<name>[A-Za-z_]\w*)'
    r"|(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?j?|\.\d+(?:[eE][+-]?\d+)?j?)"
    r"|(?P<sign>->|[-+*/%&|^~<>=!]=?|[()\[\]{}.,:@])",
    re.ASCII,
)
# Functions of the language that print, or run something elsewhere or later.
REFUSED_FORMS = frozenset({"print", "fork", "awaitable", "rpc_async", "rpc_sync", "rpc_remote"})
RUN_AT_LOADING = "__setstate__"
BUILT_IN_CLASSES = ["__torch__", ".", "torch", ".", "classes"]  # of C++, with code of their own
ENDS_A_VALUE = re.compile(r'[\w"\])}]')  # a parenthesis behind it is a call


def without_effects(path: Path, registered: frozenset[str]) -> io.BytesIO:
    """The archive at `path` with its source and data only, after both were checked.

    `registered` holds the names of all operators that PyTorch knows, of every namespace.
    """
    entries = entries_of(path, "TorchScript")
    for name, content in entries.items():
        if not KEPT.fullmatch(name):
            continue
        if name.endswith(".pkl"):
            _check_data(content, f"{path.name}, {name}")
        elif name.endswith(".py"):
            check_source(_decoded(content, path), f"{path.name}, {name}", registered)
    return archive_of(entries, KEPT)


def registered_operators(torch: Any) -> frozenset[str]:
    """The names of all operators, without their namespaces and overloads."""
    return frozenset(schema.name.partition("::")[2] for schema in torch._C._jit_get_all_schemas())


def check_source(text: str, where: str, registered: frozenset[str]) -> None:
    """Refuse source that runs while it is read, or names an operator that is not allowed."""
    tokens = list(_tokens(text, where))
    _check_loading(tokens, where)
    harmless = TENSOR_OPERATORS | SCRIPT_NODES
    texts = ["", *(token for _, token in tokens), *[""] * 4]  # so that all have neighbours
    for i, token in enumerate(texts[1:-4], start=1):
        before, after = texts[i - 1], texts[i + 1]
        if token == RUN_AT_LOADING or (token in REFUSED_FORMS and before != "."):
            _refuse(token, where)
        if texts[i : i + len(BUILT_IN_CLASSES)] == BUILT_IN_CLASSES:
            _refuse("".join(BUILT_IN_CLASSES), where)
        if token == "torch" and before != ".":
            _check_operator("aten", texts[i + 2] if after == "." else "", where)
        elif token == "ops" and before != ".":
            dotted = after == texts[i + 3] == "."
            _check_operator(texts[i + 2], texts[i + 4] if dotted else "", where)
        elif before == "." and after == "(" and token in registered - harmless:
            _refuse(token, where)  # a method of a value can be an operator as well


def check_graphs(module: Any, title: str) -> None:
    """Refuse a loaded module if any node of any method is not a tensor operator."""
    import torch

    for part in module.modules():
        for name in part._c._method_names():
            graph = part._c._get_method(name).graph.copy()
            torch._C._jit_pass_inline(graph)
            for kind in _node_kinds(graph):
                space, _, operator = kind.partition("::")
                _check_operator(space, operator, title)


def _node_kinds(block: Any) -> Iterator[str]:
    for node in block.nodes():
        yield node.kind()
        for inner in node.blocks():
            yield from _node_kinds(inner)


def _tokens(text: str, where: str) -> Iterator[tuple[int, str]]:
    """Each token with the indentation of its line."""
    place, indentation = 0, 0
    while place < len(text):
        found = TOKEN.match(text, place)
        if found is None:
            raise ClassifierError(
                f"{where}: {text[place : place + 20]!r} is not how PyTorch writes TorchScript; "
                "export the model to ONNX"
            )
        place = found.end()
        if found.lastgroup == "space":
            line = found[0].rpartition("\n")
            indentation = len(line[2]) if line[1] else indentation
        else:
            yield indentation, found[0]


def _check_loading(tokens: list[tuple[int, str]], where: str) -> None:
    """Refuse calls outside the bodies of functions: PyTorch runs those when it reads the file."""
    body: int | None = None  # the indentation of the `def` whose body this is
    head, depth = "", 0
    for (_, before), (indentation, token) in pairwise([(0, ""), *tokens]):
        if not depth and not head and body is not None and indentation <= body:
            body = None
        if token in ("def", "class"):
            head, body = token, indentation if token == "def" else body
        call = token == "(" and ENDS_A_VALUE.fullmatch(before[-1:])
        if call and depth >= bool(head) and (head or body is None):
            raise ClassifierError(
                f"{where}: a call stands where PyTorch would run it while it reads the file; "
                "export the model to ONNX"
            )
        depth += (token in "([{") - (token in ")]}")
        if head and not depth and token == ":":
            head = ""


def _check_operator(space: str, name: str, where: str) -> None:
    allowed = {"aten": TENSOR_OPERATORS, "prim": SCRIPT_NODES}.get(space, frozenset())
    if name not in allowed:
        _refuse(f"{space}::{name}", where)


def _refuse(what: str, where: str) -> None:
    raise ClassifierError(
        f"{where} uses {what!r}, which is not an operation of plain tensors; "
        "export the model to ONNX"
    )


def _check_data(content: bytes, where: str) -> None:
    try:
        for code, argument, _ in pickletools.genops(content):
            if code.name in ("STACK_GLOBAL", "INST", "EXT1", "EXT2", "EXT4") or (
                code.name == "GLOBAL" and not PICKLED_NAMES.fullmatch(str(argument))
            ):
                _refuse(str(argument or code.name), where)
    except (ValueError, IndexError, KeyError, UnicodeDecodeError) as error:
        raise ClassifierError(f"{where} is damaged: {error}") from error


def _decoded(content: bytes, path: Path) -> str:
    try:
        return content.decode("ascii")
    except UnicodeDecodeError as error:
        raise ClassifierError(f"{path.name} is not TorchScript: {error}") from error
