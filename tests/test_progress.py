"""Progress is counted as it comes: as many steps as were announced, and the time that is left."""

import numpy as np
import pytest
from typer.testing import CliRunner

import ordinate
from ordinate import STE, OrdinalEmbedding, Triplets, ondisk, sample_points, sample_triplets
from ordinate._base import progress
from ordinate.cli import _shell, app
from ordinate.evaluation import held_out
from ordinate.evaluation.analysis import analyse, analyse_stored

TRIPLETS = sample_triplets(3 * sample_points(10, random_state=0), 600, random_state=0)


class Listener:
    """Counts what is announced, and what comes."""

    def __init__(self):
        self.expected, self.told = 0, []

    def expect(self, n_steps):
        self.expected += n_steps

    def step(self, what):
        self.told.append(what)


def counted(analysis, *arguments, **options):
    listener = Listener()
    with progress.shown_by(listener):
        analysis(*arguments, tell=listener.step, **options)
    assert listener.expected == len(listener.told)
    return [what for what in listener.told if what]


def test_every_dimension_of_every_map_is_a_step(monkeypatch):
    monkeypatch.setattr(held_out, "MANY_TO_CHOOSE_BY", 100)  # one part is held out, and not five
    told = counted(analyse, OrdinalEmbedding((1, 2), random_state=0), TRIPLETS)
    steps = ["2 dimensions", "1 dimension", "choosing the model", "fitting"]
    held_out_map = ["held-out answers", "map 1 of 1", *steps]
    assert told == [*held_out_map, "the map of all answers", *steps]


def test_answers_in_doubt_take_more_steps():
    rng = np.random.default_rng(0)
    noise = Triplets([rng.permutation(8)[:3] for _ in range(300)])
    with ordinate.threads(2):
        told = counted(analyse, STE(random_state=0), noise, folds=2)
    assert "what sound answers to these questions would give" in told


def test_streams_count_too(tmp_path):
    ondisk.write([TRIPLETS], tmp_path / "fast")
    file = ondisk.open_triplets(tmp_path / "fast")
    assert counted(analyse_stored, STE(random_state=0), file) == ["the map, streamed"]


def test_nobody_need_listen():
    progress.expect(3)
    progress.step("unheard")


def test_a_bar_knows_the_time_left_however_long_steps_take():
    now = 0.0
    bar = _shell._bar()
    bar.get_time = lambda: now
    shown = _shell.StagesOnBar(bar)
    shown.expect(2)
    shown.begin("reading")
    shown.expect(2)
    for name in ("6 dimensions", "5 dimensions"):
        now += 600.0
        shown.step(name)
    (task,) = bar.tasks
    assert (task.completed, task.total) == (2, 4)
    assert task.description == "reading: 5 dimensions"
    assert task.time_remaining == pytest.approx(1200)
    shown.step("")
    assert task.description == "reading: 5 dimensions"


def test_fit_shows_a_line_for_each_dimension(tmp_path):
    rows = "\n".join(",".join(map(str, row)) for row in TRIPLETS.rows.tolist())
    (tmp_path / "a.csv").write_text(f"anchor,near,far\n{rows}\n")
    options = [str(tmp_path / "a.csv"), "-d", "1-2", "--folds", "0"]
    told = CliRunner().invoke(app, ["fit", *options]).output.splitlines()
    lines = [line for line in told if line.endswith(" ...")]
    assert lines == [
        "reading ...",
        "the map of all answers ...",
        "the map of all answers: 2 dimensions ...",
        "the map of all answers: 1 dimension ...",
        "the map of all answers: choosing the model ...",
        "the map of all answers: fitting ...",
        "figure of dimensions ...",
        "figure ...",
        "report ...",
        "record ...",
    ]
