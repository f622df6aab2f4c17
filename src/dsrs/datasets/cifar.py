"""CIFAR-10 in its binary and its Python version.

The binary one has records of one label byte and 3 x 32 x 32 bytes; the Python one, which
torchvision downloads, pickles of an array of such rows and a list of labels.
"""

from __future__ import annotations

import math
import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.datasets.dataset import Dataset
from dsrs.errors import DataError

# ---- Pickles of NumPy arrays, read by an interpreter of our own that cannot run code
# A pickle is a program for a stack machine; `pickle.load` runs it with every function that it
# names. Here the operations that build numbers, text, containers and arrays are carried out and all
# others refused. NumPy is not called while a file is read either: the three functions with which it
# writes an array stand for plain records, and an array is made of their bytes at the end, after its
# size was checked.

LARGEST_BATCH_BYTES = 1 << 30  # bytes; a batch of CIFAR-10 has 31 million


@dataclass
class _Kind:
    """The name of a numpy.dtype."""

    name: str


@dataclass
class _Array:
    """The content of a numpy.ndarray: its shape, the kind of its numbers and their bytes."""

    shape: tuple[int, ...] = ()
    kind: str = ""
    content: bytes = b""


class _Refused(Exception):
    """The file asks for something that is not allowed."""


def _array(*arguments: Any) -> _Array:
    return _Array()


def _kind(*arguments: Any) -> _Kind:
    if not arguments or not isinstance(arguments[0], str):
        raise _Refused("numbers of an unknown kind")
    return _Kind(arguments[0])


def _encoded(*arguments: Any) -> bytes:
    # How Python 3 writes bytes into the pickles that Python 2 could read.
    if len(arguments) != 2 or not isinstance(arguments[0], str) or arguments[1] != "latin1":
        raise _Refused("text in another encoding than latin1")
    return arguments[0].encode("latin1")


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "numpy.core.multiarray _reconstruct": _array,
    "numpy._core.multiarray _reconstruct": _array,
    "numpy ndarray": _array,
    "numpy dtype": _kind,
    "_codecs encode": _encoded,
}


def read_array_pickle(path: Path) -> dict[str, Any]:
    """The dictionary that a pickle holds, with its arrays of bytes as NumPy arrays.

    Values that are neither numbers, text, containers nor arrays of bytes are refused.
    """
    try:
        size = path.stat().st_size
        if size > LARGEST_BATCH_BYTES:
            raise DataError(
                f"{path}: expected a batch of at most {LARGEST_BATCH_BYTES:,} bytes, got {size:,}"
            )
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    try:
        value = _Machine().run(content)
    except _Refused as error:
        raise DataError(
            f"{path}: the pickle holds {error}; only numbers, text, containers and arrays of bytes "
            "are read, since anything else could run code"
        ) from None
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, UnicodeError) as error:
        raise DataError(f"{path}: damaged, or not a pickle of arrays: {error}") from None
    if not isinstance(value, dict):
        raise DataError(f"{path}: expected a dictionary, got {type(value).__name__}")
    return {
        _text(name): _numpy(entry, path) if isinstance(entry, _Array) else entry
        for name, entry in value.items()
    }


def _text(name: Any) -> str:
    return name.decode("latin1") if isinstance(name, bytes) else str(name)


def _numpy(array: _Array, path: Path) -> NDArray[np.uint8]:
    if array.kind not in ("u1", "|u1") or math.prod(array.shape) != len(array.content):
        raise DataError(
            f"{path}: expected an array of bytes (u1) of shape {array.shape}, got "
            f"{len(array.content):,} bytes of kind {array.kind!r}"
        )
    return np.frombuffer(array.content, np.uint8).reshape(array.shape)


class _Machine:
    """The stack machine of pickles, without the operations that reach outside."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def run(self, content: bytes) -> Any:
        """The value that is left when the program stops."""
        for operation, argument, _ in pickletools.genops(content):
            name = operation.name
            if name == "STOP":
                return self.stack.pop()
            if name in CONSTANTS:
                self.stack.append(CONSTANTS[name]())
            elif name in VALUES:
                self.stack.append(argument)
            elif name in PICKLE_STEPS:
                PICKLE_STEPS[name](self, argument)
            elif name not in ("PROTO", "FRAME"):
                raise _Refused(f"the operation {name}")
        raise ValueError("the program has no end")

    def since_mark(self) -> list[Any]:
        """Remove the last mark and return the values above it."""
        at = self.marks.pop()
        taken = self.stack[at:]
        del self.stack[at:]
        return taken

    def keep(self, place: int | None) -> None:
        self.memo[len(self.memo) if place is None else int(place)] = self.stack[-1]

    def make_tuple(self, count: int | None) -> None:
        if count is None:
            self.stack.append(tuple(self.since_mark()))
        else:
            taken = tuple(self.stack[len(self.stack) - count :])
            del self.stack[len(self.stack) - count :]
            self.stack.append(taken)

    def append(self, items: list[Any]) -> None:
        if not isinstance(self.stack[-1], list):
            raise TypeError("items for something that is no list")
        self.stack[-1].extend(items)

    def set_items(self, items: list[Any]) -> None:
        if not isinstance(self.stack[-1], dict) or len(items) % 2:
            raise TypeError("items for something that is no dictionary")
        self.stack[-1].update(zip(items[::2], items[1::2], strict=True))

    def function(self, name: str) -> None:
        if name not in FUNCTIONS:
            raise _Refused(f"the name {name.replace(' ', '.')}")
        self.stack.append(FUNCTIONS[name])

    def stack_function(self) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.function(f"{module} {name}")

    def call(self) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        if function not in FUNCTIONS.values() or not isinstance(arguments, tuple):
            raise _Refused("a call of something that is no function")
        self.stack.append(function(*arguments))

    def fill(self) -> None:
        """Set the state of a record, as NumPy writes it."""
        state = self.stack.pop()
        target = self.stack[-1]
        if isinstance(target, _Kind):
            return  # byte order and the like, which single bytes do not have
        if not isinstance(target, _Array) or not isinstance(state, tuple) or len(state) != 5:
            raise _Refused("the state of an object that is no array")
        _, shape, kind, columns_first, content = state
        if not isinstance(kind, _Kind) or columns_first:
            raise _Refused("an array in another order than that of C")
        if not all(isinstance(side, int) and side >= 0 for side in shape):
            raise ValueError(f"an array of shape {shape}")
        target.shape, target.kind = tuple(shape), kind.name
        target.content = content.encode("latin1") if isinstance(content, str) else bytes(content)


CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_TUPLE": tuple,
}
VALUES = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
}
PICKLE_STEPS: dict[str, Callable[[_Machine, Any], None]] = {
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"), _Machine.keep),
    **{
        name: lambda machine, place: machine.stack.append(machine.memo[int(place)])
        for name in ("GET", "BINGET", "LONG_BINGET")
    },
    "MARK": lambda machine, _: machine.marks.append(len(machine.stack)),
    "TUPLE": lambda machine, _: machine.make_tuple(None),
    "TUPLE1": lambda machine, _: machine.make_tuple(1),
    "TUPLE2": lambda machine, _: machine.make_tuple(2),
    "TUPLE3": lambda machine, _: machine.make_tuple(3),
    "LIST": lambda machine, _: machine.stack.append(machine.since_mark()),
    "DICT": lambda machine, _: machine.stack.append(_paired(machine.since_mark())),
    "APPEND": lambda machine, _: machine.append([machine.stack.pop()]),
    "APPENDS": lambda machine, _: machine.append(machine.since_mark()),
    "SETITEM": lambda machine, _: machine.set_items([machine.stack.pop(-2), machine.stack.pop()]),
    "SETITEMS": lambda machine, _: machine.set_items(machine.since_mark()),
    "GLOBAL": _Machine.function,
    "STACK_GLOBAL": lambda machine, _: machine.stack_function(),
    "REDUCE": lambda machine, _: machine.call(),
    "BUILD": lambda machine, _: machine.fill(),
}


def _paired(items: list[Any]) -> dict[Any, Any]:
    return dict(zip(items[::2], items[1::2], strict=True))


# ---- The files

CIFAR_SHAPE = (3, 32, 32)
RECORD = 1 + 3 * 32 * 32
CLASS_NAMES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
BATCHES = {"train": "data_batch_*", "test": "test_batch*"}


PYTHON_FOLDER = "cifar-10-batches-py"  # as the archive unpacks


def is_cifar_folder(folder: Path) -> bool:
    """Whether `folder` holds CIFAR-10 batches, or the folder of them that torchvision makes."""
    return (folder / PYTHON_FOLDER).is_dir() or any(
        next(folder.glob(pattern), None) for pattern in BATCHES.values()
    )


def load_cifar_folder(folder: Path, split: str) -> Dataset:
    """The `split` of a folder with five batches of training images and one of test images."""
    home = folder / PYTHON_FOLDER if (folder / PYTHON_FOLDER).is_dir() else folder
    binary = sorted(home.glob(f"{BATCHES[split]}.bin"))
    if binary:
        return _dataset([_records(path) for path in binary], str(folder))
    batches = sorted(path for path in home.glob(BATCHES[split]) if not path.suffix)
    if batches:
        return _dataset([_unpickled(path) for path in batches], str(folder))
    raise DataError(
        f"{folder}: expected the batches {BATCHES[split]} of CIFAR-10, in the binary version "
        "(.bin) or in the Python version (no suffix)"
    )


def load_cifar_file(path: Path) -> Dataset:
    """One .bin file of CIFAR-10."""
    return _dataset([_records(path)], str(path))


def _dataset(parts: list[NDArray[np.uint8]], name: str) -> Dataset:
    # A single file stays a memory map.
    records = parts[0] if len(parts) == 1 else np.concatenate(parts)
    images = records[:, 1:].reshape(-1, *CIFAR_SHAPE)
    return Dataset.from_arrays(images, records[:, 0], name=name, class_names=CLASS_NAMES)


def _unpickled(path: Path) -> NDArray[np.uint8]:
    """A batch of the Python version as records of the binary one."""
    batch = read_array_pickle(path)
    rows, labels = batch.get("data"), batch.get("labels")
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.shape[1] != RECORD - 1:
        raise DataError(f"{path}: expected an array `data` of rows of {RECORD - 1} bytes")
    if not isinstance(labels, list) or len(labels) != len(rows) or not _are_labels(labels):
        raise DataError(f"{path}: expected a list `labels` of {len(rows)} numbers from 0 to 9")
    return np.column_stack([np.asarray(labels, np.uint8), rows])


def _are_labels(labels: Any) -> bool:
    """Whether this is a list of classes of CIFAR-10."""
    known = range(len(CLASS_NAMES))
    return isinstance(labels, list) and all(type(each) is int and each in known for each in labels)


def _records(path: Path) -> NDArray[np.uint8]:
    try:
        size = path.stat().st_size
        if size == 0 or size % RECORD:
            raise DataError(
                f"{path}: expected CIFAR-10 records of {RECORD} bytes each, got {size} bytes; "
                "the file is truncated or not the binary version"
            )
        records = np.memmap(path, np.uint8, "r").reshape(-1, RECORD)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    if records[:, 0].max() >= len(CLASS_NAMES):
        row = int(records[:, 0].argmax())
        raise DataError(
            f"{path}: labels must be from 0 to 9, got {records[row, 0]} in record {row}; "
            "the file is not CIFAR-10"
        )
    return records
