"""Raw files as labs publish them: found at once, or refused with remedies that work when pasted."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ordinate.cli import app
from ordinate.readers import LAYOUTS, ReadError, Remedy, read

FOLDER = Path(__file__).parent / "fixtures"

# File, the remedies to paste one after the other (the first words of each), layout, rows as labels.
RAW = [
    ("jspsych_keys.csv", [], "response", ["oak|elm|yew", "elm|yew|oak"]),
    (
        "jspsych_buttons.json",
        ["--response 0=first,1=second"],
        "response",
        ["ash.jpg|elm.jpg|oak.jpg", "oak.jpg|ash.jpg|elm.jpg"],
    ),
    (
        "jspsych_buttons.csv",
        ["--layout odd_one_out", "--drop repeated"],
        "odd_one_out",
        ["elm|yew|oak", "yew|elm|oak", "ash|oak|elm", "oak|ash|elm"],
    ),
    (
        "meadows.csv",
        ["--layout odd_one_out", "--drop repeated"],
        "odd_one_out",
        ["oak|elm|yew", "elm|oak|yew", "ash|yew|oak", "yew|ash|oak"],
    ),
    (
        "mturk.csv",
        ["--drop repeated"],
        "response",
        ["oak.jpg|elm.jpg|yew.jpg", "elm.jpg|yew.jpg|oak.jpg"],
    ),
    (
        "mturk_wide.csv",
        ["--columns", "--drop repeated"],
        "response",
        ["oak|elm|yew", "yew|ash|elm", "elm|ash|oak", "ash|elm|oak", "ash|yew|oak"],
    ),
    (
        "qualtrics.csv",
        ["--columns", "--drop repeated"],
        "response",
        ["oak|elm|yew", "yew|oak|ash", "elm|ash|oak", "oak|yew|elm"],
    ),
    (
        "bare_participant.txt",
        ["--columns first=0,second=1,odd=2,participant=3", "--drop repeated"],
        "odd_one_out",
        [
            *("4|17|16", "17|4|16", "14|15|10", "15|14|10", "3|15|12", "15|3|12"),
            *("16|4|10", "4|16|10", "12|14|3", "14|12|3"),
        ],
    ),
    (
        "things_choice.csv",
        ["--layout odd_one_out"],
        "odd_one_out",
        ["4|3|1854", "3|4|1854", "2|4|1854", "4|2|1854", "2|4|1854", "4|2|1854"],
    ),
    (
        "stim_names.csv",
        ["--layout most_central", "--drop repeated"],
        "most_central",
        ["elm|oak|yew", "yew|oak|elm", "elm|yew|ash", "ash|yew|elm", "oak|ash|yew", "yew|ash|oak"],
    ),
    (
        "responses_fj.csv",
        ["--drop repeated", "--drop repeated,unanswered"],
        "response",
        ["oak|elm|yew", "elm|yew|oak"],
    ),
    (
        "responses_01.csv",
        ["--response 0=second,1=first"],
        "response",
        ["oak|elm|yew", "elm|yew|oak", "yew|elm|oak"],
    ),
    (
        "near_far_response.csv",
        ["--columns", "--response 1=first,-1=second"],
        "response",
        ["oak|elm|yew", "elm|yew|oak", "yew|oak|elm"],
    ),
]


def rows_of(path):
    text = path.read_text().splitlines()
    return ["|".join(line.replace('"', "").split(",")[:3]) for line in text[1:]]


def paste(tmp_path, name, beginnings):
    """Run ``ordinate convert``, paste the remedies of its errors, and return all options."""
    options, output = [], tmp_path / "triplets.csv"
    for beginning in beginnings:
        result = CliRunner().invoke(app, ["check", str(FOLDER / name), *options])
        assert result.exit_code == 3, result.output
        lines = [line.strip() for line in result.stderr.splitlines() if line.startswith("    --")]
        (line,) = [line for line in lines if line.startswith(beginning)]
        options += shlex.split(line, comments=True)
    result = CliRunner().invoke(
        app, ["convert", str(FOLDER / name), "-o", str(output), "--force", *options]
    )
    assert result.exit_code == 0, result.output
    return output, result.stderr


@pytest.mark.parametrize(("name", "remedies", "layout", "rows"), RAW)
def test_remedies_work_when_pasted(tmp_path, name, remedies, layout, rows):
    output, said = paste(tmp_path, name, remedies)
    assert rows_of(output) == rows
    dropped = [int(n) for n in re.findall(r"note: (\d+) of \d+ rows dropped", said)]
    assert sum(dropped) > 0 or name in ("near_far_response.csv", "mturk_wide.csv")


@pytest.mark.parametrize(("name", "remedies", "layout", "rows"), RAW)
def test_remedies_are_data(name, remedies, layout, rows):
    options = {}
    for beginning in remedies:
        with pytest.raises(ReadError) as caught:
            read(FOLDER / name, **options)
        option = beginning.split()[0].removeprefix("--")
        fitting = [r for r in caught.value.remedies if option in r.options]
        values = beginning.partition(" ")[2].replace(",", "")
        written = [as_written(r.options[option]) for r in fitting]
        (chosen,) = [r for r, w in zip(fitting, written, strict=True) if w.startswith(values)]
        assert str(chosen) in str(caught.value)
        options |= chosen.options
    reading = read(FOLDER / name, **options)
    triplets = reading.triplets
    assert reading.layout == layout
    assert ["|".join(map(str, row)) for row in triplets.labels[triplets.rows]] == rows


def as_written(value):
    if isinstance(value, dict):
        return "".join(f"{key}={entry}" for key, entry in value.items())
    return value if isinstance(value, str) else "".join(value)
