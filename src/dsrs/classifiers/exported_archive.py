"""`torch.export` archives (.pt2) without the parts that would run code when they are read.

`torch.export.load` unpickles example inputs and some constants, evaluates strings (sizes and
guards), and looks operators up by dotted names. Here the archive is read as what it is, a zip
of JSON and raw weights; the pickles and guards are dropped, and the strings are checked.
PyTorch reads zips with a reader of its own, so what was checked must also be what it is given:
a file can hold one entry twice, or two archives in one. Hence the archive is written again.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

from dsrs.classifiers.tensor_operators import HIGHER_ORDER_OPERATORS, TENSOR_OPERATORS
from dsrs.errors import ClassifierError

# Sizes: arithmetic of integers and of symbols such as s77, in these functions only.
SIZE_EXPRESSION = re.compile(
    r"(?:Symbol\('[su]\d+'(?:, (?:positive|nonnegative|integer)=True)*\)"
    r"|[su]\d+|\d+|Integer|Add|Mul|Pow|Max|Min|Mod|PythonMod|FloorDiv|CleanDiv|[ +\-*(),])*"
)
OPERATOR = re.compile(
    rf"torch\.ops\.aten\.(?:{'|'.join(sorted(TENSOR_OPERATORS))})\.\w+"
    rf"|torch\.ops\.higher_order\.(?:{'|'.join(sorted(HIGHER_ORDER_OPERATORS))})"
    r"|_operator\.(?:add|sub|mul|floordiv|truediv|mod|neg|pow|getitem|eq|ne|lt|le|gt|ge)"
)
# Strings that PyTorch evaluates or looks up, by their keys.
CHECKED_STRINGS = {"target": OPERATOR, "as_operator": OPERATOR, "expr_str": SIZE_EXPRESSION}
# The shape of arguments and answers; other kinds name Python modules, which would be imported.
TREES = (None, "builtins.tuple", "builtins.list", "builtins.dict")
LARGEST_UNFOLDED = 1 << 24  # bytes of one compressed entry: more than any program has
RAW_TENSOR = re.compile(r"(?:weight|tensor)_\d+")

KEPT_ENTRIES = re.compile(
    r"archive_format|archive_version|byteorder|\.data/\w+|models/model\.json"
    r"|data/weights/(?:weight_\d+|model_weights_config\.json)"
    r"|data/constants/(?:tensor_\d+|model_constants_config\.json)|data/sample_inputs/model\.pt"
)


def without_code(path: Path) -> io.BytesIO:
    """Rewrite the archive at `path` so that `torch.export.load` finds only data in it."""
    entries = _entries_of(path)
    program = entries.get("models/model.json")
    if program is None:
        raise ClassifierError(
            f"{path.name} holds no exported program in the present format; "
            "save it again with torch.export.save of PyTorch 2.8 or later, or export it to ONNX"
        )
    for name in (
        "data/weights/model_weights_config.json",
        "data/constants/model_constants_config.json",
    ):
        _refuse_pickled(_parsed(entries.get(name, b""), path), path)
    parsed = _entries(_parsed(program, path), None, path)
    _check_strings(parsed, path)
    # Python code that torch would compile; the shape of a batch is checked by the adapter.
    parsed["guards_code"] = []
    entries["models/model.json"] = json.dumps(parsed).encode()
    # torch reads an empty file as "no example inputs".
    entries["data/sample_inputs/model.pt"] = b""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, content in entries.items():
            if KEPT_ENTRIES.fullmatch(name):
                archive.writestr(f"model/{name}", content)
    stream.seek(0)
    return stream


def _entries_of(path: Path) -> dict[str, bytes]:
    """The entries of an archive by their names inside its folder.

    PyTorch compresses text only, so a small file must not unfold to a large one here.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if entry.file_size > max(entry.compress_size, LARGEST_UNFOLDED):
                    raise ClassifierError(
                        f"{path.name} is not a torch.export archive: {entry.filename!r} in it "
                        f"unfolds from {entry.compress_size:,} to {entry.file_size:,} bytes"
                    )
            return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError) as error:
        raise ClassifierError(f"{path.name} is not a torch.export archive: {error}") from error


def _parsed(content: bytes, path: Path) -> Any:
    try:
        return json.loads(content)
    except ValueError as error:
        raise ClassifierError(f"{path.name} is damaged: {error}") from error


def _refuse_pickled(config: Any, path: Path) -> None:
    for key, payload in _entries(config, "config", path).items():
        raw = RAW_TENSOR.fullmatch(str(_entries(payload, None, path).get("path_name")))
        if payload.get("use_pickle") is not False or raw is None:
            raise ClassifierError(
                f"{path.name} keeps {key!r} as a pickle, which could run code when it is read; "
                "export the model to ONNX"
            )


def _entries(value: Any, key: str | None, path: Path) -> dict[str, Any]:
    entry = value.get(key) if key is not None and isinstance(value, dict) else value
    if not isinstance(entry, dict):
        raise ClassifierError(f"{path.name} is damaged: expected a JSON object, got {entry!r}")
    return entry


def _check_strings(value: Any, path: Path) -> None:
    if isinstance(value, list):
        for part in value:
            _check_strings(part, path)
    elif isinstance(value, dict):
        for key, allowed in CHECKED_STRINGS.items():
            text = value.get(key)
            if isinstance(text, str) and not allowed.fullmatch(text):
                raise ClassifierError(
                    f"{path.name} uses {text!r} as {key}, which is not an operation of plain "
                    "tensors; export the model to ONNX"
                )
        for key in ("in_spec", "out_spec"):
            if isinstance(value.get(key), str):
                _check_tree(_parsed(value[key].encode(), path), path)
        if isinstance(value.get("target"), str) and "inputs" in value:
            value["metadata"] = {}  # notes on a node, with names that torch looks up
        for part in value.values():
            _check_strings(part, path)


def _check_tree(tree: Any, path: Path) -> None:
    """Refuse a nesting of arguments that is not made of tuples, lists and dictionaries."""
    if isinstance(tree, list):
        for part in tree:
            _check_tree(part, path)
    elif isinstance(tree, dict):
        context = tree.get("context")
        names = _parsed(context.encode(), path) if isinstance(context, str) else context
        plain = names is None or (
            isinstance(names, list) and all(isinstance(name, str | int) for name in names)
        )
        if tree.get("type") not in TREES or not plain:
            raise ClassifierError(
                f"{path.name} nests its arguments in {tree.get('type')!r} with {context!r}, "
                "expected tuples, lists and dictionaries; export the model to ONNX"
            )
        _check_tree(tree.get("children_spec"), path)
