"""Options whose choices live in the library: refused when wrong, all of them named in the help."""

from __future__ import annotations

import pytest

from dsrs.cli.main import main
from dsrs.exchange import EXPORTS, FORMATS
from dsrs.paper.published import TITLES
from dsrs.paper.table_formats import FORMATS as TABLE_FORMATS
from dsrs.training.defaults import DATA
from dsrs.training.recipes import RECIPES

CHOICES = {
    ("export", "--format"): EXPORTS,
    ("import", "--format"): FORMATS,
    ("train", "--recipe"): RECIPES,
    ("train", "--like"): DATA,
    ("paper tables", "--format"): TABLE_FORMATS,
    ("paper tables", "--table"): TITLES,
}


@pytest.mark.parametrize(("verb", "option"), CHOICES)
def test_help_names_every_choice(
    verb: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*verb.split(), "--help"])
    text = " ".join(capsys.readouterr().out.split()).replace("- ", "-")
    described = text.partition(f"{option} {option.strip('-').upper()} ")[2].partition(" --")[0]
    for name in CHOICES[verb, option]:
        assert name in described


@pytest.mark.parametrize(("verb", "option"), CHOICES)
def test_another_choice_is_refused(
    verb: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*verb.split(), option, "nonsense"])
    assert stop.value.code == 2
    told = " ".join(capsys.readouterr().err.split())
    assert f"argument {option}: expected one of" in told
    assert "got 'nonsense'" in told
