"""What commands about two maps, groups and halves say, each in its own words; and what fails alone."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest
from commands import plain
from pyarrow.csv import write_csv
from typer.testing import CliRunner

from ordinate import GNMDS, LOE, STE, Triplets, compare, sample_points, sample_triplets, split_half
from ordinate._base.messages import Either, Message
from ordinate.algorithms.starts import Ending, agreement
from ordinate.cli import app
from ordinate.estimators.likelihood import check_likelihood
from ordinate.evaluation.groups import compare_groups
from ordinate.files.maps import write_map

N = 10
POINTS = sample_points(N, 2, random_state=0)
ITEMS = [f"item {k}" for k in range(N)]
QUICK = {"init": POINTS, "n_init": 1, "random_state": 0}


def run(*words, code=0):
    done = CliRunner().invoke(app, plain(*words))
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


def triplets_of(n_rows, **more):
    rows = sample_triplets(POINTS, n_rows, random_state=0).rows
    return Triplets(rows, items=ITEMS, **more)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A map that is sure, one that is not, and one that cannot tell; and a table of answers."""
    folder = tmp_path_factory.mktemp("told")
    STE(2, **QUICK).fit(triplets_of(3000)).save(folder / "sure")
    few = STE(2, **QUICK, regularization=1.0).fit(triplets_of(40))
    assert few.covariance_doubt_ is not None
    few.save(folder / "unsure")
    GNMDS(2, **QUICK).fit(triplets_of(300)).save(folder / "silent")
    table = triplets_of(600).to_arrow()
    kind = [["a", "b", "c"][k % 2] if k > 3 else "c" for k in range(600)]
    write_csv(table.append_column("kind", [kind]), folder / "answers.csv")
    return folder


def test_doubt_is_told_of_the_map_that_has_it_and_only_where_chance_is_told(folder, tmp_path):
    doubt = "what is said of chance is not to be trusted"
    told = run("compare", folder / "sure", folder / "unsure", "-o", tmp_path / "a")
    assert told.count(f"{doubt}: of the second map, there are") == 1
    assert "Give the --answers too" in told
    told = run("compare", folder / "unsure", folder / "silent", "-o", tmp_path / "b")
    assert doubt not in told
    assert "cannot be told" in told
    with pytest.warns(UserWarning, match=f"{doubt}: of the first map.*Give the answers=... too"):
        compare(folder / "unsure", folder / "sure")


def test_the_next_questions_repeat_the_doubt(folder, tmp_path):
    ask = ("ask", "--budget", 20, "-o")
    told = run(*ask, tmp_path / "a.csv", "--after", folder / "unsure")
    assert "how uncertain is itself not to be trusted: there are" in told
    assert "not to be trusted" not in run(*ask, tmp_path / "b.csv", "--after", folder / "sure")


def test_methods_are_named_as_options_on_the_command_line(folder, tmp_path):
    told = run("ask", "--after", folder / "silent", "--budget", 9, "-o", tmp_path / "q", code=2)
    assert "GNMDS gives no probabilities: take a map by --method ordinal, ste, tste or ckl" in told
    with pytest.raises(ValueError, match="take OrdinalEmbedding, PowerEmbedding, STE, TSTE or CKL"):
        check_likelihood(GNMDS())
    answers, out = folder / "answers.csv", tmp_path / "out"
    told = run("fit", answers, "-o", out, "--groups", "kind", "--method", "soe", code=2)
    assert "such as --method ste" in told
    halves = ("--halves", 2, "--halves-by", "participant", "--method", "ste")
    told = run("fit", answers, "-o", out, *halves, code=2)
    assert "--halves-by participant needs triplets that say who answered" in told
    assert "as in --columns participant=..." in told
    assert "the map of all answers" not in told  # said before the work
    with pytest.raises(ValueError, match="by='participant' needs .* as in participant=..."):
        triplets_of(30).groups("participant")
    told = run("place", tmp_path, answers, "-o", out, code=3)
    assert "give a folder that `ordinate fit` wrote" in told
    message = Message("take ", Either("STE", "--method ste"))
    assert (str(message), message.spelled(str)) == ("take STE", "take --method ste")


def test_labels_that_differ_by_case_are_told_of_maps(folder, tmp_path):
    write_map(tmp_path / "other.csv", [item.title() for item in ITEMS[:2]] + ITEMS[2:], POINTS, {})
    told = run("compare", folder / "sure", tmp_path / "other.csv", "-o", tmp_path / "out")
    assert "some of these differ only by case" in told
    write_map(tmp_path / "few.csv", ["item 0", *ITEMS[:0:-1]], POINTS, {})
    (tmp_path / "few.csv").write_text("label,dim1,dim2\nitem 0,1,2\nx,1,1\n")
    told = run("compare", folder / "sure", tmp_path / "few.csv", "-o", tmp_path / "no", code=3)
    assert "the maps share 1 item by their labels" in told
    (tmp_path / "latin.csv").write_bytes(b"label,dim1,dim2\ncaf\xe9,1,2\n")
    told = run("compare", folder / "sure", tmp_path / "latin.csv", "-o", tmp_path / "no", code=3)
    assert "Save it as UTF-8" in told


@pytest.mark.parametrize("name", ["out.jpg", "out.PNG", "out.pdf"])
def test_folders_are_not_called_as_files_are(folder, tmp_path, name):
    out = tmp_path / name
    told = run("compare", folder / "sure", folder / "unsure", "-o", out, code=2)
    assert f"leave {out.suffix} out" in told
    run("fit", folder / "answers.csv", "-o", out, code=2)
    run("place", folder / "sure", folder / "answers.csv", "-o", out, code=2)
    assert not out.exists()


FIT = ("--method", "ste", "--folds", 2, "--starts", 1)


def test_a_fit_is_kept_where_groups_cannot_be_judged(folder, tmp_path):
    few = tmp_path / "few.csv"
    few.write_text("".join((folder / "answers.csv").read_text().splitlines(True)[:60]))
    told = run("fit", few, "-o", tmp_path / "out", "--groups", "kind", *FIT)
    assert told.count("groups could not be judged: none of the 3 groups has enough answers") == 1
    assert "get no map" not in told  # which would say it twice
    assert (tmp_path / "out" / "embedding.csv").exists()
    assert not (tmp_path / "out" / "groups.csv").exists()


def test_one_small_group_is_told_in_good_english(folder, tmp_path):
    told = run("fit", folder / "answers.csv", "-o", tmp_path / "out", "--groups", "kind", *FIT)
    assert "1 of 3 groups has fewer than 50 answers, or fewer than coordinates to find, and" in told
    assert told.count("gets no map: c (4)") == 1
    with pytest.warns(UserWarning, match="1 of 600 triplets names no group"):
        compare_groups(STE(2, **QUICK), triplets_of(600), [None] + [1, 2] * 299 + [1], folds=2)


def test_a_disk_that_fills_while_groups_are_written_costs_the_groups(folder, tmp_path, monkeypatch):
    write = Path.write_bytes

    def attempt(path, *args):
        if path.name == "groups.png" or (path.name == "embedding.png" and "b" in path.parts):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, *args)

    monkeypatch.setattr(Path, "write_bytes", attempt)
    out = tmp_path / "out"
    told = run("fit", folder / "answers.csv", "-o", out, "--groups", "kind", *FIT, code=4)
    assert "the figure of groups and the group b could not be written; the map is in" in told
    assert (out / "run.json").exists()
    assert (out / "groups.csv").exists()
    assert (out / "groups" / "a" / "report.html").exists()
    assert (out / "groups" / "b" / "embedding.csv").exists()


def test_a_group_that_cannot_be_drawn_is_told_and_costs_nothing(folder, tmp_path, monkeypatch):
    from ordinate.study import group_folders

    monkeypatch.setattr(group_folders, "plot_groups", lambda *_, **__: 1 / 0)
    out = tmp_path / "out"
    told = run("fit", folder / "answers.csv", "-o", out, "--groups", "kind", *FIT)
    assert "the figure of groups could not be written: ZeroDivisionError" in told
    assert (out / "groups" / "a" / "run.json").exists()


def test_items_without_a_name_keep_their_label_in_the_figure_of_groups(
    folder, tmp_path, monkeypatch
):
    from ordinate.study import group_folders

    shown = []
    monkeypatch.setattr(group_folders, "plot_groups", lambda *_, labels: shown.extend(labels))
    items = tmp_path / "items.csv"
    named = ["", "oak", "oak", *"abcdefg"]
    lines = [f"{item},{name}" for item, name in zip(ITEMS, named, strict=True)]
    items.write_text("\n".join(["label,name", *lines]))
    out = tmp_path / "out"
    run("fit", folder / "answers.csv", "-o", out, "--groups", "kind", "--items", items, *FIT)
    assert shown == ["item 0", "oak (item 1)", "oak (item 2)", *"abcdefg"]


def test_groups_go_with_leaving_out_who_guesses(tmp_path):
    rng = np.random.default_rng(0)
    triplets = triplets_of(3000)
    who = np.arange(3000) % 6
    rows = np.where((who == 5)[:, None], rng.permuted(triplets.rows, axis=1), triplets.rows)
    table = Triplets(rows, items=ITEMS, participant=[f"p{k}" for k in who]).to_arrow()
    kind = [["a", "b"][k % 2] for k in who]
    write_csv(table.append_column("kind", [kind]), tmp_path / "answers.csv")
    out = tmp_path / "out"
    told = run(
        *("fit", tmp_path / "answers.csv", "-o", out, "--groups", "kind", "--exclude-chance"), *FIT
    )
    assert "p5" in told
    counts = {
        line.split(",")[0].strip('"'): int(line.split(",")[1])
        for line in (out / "groups.csv").read_text().splitlines()[1:]
    }
    assert counts == {"a": 1500, "b": 1000}
    assert (out / "groups" / "b" / "embedding.csv").exists()


def test_halves_that_do_not_agree_promise_nothing():
    rng = np.random.default_rng(1)
    rows = np.array([rng.permutation(N)[:3] for _ in range(60)])
    found = split_half(STE(2, **QUICK, regularization=1.0), Triplets(rows, n_items=N), n_splits=1)
    assert "(in one split)" in found.sentence
    nothing = found._replace(reliability=np.nan).sentence
    assert nothing.endswith(
        "Of two maps of all answers nothing can be expected, as halves do not agree"
    )
    assert "nan" not in nothing


def test_losses_of_starts_are_told_once_and_with_digits_that_differ():
    ended = [Ending("a", 1e-9, 0.0), Ending("b", 2e-9, 0.8), Ending("c", 3e-9, 0.9)]
    assert agreement(ended) == (
        "1 of 3 starts ends in this map; the losses of the others are 2e-09 to 3e-09, of this one "
        "1e-09"
    )


@pytest.mark.parametrize("action", ["place", "transform", "partial_fit"])
def test_ids_for_a_map_with_labels_are_told(action):
    model = STE(2, **QUICK).fit(triplets_of(300))
    with pytest.warns(UserWarning, match="taken for positions, so that 0 is item 0"):
        getattr(model, action)([[0, 1, 2]])
    with pytest.raises(TypeError, match="Triplets.from_columns"):
        getattr(model, action)([["item 0", "item 1", "item 2"]])


def test_light_weights_are_not_called_a_contradiction():
    rows = sample_triplets(POINTS, 6000, random_state=0).rows
    with pytest.warns(UserWarning, match="weights") as told:
        LOE(2).fit(Triplets(rows, weight=np.full(6000, 1e-9)))
    assert [str(each.message)[:28] for each in told] == ["the weights of the triplets "]
