"""What a new user met: sentences that were wrong or misleading."""

import pytest
from typer.testing import CliRunner

from ordinate import STE, sample_points, sample_triplets
from ordinate.cli import app


def test_a_plan_tells_nothing_of_fewer_answers_than_were_simulated(tmp_path):
    items = tmp_path / "items.txt"
    items.write_text("\n".join("abcdef"))
    plan = ["plan", str(items), "-d", "1", "--error"]
    table = CliRunner().invoke(app, [*plan, "0.01"]).stdout.splitlines()
    assert ", half as many one of " in table[0]
    assert " in 1 dimension with " in table[0]
    most, next_most = (float(line.split()[1]) for line in table[3:5])
    told = CliRunner().invoke(app, [*plan, str((most + next_most) / 2)]).stdout
    assert "half as many are fewer than were simulated" in told


@pytest.mark.parametrize("output", ["one", "other", "."])
def test_a_comparison_never_replaces_the_maps_that_it_compares(tmp_path, output):
    maps = tmp_path / "one", tmp_path / "other"
    model = STE(random_state=0).fit(sample_triplets(sample_points(6), 200, random_state=0))
    for folder in maps:
        model.save(folder)
    result = CliRunner().invoke(
        app, ["compare", *map(str, maps), "-o", str(tmp_path / output), "--force"]
    )
    assert result.exit_code == 4
    assert "which is needed: name another" in result.stderr
    assert all((folder / "model.json").exists() for folder in maps)
