"""The command line. Nothing else in the package imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.cli.adapt import adapted_text as adapted_text
    from dsrs.cli.attack import EXIT_COUNTEREXAMPLE as EXIT_COUNTEREXAMPLE
    from dsrs.cli.conformal import evaluation_text as evaluation_text
    from dsrs.cli.options import Commands as Commands
    from dsrs.cli.options import Option as Option
    from dsrs.cli.options import whole_number as whole_number
    from dsrs.cli.options import whole_numbers as whole_numbers
    from dsrs.cli.output import print_json as print_json
    from dsrs.cli.output import schema_of as schema_of
    from dsrs.cli.output import table as table
    from dsrs.cli.parsing import HelpAsked as HelpAsked
    from dsrs.cli.parsing import config_text as config_text
    from dsrs.cli.parsing import help_of as help_of
    from dsrs.cli.parsing import parse as parse
    from dsrs.cli.tune import RADIUS_COLUMNS as RADIUS_COLUMNS
    from dsrs.cli.tune import round_radii as round_radii
    from dsrs.cli.vote_options import parse_radii as parse_radii
else:
    __all__, __getattr__, __dir__ = exports(__name__)
