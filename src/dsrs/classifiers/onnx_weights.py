"""The files that an ONNX model keeps its weights in, found without running or trusting it.

An ONNX file is a Protocol Buffers message. Only the fields on the way to a tensor's external data
are followed, by their numbers in onnx.proto, so that no package beside ONNX Runtime is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dsrs.errors import ClassifierError

# Message -> number of a field -> the message in it; `location` pairs are the goal.
FIELDS: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node"},
    "graph": {1: "node", 5: "tensor", 15: "sparse tensor"},
    "node": {5: "attribute"},
    "attribute": {
        5: "tensor",
        6: "graph",
        10: "tensor",
        11: "graph",
        22: "sparse tensor",
        23: "sparse tensor",
    },
    "sparse tensor": {1: "tensor", 2: "tensor"},
    "tensor": {13: "pair"},
}
KEY, VALUE = 1, 2
FIXED_LENGTHS = {1: 8, 5: 4}  # wire types of numbers
VARINT, BYTES = 0, 2


def external_weights(model: bytes, path: Path) -> list[Path]:
    """The files beside `path` that hold tensors of the model in it, in order.

    Raises ClassifierError where one lies outside the model's folder, through a link or not.
    """
    folder = path.parent.resolve()
    try:
        names = {name.decode("utf-8") for name in _locations(memoryview(model), "model")}
        files = sorted((path.parent / name).resolve() for name in names)
    except (IndexError, RecursionError, ValueError) as error:
        raise ClassifierError(f"{path.name} cannot be read as an ONNX model: {error}") from error
    for file in files:
        if not file.is_relative_to(folder):
            raise ClassifierError(
                f"{path.name} wants weights from {file}, outside its own folder {folder}; "
                "save the model with its weights in it, or beside it"
            )
    return files


def _locations(message: memoryview, kind: str) -> Iterator[bytes]:
    if kind == "pair":
        entries = {number: bytes(content) for number, content in _fields(message)}
        if entries.get(KEY) == b"location":
            yield entries.get(VALUE, b"")
        return
    inner = FIELDS[kind]
    for number, content in _fields(message):
        if number in inner:
            yield from _locations(content, inner[number])


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """The fields of a message that hold bytes, with their numbers."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        number, wire = tag >> 3, tag & 7
        if wire == BYTES:
            length, place = _varint(message, place)
            if place + length > len(message):
                raise ValueError("it is cut")
            yield number, message[place : place + length]
            place += length
        elif wire == VARINT:
            _, place = _varint(message, place)
        elif wire in FIXED_LENGTHS:
            place += FIXED_LENGTHS[wire]
        else:
            raise ValueError(f"unknown kind of field {wire}")


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, place
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")
