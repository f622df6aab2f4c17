"""A router and its experts as one model, and the folder that names them (docs/routing.md).

The router is a classifier whose answers are the numbers of the experts. Router and experts are
smoothed each with noise of its own; an expert without noise is a plain model. `route.toml`:

    [router]
    model = "router.onnx"
    sigma = 0.5

    [[experts]]            # the router's answer 0
    model = "net.onnx"
    sigma = 0.25           # 0: a plain model, which gets no certificates

Files are found from the folder. `k` and `eta` are those of the noise law; `mean`, `std`, `weights`
and `denoise` belong to the model, as the command line has them.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.adapters import Adapter, ModelOptions
from dsrs.classifiers.base import Classifier, described
from dsrs.errors import ClassifierError, InvalidInput
from dsrs.laws import GeneralizedGaussian

ROUTE_NAME = "route.toml"
ROUTER_PLACE = 0  # among the classifiers of a run; expert j has the place j + 1
OF_LAW = ("sigma", "k", "eta")
OF_ALL_MEMBERS = (
    *("input_shape", "bounds", "num_classes", "threads", "device", "engine", "precision"),
)
OF_MODEL = ("mean", "std", "weights", "denoise")

# `load_classifier`, which reads routed folders too.
Load = Callable[..., Classifier]
Laws = tuple[GeneralizedGaussian | None, ...]


class RoutedModel(Classifier):
    """A router and its experts. Votes are asked of its members, each under its own noise.

    Args:
        router: answers with the number of an expert.
        router_law: the noise of the router.
        experts: models of one input shape, number of classes and bounds.
        expert_laws: the noise of each expert; None where it is a plain model.
    """

    def __init__(
        self,
        router: Classifier,
        router_law: GeneralizedGaussian,
        experts: Sequence[Classifier],
        expert_laws: Laws,
    ) -> None:
        first = _checked(router, router_law, experts, expert_laws)
        self.router, self.experts = router, tuple(experts)
        self.router_law, self.expert_laws = router_law, tuple(expert_laws)
        self.input_shape, self.bounds = tuple(first.input_shape), first.bounds
        self.num_classes, self.class_names = first.num_classes, first.class_names
        noise = ", ".join("none" if law is None else law.describe() for law in expert_laws)
        what = f"routed between {len(experts)} experts ({noise})"
        self.description = described(what, self.input_shape, self.bounds)

    @property
    def fingerprint(self) -> str:
        laws = [self.router_law, *self.expert_laws]
        members = [self.router, *self.experts]
        facts = [
            [model.fingerprint, None if law is None else law.to_dict()]
            for model, law in zip(members, laws, strict=True)
        ]
        return "sha256:" + hashlib.sha256(json.dumps(["routed", *facts]).encode()).hexdigest()

    def classify(self, batch: NDArray[np.float32]) -> NDArray[np.int64]:
        """The class of each row without any noise: that of the expert the router names."""
        named = self.router.classify(batch)
        answers = np.stack([expert.classify(batch) for expert in self.experts])
        found: NDArray[np.int64] = answers[named, np.arange(len(batch))]
        return found

    def member(self, place: int) -> Classifier:
        return self.router if place == ROUTER_PLACE else self.experts[place - 1]

    @property
    def rows_at_once(self) -> int | None:
        rows = (member.rows_at_once for member in (self.router, *self.experts))
        return min((row for row in rows if row is not None), default=None)


def _checked(
    router: Classifier,
    router_law: GeneralizedGaussian,
    experts: Sequence[Classifier],
    laws: Laws,
) -> Classifier:
    """The first expert; InvalidInput where the parts do not fit each other."""
    if len(experts) < 2 or len(experts) != len(laws):
        raise InvalidInput(
            f"a router needs two experts or more, each with its noise, got {len(experts)} experts "
            f"and {len(laws)} laws"
        )
    if router.num_classes != len(experts):
        raise InvalidInput(
            f"a router of {len(experts)} experts must have as many answers, got a model of "
            f"{router.num_classes} classes: {router.description}"
        )
    if all(law is None for law in laws):
        raise InvalidInput("a router needs an expert with noise, got plain models only")
    first = experts[0]
    for member in (router, *experts):
        names = ("input_shape", "bounds", *(() if member is router else ("num_classes",)))
        for name in names:
            if getattr(member, name) != getattr(first, name):
                raise InvalidInput(
                    f"router and experts must have the same `{name}`: {first.description} has "
                    f"{getattr(first, name)}, {member.description} has {getattr(member, name)}"
                )
    d = math.prod(first.input_shape)
    for law in (router_law, *laws):
        if law is not None and (law.d, law.measured_in) != (d, router_law.measured_in):
            raise InvalidInput(
                f"the noise of router and experts must have d = {d} and one norm, got "
                f"{law.describe()} and {router_law.describe()}"
            )
    return first


@dataclass(frozen=True, slots=True)
class Member:
    """A router or an expert by name, with its noise.

    Args:
        model: a name that `load_classifier` reads.
        sigma: the size of the noise; 0 for a plain model, which is used as it is.
        k: the exponent of the noise law.
        eta: of the noise law; 2 is the Gaussian's.
        options: how to read the model: `mean`, `std`, `weights`, `denoise`.
    """

    model: str
    sigma: float
    k: float = 0.0
    eta: float = 2.0
    options: Mapping[str, Any] = field(default_factory=dict)

    def law(self, d: int) -> GeneralizedGaussian | None:
        """Its noise in dimension d; None for a plain model."""
        return GeneralizedGaussian(d, self.sigma, self.k, self.eta) if self.sigma else None

    def load(self, options: ModelOptions, load: Load) -> Classifier:
        """The model itself, by `load_classifier`."""
        given = options.chosen(*OF_ALL_MEMBERS)
        return load(self.model, **given, **self.options)


@dataclass(frozen=True, slots=True)
class Route:
    """What a routed folder names."""

    router: Member
    experts: tuple[Member, ...]

    def laws(self, d: int) -> tuple[GeneralizedGaussian, Laws]:
        """The noise of the router, and that of each expert."""
        law = self.router.law(d)
        assert law is not None  # refused where the folder is read
        return law, tuple(expert.law(d) for expert in self.experts)

    def load(self, options: ModelOptions, load: Load) -> RoutedModel:
        """The models, by `load_classifier`; InvalidInput where they do not fit each other."""
        experts = [member.load(options, load) for member in self.experts]
        shape = tuple(experts[0].input_shape)
        own = replace(options, input_shape=shape, num_classes=len(experts))
        router_law, laws = self.laws(math.prod(shape))
        return RoutedModel(self.router.load(own, load), router_law, experts, laws)


def is_routed(name: str | Path) -> bool:
    """Whether a name is that of a routed folder."""
    return (Path(name) / ROUTE_NAME).is_file()


def read_route(folder: str | Path, router: str | Path | None = None) -> Route:
    """What the `route.toml` of a folder names; `router` is a file to take in place of its router.

    Raises:
        ClassifierError: the file is not one of these.
    """
    file = Path(folder) / ROUTE_NAME
    fields = _toml(file)
    if fields.keys() != {"router", "experts"} or not isinstance(fields["router"], dict):
        raise ClassifierError(f"{file} must have one table [router], and a table [[experts]] each")
    own = dict(fields["router"])
    if router is not None:
        own["model"] = str(Path(router).resolve())
    found = Route(_member(file, own), _experts(file, fields))
    if not found.router.sigma:
        raise ClassifierError(f"{file}: the router needs noise, `sigma` above 0")
    return found


def read_experts(file: str | Path) -> tuple[Member, ...]:
    """The experts of a TOML file with a table [[experts]] each, as `route.toml` has them."""
    return _experts(Path(file), _toml(Path(file)))


def _toml(file: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise ClassifierError(f"{file} cannot be read: {error}") from None


def _experts(file: Path, fields: Mapping[str, Any]) -> tuple[Member, ...]:
    experts = fields.get("experts")
    if not isinstance(experts, list) or len(experts) < 2:
        raise ClassifierError(f"{file} must have two tables [[experts]] or more")
    return tuple(_member(file, entry) for entry in experts)


def _member(file: Path, fields: Any) -> Member:
    if not isinstance(fields, dict) or not isinstance(fields.get("model"), str):
        raise ClassifierError(f"{file}: the router and each expert must name a `model`")
    strange = fields.keys() - {"model", *OF_LAW, *OF_MODEL}
    noise = {name: fields[name] for name in OF_LAW if name in fields}
    wrong = any(type(value) not in (int, float) or not value >= 0 for value in noise.values())
    if strange or wrong or "sigma" not in noise:
        raise ClassifierError(
            f"{file}: {fields['model']} needs `sigma`, a number that is not negative, and may have "
            f"{', '.join((*OF_LAW[1:], *OF_MODEL))}; got {', '.join(sorted(fields))}"
        )
    options = {name: fields[name] for name in OF_MODEL if name in fields}
    for name in ("weights", "denoise"):
        if name in options:
            options[name] = _found(file.parent, str(options[name]))
    return Member(_found(file.parent, fields["model"]), **noise, options=options)


def _found(folder: Path, name: str) -> str:
    """A file of the folder by its path; other names, such as module:name, as they are."""
    own = folder / name.rpartition(":")[0] if ":" in name else folder / name
    if not own.exists():
        return name
    return f"{own}:{name.rpartition(':')[2]}" if ":" in name else str(own)


def adapter(load: Load) -> Adapter:
    """How routed folders are read, with `load_classifier` for their members."""

    def load_folder(name: str, options: ModelOptions) -> Classifier:
        for option in ("mean", "std", "denoise", "scaling"):
            if getattr(options, option):
                raise InvalidInput(
                    f"`{option}` of a routed model stands in its {ROUTE_NAME}, for each member"
                )
        return read_route(name, options.router).load(options, load)

    takes = frozenset({"router", "mean", "engine", "precision"})
    return Adapter(f"a folder with {ROUTE_NAME}", is_routed, load_folder, takes, runs_code=True)
