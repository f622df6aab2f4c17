"""Compare what is served with what a promise was made about: model, precision, noise and grid.

A certificate or a prediction set is about one model, on one kind of device, under one noise law and
on one grid. A service that runs another one has no promise, however alike they look.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dsrs.classifiers import Classifier
from dsrs.errors import OtherModel

SHOWN_CHARACTERS = 60  # characters of a value


@dataclass(frozen=True, slots=True)
class Compared:
    """One fact of what is quoted, and of what is served.

    Args:
        name: of the fact.
        quoted: as the run or the file of prediction sets says it.
        served: as it is now.
        same: whether the promise holds for both.
    """

    name: str
    quoted: str
    served: str
    same: bool


def facts_of_run(config: Mapping[str, Any]) -> dict[str, Any]:
    """What the certificates of a run are about, from its config."""
    model, plan = config["model"], config["plan"]
    names = ("fingerprint", "input_shape", "bounds", "num_classes")
    facts = {name: model[name] for name in (*names, "scaling") if name in model}
    return facts | {"device": config["device"], "law": plan["law"], "grid": plan["grid"]}


def facts_of_model(classifier: Classifier, device: str) -> dict[str, Any]:
    """What is served, but for its noise."""
    return {
        "fingerprint": classifier.fingerprint,
        "input_shape": list(classifier.input_shape),
        "bounds": [float(bound) for bound in classifier.bounds],
        "num_classes": classifier.num_classes,
        "device": device.partition(":")[0],
    }


def compare_served(quoted: Mapping[str, Any], served: Mapping[str, Any]) -> list[Compared]:
    """Every fact that both name, compared."""
    compared = []
    for name in [name for name in quoted if name in served]:
        said, now = quoted[name], served[name]
        cut = said != now and _text(said) == _text(now)  # what differs may be at the end
        compared.append(Compared(name, _text(said, end=cut), _text(now, end=cut), said == now))
    return compared


def refuse_other(compared: Sequence[Compared], what: str) -> None:
    """Raise OtherModel, naming every difference, unless what is served is what is quoted."""
    different = [one for one in compared if not one.same]
    if different:
        lines = "".join(
            f"\n  {one.name}: {what} has {one.quoted}, served is {one.served}" for one in different
        )
        raise OtherModel(
            f"what is served is not what {what} speaks of, so nothing that it promises may be "
            f"quoted:{lines}\nserve the same, or calibrate or certify what is served"
        )


def _text(value: Any, *, end: bool = False) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    if len(text) <= SHOWN_CHARACTERS:
        return text
    return "..." + text[3 - SHOWN_CHARACTERS :] if end else text[: SHOWN_CHARACTERS - 3] + "..."
