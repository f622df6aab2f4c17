"""The command line. Nothing else in the package imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.cli.adapt import adapted_text as adapted_text
    from dsrs.cli.attack import EXIT_COUNTEREXAMPLE as EXIT_COUNTEREXAMPLE
    from dsrs.cli.config_file import config_text as config_text
    from dsrs.cli.options import Commands as Commands
    from dsrs.cli.options import Option as Option
    from dsrs.cli.output import print_json as print_json
    from dsrs.cli.output import schema_of as schema_of
    from dsrs.cli.parsing import HelpAsked as HelpAsked
    from dsrs.cli.parsing import help_of as help_of
    from dsrs.cli.parsing import parse as parse
    from dsrs.cli.radii import parse_radii as parse_radii
    from dsrs.cli.set_report import evaluation_text as evaluation_text
    from dsrs.cli.tables import table as table
    from dsrs.cli.tune import RADIUS_COLUMNS as RADIUS_COLUMNS
    from dsrs.cli.tune import round_radii as round_radii
    from dsrs.cli.values import whole_number as whole_number
    from dsrs.cli.values import whole_numbers as whole_numbers
else:
    __all__, __getattr__, __dir__ = exports(
        __name__,
        {
            "adapt": ("adapted_text",),
            "attack": ("EXIT_COUNTEREXAMPLE",),
            "config_file": ("config_text",),
            "options": ("Commands", "Option"),
            "output": ("print_json", "schema_of"),
            "parsing": ("HelpAsked", "help_of", "parse"),
            "radii": ("parse_radii",),
            "set_report": ("evaluation_text",),
            "tables": ("table",),
            "tune": ("RADIUS_COLUMNS", "round_radii"),
            "values": ("whole_number", "whole_numbers"),
        },
    )
