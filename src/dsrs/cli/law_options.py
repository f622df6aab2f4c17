"""How the command line names noise laws: the options of P, and the forms of Q."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsrs.cli.options import Options
from dsrs.errors import DataError, InvalidInput
from dsrs.methods import NEYMAN_PEARSON

if TYPE_CHECKING:
    from dsrs.laws import GeneralizedGaussian

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
