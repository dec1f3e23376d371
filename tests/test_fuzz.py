"""The harness of ``make fuzz`` can fail: each defect planted here is reported by it."""

import sys
from collections import Counter
from random import Random
from types import SimpleNamespace

import pytest

pytest.importorskip("resource", reason="a system without limits on processes")

from fuzz import commands, corrupted, kills, known, mutated, results, shell, ways
from fuzz.features import make_sheet
from fuzz.formats import write
from fuzz.running import Pool, examine, names
from fuzz.shell import Done

from ordinate import readers
from ordinate.files import inputs

# A program that writes in place, slowly, beside a scratch folder that it does not use.
IN_PLACE = """
import pathlib, sys, time
source, target = pathlib.Path(sys.argv[2]), pathlib.Path("table.csv")
pathlib.Path(".ordinate-x").mkdir()
text = source.read_text()
with target.open("w") as file:
    file.write(text[:50])
    file.flush()
    time.sleep(0.3)
    file.write(text[50:])
pathlib.Path(".ordinate-x").rmdir()
"""


def problems(check, tmp_path, n=40):
    """Run cases of a part here; return what it finds."""
    found = []
    for number in range(n):
        folder = tmp_path / str(number)
        folder.mkdir()
        found += examine(check, Random(f"test:{number}"), folder)
    return found


def without_last_row(reading):
    triplets = reading.triplets
    return reading._replace(
        triplets=triplets[: len(triplets) - 1] if len(triplets) > 1 else triplets
    )


@pytest.mark.parametrize("check", [known.check, mutated.check])
def test_a_reader_that_drops_a_row_silently_is_reported(tmp_path, monkeypatch, check):
    read = readers.read
    monkeypatch.setattr(readers, "read", lambda *a, **o: without_last_row(read(*a, **o)))
    found = problems(check, tmp_path)
    assert any("in place of" in problem or "are lost" in problem for problem in found)


def test_a_reader_that_miscounts_is_reported(tmp_path, monkeypatch):
    read = readers.read

    def miscounting(*args, **options):
        reading = read(*args, **options)
        return reading._replace(n_used=reading.n_used - 1)

    monkeypatch.setattr(readers, "read", miscounting)
    assert any("told as dropped" in problem for problem in problems(mutated.check, tmp_path))


def test_a_reader_that_swaps_near_and_far_is_reported(tmp_path, monkeypatch):
    read = readers.read

    def swapping(*args, **options):
        reading = read(*args, **options)
        triplets = reading.triplets
        swapped = type(triplets)(triplets.rows[:, [0, 2, 1]], items=triplets.items)
        return reading._replace(triplets=swapped)

    monkeypatch.setattr(readers, "read", swapping)
    assert any("in place of" in problem for problem in problems(known.check, tmp_path))


def test_a_file_that_is_refused_for_nothing_is_reported(tmp_path, monkeypatch):
    def refusing(path, **options):
        raise readers.ReadError(f"{path}: no")

    monkeypatch.setattr(readers, "read", refusing)
    assert any("refused" in problem for problem in problems(known.check, tmp_path))


def test_a_second_way_of_reading_that_loses_a_row_is_reported(tmp_path, monkeypatch):
    def losing(path, memory_limit=None, **options):
        reading = without_last_row(readers.read(path, **options))
        return inputs.Source(reading.triplets, path, *reading[1:])

    monkeypatch.setattr(ways, "open_source", losing)
    assert any("in place of" in problem for problem in problems(ways.check, tmp_path))


def test_damage_that_changes_an_answer_is_reported(tmp_path, monkeypatch):
    def trusting(path):
        reading = readers.read(corrupted._made("fast folder", "words", False))
        return without_last_row(reading) if path.is_relative_to(tmp_path) else reading

    monkeypatch.setattr(corrupted, "readers", SimpleNamespace(read=trusting))
    assert any("in place of" in problem for problem in problems(corrupted.check, tmp_path))


def test_a_command_that_writes_in_place_is_reported(tmp_path, monkeypatch):
    script = tmp_path / "in_place.py"
    script.write_text(IN_PLACE)
    kind = results.Kind("convert {}.csv -o table.csv", "table.csv", results._file)
    for module in (kills, results):
        monkeypatch.setattr(module, "KINDS", (kind,))
    results._both.cache_clear()
    monkeypatch.setattr(results, "scratch", lambda: tmp_path)
    monkeypatch.setattr(shell, "PROGRAM", (sys.executable, str(script)))
    monkeypatch.setattr(shell, "WARM", ())
    found = problems(kills.check, tmp_path, 6)
    results._both.cache_clear()
    assert any("is neither the old nor the new result" in problem for problem in found)


@pytest.mark.parametrize(
    ("done", "problem"),
    [
        (Done(1, "", "error: KeyError"), "exit code 1"),
        (Done(-11, "", ""), "exit code -11"),
        (Done(3, "", ""), "without a message"),
        (Done(3, "", "Traceback (most recent call last)\nValueError: error: x"), "a traceback"),
        (Done(3, "", "error: " + "x" * 70_000), "a message of 70,007 characters"),
    ],
)
def test_an_end_that_helps_nobody_is_reported(done, problem):
    assert any(problem in found for found in commands.ended(done, allowed=(3,)))
    assert not commands.ended(Done(3, "", "error: it is empty"), allowed=(3,))


def test_crashes_hangs_and_runaways_are_reported():
    expected = {
        "_crash": "SIGSEGV",
        "_hang": "it hangs",
        "_grow": "MiB of memory",
        "_raise": "KeyError in planted.py",
    }
    cases = {}
    for name in names("planted", 1, 40):
        cases.setdefault(Random(name).choice([*expected]), name)
    with Pool() as pool:
        result = pool.run("planted", cases.values())
    told = {failure.case: failure.problem for failure in result.failures}
    assert result.n_cases == len(told) == len(expected)
    for defect, words in expected.items():
        assert words in told[cases[defect]]


def test_a_process_that_aborts_after_its_cases_is_told_of(monkeypatch, capfd):
    monkeypatch.setenv("ORDINATE_FUZZ_ABORT", "1")
    with Pool() as pool:
        pool.run("planted", ["planted:0:0"])
    assert "note: a process ended with SIGABRT after all of its cases" in capfd.readouterr().out


def test_cases_are_made_from_their_names_alone(tmp_path):
    made = []
    for attempt in ("one", "two"):
        (tmp_path / attempt).mkdir()
        rng = Random("known:1:5")
        written = write(rng, make_sheet(rng), tmp_path / attempt)
        made.append((written.sheet.truth(), written.path.name, written.how))
    assert made[0] == made[1]


def test_all_layouts_and_formats_occur():
    rng = Random(1)
    layouts = Counter(make_sheet(rng).layout for _ in range(500))
    assert {*layouts} == {entry.name for entry in readers.LAYOUTS}


def test_what_is_dropped_is_read_from_the_notes():
    notes = ["1,200 of 4,000 rows dropped: the time ran out", "3 of 5 rows dropped: x", "other"]
    assert known.dropped(notes) == 1203
