"""What to sample and how to spend alpha: everything that decides the votes, in one record."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from dsrs.errors import DataError, InvalidInput
from dsrs.laws import GeneralizedGaussian
from dsrs.laws.grid import Grid
from dsrs.laws.parameters import shown
from dsrs.methods.base import Strategy
from dsrs.methods.goals import Goal
from dsrs.methods.naming import method_name, strategy_of
from dsrs.methods.neyman_pearson import NEYMAN_PEARSON
from dsrs.methods.one_bound import OneBound
from dsrs.methods.tailored import TAILORED

Target = Literal["label", "predicted"]
Classes = Literal["top", "all"]
Bound = Literal["plain", "randomized"]

DEFAULT_METHODS = (NEYMAN_PEARSON, TAILORED)
# Counters of the noise generator are 32 bits wide.
MAX_VOTES = 2**32 - 2**16
MAX_BATCH = 1024
LEAST_FOR_PILOT = 10
MOST_VARIATION = 1e-3  # charged to every bound; the default grid charges some 1e-9 to 1e-5
ADAPTIVE_BATCH = 64  # looks fall on whole batches, and the first may be the last


@dataclass(frozen=True, slots=True)
class Plan:
    """The smoothing law, the budget of one input, and the methods to certify it with.

    With the same plan, classifier and input, the votes are the same: on any number of workers, in
    any order of inputs, stopped in between or not.

    law: the smoothing law P.
    methods: `np` (Neyman-Pearson), `tailored` (a law Q chosen for each input), and laws Q of double
        sampling: `truncated:heuristic`, `truncated:paper-heuristic`, `truncated:0.6` (share of P's
        mass), `truncated:T=12.5`, `rescaled:0.4` (beta), `rescaled:0.8x` (beta = 0.8 sigma),
        `weighted:...` (see `laws.Weighted`).
    n: votes of each method. Neyman-Pearson has all under P; double sampling `n_first` under P
        (shared by all methods) and `n_second` under its Q.
    n0: votes that choose the class to certify where there is no label.
    alpha: failure probability of each certificate.
    sample_share: share of n that a double-sampling method spends under P.
    alpha_share: share of alpha that a double-sampling method spends on P's interval.
    fallback: when all `n_first` votes are right, a double-sampling method goes on under P instead
        of Q (see `double_sampling.fallback_interval` for its alpha).
    early_stop: stop on inputs that cannot be certified any more; they are abstained on.
    target: certify the `label` where there is one, or always the `predicted` class.
    batch: rows of every forward pass, always full: a model's floating-point results may depend on
        it, so it belongs to the plan and not to the machine. 0: chosen from d.
    radius, radii, precision: stop as soon as the answer is known, at one of the looks fixed before
        the votes: whether this radius is certified; between which of these radii it lies; the
        radius to this relative precision. At most one of them; n is then the most votes.
    classes: `top` certifies a majority; `all` may compare the class with every other one.
    bound: `plain` Clopper-Pearson, or `randomized` (see `confidence.randomized`).
    grid: what inputs and noise are rounded to, so that certificates hold in floating point;
        `Grid.of_bounds(classifier.bounds)` suits 8-bit images. None adds them in float32.
    """

    law: GeneralizedGaussian
    methods: tuple[str, ...] = DEFAULT_METHODS
    n: int = 100_000
    n0: int = 100
    alpha: float = 0.001
    seed: int = 0
    sample_share: float = 0.5
    alpha_share: float = 0.5
    fallback: bool = False
    early_stop: bool = False
    target: Target = "label"
    batch: int = 0
    radius: float | None = None
    radii: tuple[float, ...] = ()
    precision: float | None = None
    classes: Classes = "top"
    bound: Bound = "plain"
    grid: Grid | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.grid, Grid | None):
            raise InvalidInput(f"`grid` must be a Grid or None, got {shown(self.grid)}")
        if self.grid is not None and self.grid.variation(self.law) > MOST_VARIATION:
            raise InvalidInput(
                f"`grid` must have a larger step than {self.grid.step:g}: noise in double "
                "precision would be told from the law's own with a probability of "
                f"{self.grid.variation(self.law):.1g} a vote"
            )
        for name, least in (("n", 1), ("n0", 1), ("seed", 0), ("batch", 0)):
            _whole(name, getattr(self, name), least)
        if max(self.n, self.n0) > MAX_VOTES:
            raise InvalidInput(f"`n` and `n0` must not exceed {MAX_VOTES}, got {self.n}, {self.n0}")
        for name in ("alpha", "sample_share", "alpha_share"):
            value = getattr(self, name)
            if not (isinstance(value, (int, float)) and 0 < value < 1):
                raise InvalidInput(f"`{name}` must be in (0, 1), got {shown(value)}")
        if self.target not in ("label", "predicted"):
            raise InvalidInput(f"`target` must be 'label' or 'predicted', got {self.target!r}")
        for name, allowed in (("classes", ("top", "all")), ("bound", ("plain", "randomized"))):
            if getattr(self, name) not in allowed:
                raise InvalidInput(
                    f"`{name}` must be {' or '.join(allowed)}, got {shown(getattr(self, name))}"
                )
        object.__setattr__(self, "radii", tuple(sorted(self.radii)))
        adaptive = not self.goal.is_open
        if not self.batch:
            batch = default_batch(self.law.d)
            object.__setattr__(self, "batch", min(batch, ADAPTIVE_BATCH) if adaptive else batch)
        if self.batch.bit_count() != 1 or self.batch > MAX_BATCH:
            raise InvalidInput(
                f"`batch` must be a power of two up to {MAX_BATCH}, got {self.batch}"
            )
        object.__setattr__(self, "methods", tuple(self.methods))
        if len(set(self.methods)) < len(self.methods):
            raise InvalidInput(f"`methods` names one twice: {', '.join(self.methods)}")
        if not self.methods:
            raise InvalidInput("`methods` must name at least one method, such as np")
        others = [one.text for one in self.strategies().values() if not isinstance(one, OneBound)]
        if others and (adaptive or self.classes == "all" or self.bound == "randomized"):
            raise InvalidInput(
                "a radius or precision to stop at, `classes` = all and `bound` = randomized are "
                f"for methods with one bound (np, tailored), not for {', '.join(others)}: double "
                "sampling rests on two intervals, and has no looks with parts of alpha"
            )
        if TAILORED in self.methods and self.n < LEAST_FOR_PILOT:
            raise InvalidInput(
                f"`n` = {self.n} votes cannot be split into a pilot and the votes of its law; "
                f"tailored needs {LEAST_FOR_PILOT} or more"
            )
        if self.laws and not 0 < self.n_first < self.n:
            raise InvalidInput(
                f"`n` = {self.n} votes cannot be split between P and Q with "
                f"`sample_share` = {self.sample_share:g}; use more votes"
            )

    @property
    def goal(self) -> Goal:
        """When to stop."""
        return Goal(self.radius, self.radii, self.precision)

    @property
    def laws(self) -> tuple[str, ...]:
        """The methods that are laws of double sampling."""
        return tuple(text for text in self.methods if ":" in text)

    @property
    def n_first(self) -> int:
        """Votes under P that a double-sampling method uses."""
        return round(self.n * self.sample_share)

    @property
    def n_second(self) -> int:
        """Votes under Q that a double-sampling method uses."""
        return self.n - self.n_first

    def strategies(self) -> dict[str, Strategy]:
        """The strategy of each method, by the name of its certificates."""
        return {self.name_of(text): strategy_of(self, text) for text in self.methods}

    def name_of(self, text: str) -> str:
        """`truncated` for `truncated:0.6`; the whole text where several methods share the word."""
        return method_name(text, self.methods)

    def replace(self, **changes: Any) -> Plan:
        """The same plan with some fields changed."""
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without loss."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        lists = {"methods": list(self.methods), "radii": list(self.radii)}
        grid = None if self.grid is None else self.grid.to_dict()
        return fields | {"law": self.law.to_dict(), "grid": grid} | lists

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Plan:
        """The plan that `to_dict` was made from."""
        known = {field.name for field in dataclasses.fields(cls)}
        if set(fields) != known:
            strange = ", ".join(sorted(set(fields) ^ known))
            raise DataError(f"the fields of a plan are missing or unknown: {strange}")
        law = GeneralizedGaussian.from_dict(fields["law"])
        tuples = {name: tuple(fields[name]) for name in ("methods", "radii")}
        grid = Grid.from_dict(fields["grid"])
        return cls(**(fields | {"law": law, "grid": grid} | tuples))


def default_batch(d: int) -> int:
    """A power of two from 16 to 256 whose rows hold about 16 MB of float32 pixels."""
    return 1 << min(8, max(4, (2**22 // d).bit_length() - 1))


def _whole(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidInput(f"`{name}` must be a whole number >= {least}, got {shown(value)}")
