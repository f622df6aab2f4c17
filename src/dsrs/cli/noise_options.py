"""The noise as the command line names it: law, seed and grid, and the file of `dsrs tune`."""

from __future__ import annotations

import argparse
import functools
import json
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dsrs.cli.options import Options, whole_number
from dsrs.errors import DataError, InvalidInput
from dsrs.methods import NEYMAN_PEARSON

if TYPE_CHECKING:
    from dsrs.datasets import Dataset
    from dsrs.laws import GeneralizedGaussian, Grid
    from dsrs.store import KnownInputs

# ---- How the command line names noise laws: the options of P, and the forms of Q

LAW_FORMS = """\
laws: truncated:0.8 (share of the mass), truncated:T=31.8 (radius), truncated:heuristic (the
paper's choice from the lower bound of P_A), rescaled:0.4 (another sigma), rescaled:0.8x (times
sigma), weighted:T:W,T:W,... (P weighted by a line through the log weights W at shells T).
"""


def add_law_options(group: Options, *, from_file: bool = False) -> None:
    """--sigma, --k, --eta of the smoothing law P, or --law with a file of `dsrs tune`."""
    group.add_argument(
        "--sigma",
        type=float,
        required=not from_file,
        help="size of the noise: RMS of one coordinate, in the units of the inputs",
    )
    add_shape_options(group)
    if from_file:
        group.add_argument(
            "--law",
            metavar="FILE",
            kept=False,
            help="law and method from `dsrs tune`, instead of --sigma",
        )


def add_shape_options(group: Options) -> None:
    """--k and --eta of the smoothing law P."""
    group.add_argument("--k", default=0.0, help="exponent, 0 <= k < d/2; 0 (default) is Gaussian")
    group.add_argument(
        "--eta",
        default=2.0,
        help="density |x|^(-2k) exp(-(|x|/s)^eta), eta from 0.5 to 8; 2 (default) is Gaussian",
    )


def law_from(arguments: argparse.Namespace, d: int) -> GeneralizedGaussian:
    """The smoothing law of these options in dimension d."""
    from dsrs.laws import GeneralizedGaussian, smoothing_law_from_dict

    file = getattr(arguments, "law", None)
    if file is None:
        if arguments.sigma is None:
            raise InvalidInput("name the noise with --sigma (and --k), or with --law FILE")
        return GeneralizedGaussian(d, arguments.sigma, arguments.k, arguments.eta)
    if arguments.sigma is not None or arguments.k or arguments.eta != 2:
        raise InvalidInput("--law names the noise; --sigma, --k and --eta cannot be used with it")
    tuned = read_tuned(file)
    law = tuned.get("law")
    if not isinstance(law, dict) or "sigma" not in law:
        raise DataError(f"{file} is not a file of `dsrs tune`: it has no `law` with `sigma`")
    if law.get("d", d) != d:
        raise InvalidInput(f"{file} was tuned for d = {law['d']}, but the inputs have d = {d}")
    return smoothing_law_from_dict({"d": d, "k": 0.0} | law)


def tuned_method(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The method beside Neyman-Pearson that `dsrs tune` chose, as --q takes it."""
    method = read_tuned(arguments.law).get("method")
    if not isinstance(method, str):
        raise DataError(f"{arguments.law} is not a file of `dsrs tune`: it has no `method`")
    return ("none",) if method == NEYMAN_PEARSON else (method,)


def note_on_law(arguments: argparse.Namespace, law: GeneralizedGaussian) -> None:
    """Advice where the noise is not that of the training, and nobody tuned it."""
    try:
        trained = None if arguments.law else trained_law(arguments.model)
    except DataError:
        return  # a file of that name may be another program's
    if trained is not None and trained.sigma != law.sigma:
        print(
            f"note: the model was trained with sigma = {trained.sigma:g}, not {law.sigma:g}. "
            "That may be right; `dsrs tune` tells which noise certifies most.",
            file=sys.stderr,
        )


def trained_law(models: Sequence[str] | None) -> GeneralizedGaussian | None:
    """The law that a model was trained for, as its card says; None for ensembles, and where there
    is no card."""
    from dsrs.laws import smoothing_law_from_dict

    card = card_of(models[0]) if models is not None and len(models) == 1 else None
    try:
        return None if card is None else smoothing_law_from_dict(card["law"])
    except (DataError, KeyError, ValueError) as error:
        raise DataError(f"the card of {models} is not one of `dsrs train`: {error}") from None


def card_of(model: str) -> dict[str, Any] | None:
    """The card that `dsrs train` wrote beside a model, or in its folder; None if there is none."""
    folder = Path(model) if Path(model).is_dir() else Path(model).parent
    card = folder / "card.json"
    return _json_object(card, "a card of `dsrs train`") if card.is_file() else None


def read_tuned(file: str) -> dict[str, Any]:
    """What `dsrs tune`, `dsrs adapt` or `dsrs conformal tune` wrote: a law, and what chose it."""
    return _json_object(Path(file), "a file of `dsrs tune`")


def _json_object(file: Path, what: str) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{file} cannot be read as {what}: {error}") from None
    if not isinstance(content, dict):
        raise DataError(f"{file} is not {what}")
    return content


def inputs_listed(listed: Any, where: str) -> set[int]:
    """The numbers of inputs that a file lists."""
    if not isinstance(listed, list) or not all(type(index) is int for index in listed):
        raise DataError(f"{where} must list inputs by their numbers")
    return set(listed)


# ---- The inputs that chose a noise law, as its file knows them: what is left out, and what is said

# Where nobody asked for it: images in files that are read, and hashes that are computed.
MOST_READ_FOR_NOTE, MOST_HASHES_FOR_NOTE = 2_000, 500_000


def inputs_that_chose(file: str) -> KnownInputs | None:
    """The inputs that the law of a file was chosen on; None where it says nothing of them.

    Files of `dsrs tune` and `dsrs adapt` have a `landscape`, those of `dsrs conformal tune` a
    `tuning`. Older files do not say their data, or not the fingerprints of the inputs.
    """
    from dsrs.store import KnownInputs

    tuned = read_tuned(file)
    places = (("landscape", "inputs", "data"), ("tuning", "indices", "data_fingerprint"))
    for part, inputs, data in places:
        looked = tuned.get(part)
        if isinstance(looked, dict) and inputs in looked:
            inputs_listed(looked[inputs], file)
            numbers, home = tuple(looked[inputs]), looked.get(data)
            named, seed = looked.get("fingerprints", []), looked.get("seed")
            texts = isinstance(named, list) and all(isinstance(each, str) for each in named)
            if not texts or len(named) not in (0, len(numbers)):
                raise DataError(f"{file} must have a fingerprint for each of its inputs, or none")
            if not isinstance(home, str | None) or type(seed) not in (int, type(None)):
                raise DataError(f"{file} must name its data by a text, and its seed by a number")
            return KnownInputs(numbers, home, tuple(named), seed)
    return None


@functools.lru_cache(maxsize=4)
def found_among(known: KnownInputs, dataset: Dataset, indices: tuple[int, ...]) -> frozenset[int]:
    """Which of these inputs are known: kept, since commands ask again when they have a plan."""
    return frozenset(known.among(dataset, indices))


def left_out(
    file: str, dataset: Dataset, chosen: Sequence[int], *, say: bool, quiet: bool
) -> frozenset[int]:
    """Those of the chosen inputs that chose the law of the file, and a line about them.

    What was asked for and cannot be done is said also where it should be `quiet`.
    """
    known = inputs_that_chose(file)
    if known is None:
        raise DataError(f"{file} does not say which inputs chose its law")
    if not known.can_be_found_in(dataset):
        if say:
            _say(f"--leave-out: {file} was chosen on other data; nothing is left out")
        return frozenset()
    found = found_among(known, dataset, tuple(chosen))
    if say and not quiet and not known.are_numbers_of(dataset):
        _say(f"left out {_counted(len(found))} that chose the law (known by their content)")
    return found


def note_on_choice(arguments: argparse.Namespace, dataset: Dataset, chosen: Sequence[int]) -> None:
    """Say how many of these inputs chose the law of --law, where they are not left out."""
    if not arguments.law or arguments.law == arguments.leave_out:
        return
    from dsrs.store import in_memory

    known = inputs_that_chose(arguments.law)
    if known is None or not known.can_be_found_in(dataset):
        return
    hashes = known.tests_among(dataset, len(chosen))
    if hashes > (MOST_HASHES_FOR_NOTE if in_memory(dataset) else MOST_READ_FOR_NOTE):
        return
    if found := found_among(known, dataset, tuple(chosen)):
        _say(
            f"note: {_counted(len(found))} of {len(chosen)} chose this law, which looks better on "
            f"them than it is; --leave-out {arguments.law} certifies the others"
        )


def _counted(count: int) -> str:
    return "1 input" if count == 1 else f"{count} inputs"


def _say(line: str) -> None:
    print(line, file=sys.stderr)


# ---- --grid: what inputs and noise are rounded to


def add_grid(group: Options) -> None:
    """--grid of the noise."""
    group.add_argument(
        "--grid",
        type=grid_step,
        default="default",
        metavar="STEP",
        help="round inputs and noise to multiples of this, so that certificates hold in floating "
        "point: 0.001, 1/4080, or none (default: 4080 steps between the bounds of the data, or "
        "twice, four times ... as many, so that sigma has 16; 8-bit images are exact)",
    )


def grid_from(
    arguments: argparse.Namespace, bounds: tuple[float, float]
) -> Grid | Literal["default"] | None:
    """The grid that these options name; it begins at the lower one of the bounds of the data."""
    from dsrs.laws import DEFAULT_GRID, Grid

    if arguments.grid is None:
        return None
    if arguments.grid == DEFAULT_GRID:
        return DEFAULT_GRID
    return Grid(arguments.grid, float(bounds[0]))


def grid_step(text: str) -> float | str | None:
    """0.001 or 1/4080 as a number, `none` as None."""
    if text in ("default", "none"):
        return None if text == "none" else "default"
    try:
        return float(Fraction(text))
    except (ValueError, ZeroDivisionError, OverflowError):
        raise InvalidInput(
            f"expected a step such as 0.001 or 1/4080, or none, got {text!r}"
        ) from None


# ---- --seed: the key of the noise, given or drawn


def add_seed(group: Options, *, default: int | None, help: str) -> None:
    """--seed of the votes, None for one that is drawn; `help` says what the default means."""
    group.add_argument("--seed", type=seed_text, default=default, metavar="SEED", help=help)


def seed_text(text: str) -> int | None:
    """A whole number, or None for `random`."""
    try:
        return None if text == "random" else whole_number(text)
    except InvalidInput:
        raise InvalidInput(f"expected a whole number or random, got {text!r}") from None


def seed_of_run(seed: int | None, output: str) -> dict[str, Any]:
    """The fields of the plan of a run in the folder `output`.

    A random seed is drawn once: a run that exists is continued with the one that it has.
    """
    from dsrs.noise import fresh_seed
    from dsrs.store import drawn_seed

    if seed is not None:
        return {"seed": seed}
    drawn = drawn_seed(output)
    return {"seed": fresh_seed() if drawn is None else drawn, "seed_public": False}


def noise_text(seed: int | None) -> str:
    """Who knows the noise of the answers that were given."""
    if seed is None:
        return "noise: fresh for each answer"
    return f"noise: public seed {seed}, for experiments"
