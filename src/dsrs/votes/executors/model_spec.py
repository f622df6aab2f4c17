"""How to build a classifier anywhere: by name and options, and the hash that it must have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsrs.classifiers import Classifier, load_classifier
from dsrs.errors import ClassifierError, DsrsError


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model's name, or those of an ensemble, and the options of `load_classifier`.

    A machine that counts votes builds the classifier from it, and refuses one with another
    fingerprint: code and weights come from its own files, never over the network.
    """

    name: str | tuple[str, ...]
    options: Mapping[str, Any]
    fingerprint: str

    @classmethod
    def of(
        cls, name: str | Path | Sequence[str], options: Mapping[str, Any], known: Classifier
    ) -> ModelSpec:
        """The spec of a classifier that was built here, with files by their whole paths."""
        files = {key: options[key] for key in ("weights", "denoise") if options.get(key)}
        whole = dict(options) | {key: _whole_path(file) for key, file in files.items()}
        if isinstance(name, str | Path):
            return cls(_whole_path(name), whole, known.fingerprint)
        return cls(tuple(map(_whole_path, name)), whole, known.fingerprint)

    def build(self, where: str) -> Classifier:
        """The classifier from the files of this machine; `where` names it in messages."""
        try:
            found = load_classifier(self.name, **self.options)
        except DsrsError as error:
            # Errors travel between machines: a plain one is read everywhere.
            raise ClassifierError(f"{where} cannot build the model: {error}") from None
        if found.fingerprint != self.fingerprint:
            raise ClassifierError(
                f"{where} has another model than was asked for: {self.name} has the fingerprint "
                f"{found.fingerprint} there, not {self.fingerprint}"
            )
        return found


def _whole_path(name: str | Path) -> str:
    path = Path(name)
    return str(path.resolve()) if path.exists() else str(name)
