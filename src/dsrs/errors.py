"""The error tree. Catch `DsrsError` to catch everything this package raises on purpose.

DsrsError
├── InvalidInput          a value out of its range (also a ValueError)
│   ├── InfeasibleBox     no classifier can have these probabilities
│   ├── UnknownLaw        a noise law that is not known, or is misspelt
│   └── AlphaOverspent    the shares of alpha add up to more than alpha
├── DataError             a file or array that cannot be read as what it should be
│   └── NotRecorded       what a table or figure needs is not among the recorded data
├── ClassifierError       a model that cannot be loaded, or answers wrongly
│   ├── NotAFunction      a row gets another class when it is asked again
│   ├── ShapeNeeded       a model that does not say the shape of its inputs (also InvalidInput)
│   ├── NoScores          it answers with classes only, where scores of all classes are needed
│   ├── OtherModel        it is not the one that a run or a file of prediction sets speaks of
│   └── OutOfMemory       a batch is too much for the memory that there is
├── StoreError            a run folder that cannot be used
│   ├── StoreMismatch     it belongs to another configuration, model or data
│   ├── StoreCorrupted    it is damaged
│   └── StoreTooNew       it was written by a newer version
├── ClusterError          a cluster that cannot be reached, or has nobody left to count
├── NotEnoughVotes        the saved votes do not allow the asked computation
└── MissingExtra          an optional dependency is not installed (also an ImportError)
"""

from __future__ import annotations

import importlib
from types import ModuleType


class DsrsError(Exception):
    """Base class of all errors of this package."""


class InvalidInput(DsrsError, ValueError):
    """A value is out of its range."""


class InfeasibleBox(InvalidInput):
    """No classifier can have probabilities inside all the given intervals."""


class UnknownLaw(InvalidInput):
    """The name of a noise law is not known."""


class AlphaOverspent(InvalidInput):
    """More failure probability was asked for than there is."""


class DataError(DsrsError):
    """A file or array cannot be read as what it should be."""


class NotRecorded(DataError):
    """What a table or figure needs is not among the recorded data."""


class ClassifierError(DsrsError):
    """A model cannot be loaded, or gives answers that cannot be used."""


class NotAFunction(ClassifierError):
    """A model gives a row another class when it is asked again, or beside other rows."""


class ShapeNeeded(InvalidInput, ClassifierError):
    """A model does not say the shape of its inputs, and nobody else did."""


class NoScores(ClassifierError):
    """A model answers with classes only, where scores of all classes are needed."""


class OtherModel(ClassifierError):
    """What is served is not what a run or a file of prediction sets was made with."""


class OutOfMemory(ClassifierError):
    """A batch is too much for the memory that there is."""


class StoreError(DsrsError):
    """A run folder cannot be used."""


class StoreMismatch(StoreError):
    """The run folder belongs to another configuration, model or data."""


class StoreCorrupted(StoreError):
    """The run folder is damaged."""


class StoreTooNew(StoreError):
    """The run folder was written by a newer version of this package."""


class ClusterError(DsrsError):
    """A cluster cannot be reached, or nobody of it is left to count votes."""


class NotEnoughVotes(DsrsError):
    """The saved votes do not allow the asked computation."""


class MissingExtra(DsrsError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"this needs the package `{package}`, which is not installed; install it with: "
            f"pip install {package}, or all that goes with it: pip install 'dsrs[{extra}]'"
        )
        self.package = package


def imported(module: str, extra: str, package: str = "") -> ModuleType:
    """A module of an optional dependency, or MissingExtra.

    Args:
        module: its name.
        extra: the extra of this package that brings it.
        package: what pip calls it, where that is not the first part of its name.
    """
    first = module.partition(".")[0]
    try:
        importlib.import_module(first)
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtra(package or first, extra) from None
