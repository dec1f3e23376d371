"""What a new user met: sentences that were wrong or misleading."""

from typer.testing import CliRunner

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
