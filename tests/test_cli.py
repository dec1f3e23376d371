"""The command line, from file to folder; most runs in this process, some as users start it."""

import csv
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import typer
from commands import plain
from PIL import Image
from typer.testing import CliRunner

from ordinate import sample_points, sample_triplets
from ordinate.cli import app
from ordinate.files.maps import read_map

FIXTURES = Path(__file__).parent / "fixtures"
COMMANDS = [
    "fit",
    "check",
    "plot",
    "score",
    "export",
    "place",
    "simulate",
    "convert",
    "methods",
    "demo",
]


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run a command; relative paths are in a fresh folder."""
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()

    def call(*words, code=0):
        result = runner.invoke(app, plain(*words))
        assert result.exit_code == code, result.output + result.stderr
        return result

    return call


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """A CSV with labels, answers and participants."""
    points = sample_points(40, 2, random_state=0)
    triplets = sample_triplets(points, 6000, random_state=1)
    path = tmp_path_factory.mktemp("answers") / "answers.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["anchor", "near", "far", "participant"])
        for row, (a, b, c) in enumerate(triplets.rows):
            writer.writerow([f"Käse {a}", f"Käse {b}", f"Käse {c}", f"p{row % 7}"])
    return path


def test_fit_leaves_everything_behind(run, answers):
    result = run("fit", answers, "-o", "out", "--seed", 3)
    assert sorted(os.listdir("out")) == [
        ".ordinate",
        "covariance.npy",
        "embedding.csv",
        "embedding.png",
        "embedding.svg",
        "model.json",
        "report.html",
        "run.json",
    ]
    assert os.listdir(".") == ["out"]
    found = read_map("out/embedding.csv")
    assert len(found.labels) == 40
    assert "Käse 7" in found.labels
    assert found.points.shape == (40, 2)
    assert sum(found.columns["triplets"]) == 18_000
    assert 0.4 < min(found.columns["accuracy"]) < max(found.columns["accuracy"]) < 0.95
    record = json.loads(Path("out/run.json").read_text())
    assert record["settings"]["random_state"] == 3
    assert record["method"] == "ste"
    assert record["input"]["rows"] == 6000
    assert len(record["input"]["sha256"]) == 64
    assert record["held_out"]["n_triplets"] == 6000
    assert 0.6 < record["held_out"]["accuracy"] < 0.9
    assert record["result"]["converged"]
    assert {"reading", "figure", "report"} <= set(record["seconds"])
    assert f"{record['held_out']['accuracy']:.1%}" in result.output
    assert "reading ..." in result.stderr
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "Käse 7" in page
    assert "p3" in page
    assert "Käse 7" in Path("out/embedding.svg").read_text(encoding="utf-8")
    with Image.open("out/embedding.png") as picture:
        assert picture.width > 1000


def test_the_same_seed_gives_the_same_files(run, answers):
    for folder in ("one", "two"):
        run("fit", answers, "-o", folder, "--folds", 2, "-q")
    for name in ("embedding.csv", "embedding.svg"):
        assert Path("one", name).read_bytes() == Path("two", name).read_bytes()


def test_quiet_and_json(run, answers):
    result = run("fit", answers, "-o", "quiet", "-q", "--folds", 0)
    assert result.output == ""
    result = run("fit", answers, "-o", "json", "--json", "-q", "--folds", 0)
    record = json.loads(result.stdout)
    assert record["output"] == "json"
    assert record["held_out"] is None
    record.pop("output")
    assert record == json.loads(Path("json/run.json").read_text())


def test_an_existing_folder_is_kept(run, answers):
    Path("out").mkdir()
    Path("out/thesis.txt").write_text("years of work")
    result = run("fit", answers, "-o", "out", code=4)
    assert "out holds files that ordinate did not write (thesis.txt)" in result.stderr
    # Not even force replaces what is not ours.
    result = run("fit", answers, "-o", "out", "--force", code=4)
    assert "holds files that ordinate did not write (thesis.txt)" in result.stderr
    assert Path("out/thesis.txt").read_text() == "years of work"
    run("convert", answers, "-o", "out", "--fast", "--force", code=4)
    assert os.listdir("out") == ["thesis.txt"]


def test_force_replaces_a_map_whole_or_not_at_all(run, answers):
    run("fit", answers, "-o", "out", "--folds", 0, "--seed", 1)
    before = Path("out/run.json").read_text()
    # What fails on the way leaves the old folder as it was.
    run("fit", answers, "-o", "out", "--force", "-d", 60, code=2)
    assert Path("out/run.json").read_text() == before
    run("fit", answers, "-o", "out", "--force", "--folds", 0, "--seed", 2)
    assert Path("out/run.json").read_text() != before
    assert os.listdir(".") == ["out"]
    Path("data").mkdir()
    Path("data/embedding.csv").write_bytes(answers.read_bytes())
    result = run("fit", "data/embedding.csv", "-o", "data", "--force", code=4)
    assert "holds the input" in result.stderr


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.csv", None, "no such file"),
        ("empty.csv", b"", "empty"),
        ("binary.csv", bytes(range(256)) * 20, ""),
        ("cut.parquet", b"PAR1\x15\x04\x15\x10", ""),
        ("cut.csv.gz", b"\x1f\x8b\x08\x00\x00\x00", ""),
        ("strange.csv", b"x,y\n1,2\n", "no three columns"),
        ("ids.csv", b"1,2,3\n2,1,3\n3,1,2\n", "--layout plain"),
        ("twice.csv", b"anchor,near,far\na,b,b\n", "line 2"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "check", "convert"])
def test_files_that_cannot_be_read(run, command, name, content, message):
    import re

    if content is not None:
        Path(name).write_bytes(content)
    options = {"fit": ["-o", "out"], "convert": ["-o", "x.csv"], "check": []}[command]
    result = run(command, name, *options, code=3)
    assert result.stderr.count("error: ") == 1
    assert "Traceback" not in result.stderr
    assert re.search(message, result.stderr, re.IGNORECASE)
    assert not Path("out").exists()
    assert not Path("x.csv").exists()


def test_folders_that_cannot_be_written(run, answers, monkeypatch):
    Path("file").write_text("")
    result = run("fit", answers, "-o", "file/out", "--folds", 0, code=4)
    assert "cannot be read or written" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "tsne"], "method must be one of"),
        (["--method", "soe", "--noise", "btl"], "soe does not take --noise"),
        (["--method", "loe", "--starts", "3"], "loe does not take --starts"),
        (["--folds", "1"], "folds must be 0, or at least 2"),
        (["--memory-limit", "banana"], "--memory-limit must be"),
        (["--device", "cuda:99"], "pip install torch"),  # whether torch lacks, or the GPU
        (["--columns", "anchor"], "role=column"),
        (["--colour", "kind"], "no column 'kind'"),
        (["--layout", "unknown"], "layout must be one of"),
        (["--method", "loe", "-d", "38"], "landmarks"),
        (["-d", "40"], "--dimensions must be less than the number of items, 40"),
    ],
)
def test_wrong_use(run, answers, options, message):
    result = run("fit", answers, "-o", "out", *options, code=2)
    assert message in result.stderr
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            "anchor,my near,far\na,b,c\n",
            [],
            "Say\n    --columns 'anchor=anchor,far=far,near=my near'\n",
        ),
        ("x,y,z\na,b,c\n", ["--layout", "plain"], "    --columns anchor=x,near=y,far=z  # if it"),
        (
            "x,y,z\na,b,c\n",
            ["--layout", "plain"],
            "    --columns anchor=0,near=1,far=2  # if the file",
        ),
        ("x,y,z,w\na,b,c,d\n", [], "Name yours in --columns, by role"),
        ("x,y,z,w\na,b,c,d\n", [], "response: anchor, first, second, response, winner, farther;"),
        ("x,y,z,w\na,b,c,d\n", ["--odd", "last"], "or three columns and --odd."),
        ("anchor,near,far\n1,2,3\n", ["--columns", "who=x"], "--columns names roles ['who']"),
        ("anchor,near,far\n1,2,3\n", ["--first-id", "2"], "--first-id is 2, but the file has"),
        ("anchor,near,far\n1,2,3\n", ["--first-id", "2"], "leave --first-id out"),
        (
            "anchor,near,far\n1,2,3\n",
            ["--min-response-time", "1"],
            "--min-response-time needs a column",
        ),
        ("anchor,near,far,check\n1,2,3,1\n", [], "--keep-checks keeps them"),
    ],
)
def test_remedies_are_options(run, content, options, message):
    Path("first_id.csv").write_text(content)
    errors = run("check", "first_id.csv", *options, code=3).stderr
    assert message in errors
    assert "--first-id.csv" not in errors


def test_remedies_can_be_pasted(run):
    Path("slip.csv").write_text("anchor,my near,far\na,b,c\n")
    errors = run("check", "slip.csv", code=3).stderr
    remedy = shlex.split(errors.split("Say")[1], comments=True)
    assert "layout plain" in run("check", "slip.csv", *remedy).output
    Path("checks.csv").write_text("anchor,near,far,check\na,b,c,0\na,b,c,1\n")
    assert "--keep-checks keeps them" in run("check", "checks.csv").output
    assert "2 rows" in run("check", "checks.csv", "--keep-checks").output


def test_debug_shows_the_traceback(run, answers):
    runner = CliRunner()
    result = runner.invoke(app, ["fit", str(answers), "--layout", "x", "-o", "out", "--debug"])
    assert isinstance(result.exception, ValueError)


def test_check_tells_problems_and_remedies(run):
    Path("two.csv").write_text("anchor,near,far\na,b,c\nd,e,f\n")
    result = run("check", "two.csv")
    assert "error: the items fall into 2 parts" in result.output
    assert "layout plain" in result.output
    record = json.loads(run("check", "two.csv", "--json").stdout)
    assert record["problems"][0]["severity"] == "error"
    assert record["problems"][0]["remedy"]
    assert record["data"]["n_rows"] == 2


def test_methods_are_shown(run):
    output = run("methods").output
    for name in ("ste", "tste", "ckl", "soe", "gnmds", "loe", "ste-ker", "ste-proj", "gnmds-ker"):
        assert name in output


@pytest.mark.parametrize("method", ["tste", "ckl", "soe", "gnmds", "loe", "ste-proj"])
def test_every_method_fits(run, answers, method):
    run("fit", answers, "-o", "out", "--method", method, "--folds", 0, "-q")
    assert json.loads(Path("out/run.json").read_text())["method"] == method


@pytest.mark.parametrize("dimensions", [1, 3])
def test_other_dimensions(run, answers, dimensions):
    run("fit", answers, "-o", "out", "-d", dimensions, "--folds", 0, "-q")
    assert read_map("out/embedding.csv").points.shape == (40, dimensions)


def test_few_answers_get_a_ridge_and_say_so(run):
    run("simulate", "--n", 60, "--triplets", 400, "-o", "few.csv")
    result = run("fit", "few.csv", "-o", "out", "--method", "auto", "--starts", 1)
    assert "with a ridge of 1, as answers are few" in result.output
    assert "warning: 400 answers about 60 items are few" in result.stderr


def test_simulate_fit_score_plot(run):
    run("simulate", "--n", 50, "--triplets", 20_000, "-o", "train.csv", "--points", "truth.csv")
    run("simulate", "--n", 50, "--triplets", 4000, "--noise", "none", "-o", "test.parquet")
    run("fit", "train.csv", "-o", "out", "--folds", 0)
    accuracy = json.loads(run("score", "out/embedding.csv", "test.parquet", "--json").stdout)
    assert accuracy["triplets"] == 4000
    assert accuracy["accuracy"] > 0.9
    assert json.loads(run("score", "truth.csv", "test.parquet", "--json").stdout)["accuracy"] == 1
    assert (
        "(chance 50%, ceiling 100.0%) of 4,000" in run("score", "truth.csv", "test.parquet").output
    )
    for name in ("map.pdf", "map.svg"):
        run("plot", "out/embedding.csv", "-o", name, "--colour", "triplets", "--width", "column")
        assert Path(name).stat().st_size > 1000
    run("plot", "out/embedding.csv", "-o", "map.svg", code=4)
    run("plot", "out/embedding.csv", "-o", "other.svg", "--colour", "accuracy", code=2)
    run("plot", "train.csv", "-o", "other.svg", code=3)
    run("score", "out/embedding.csv", "nowhere.csv", code=3)
    Path("other.csv").write_text("anchor,near,far\nx,1,2\n")
    assert (
        "not in out/embedding.csv: x"
        in run("score", "out/embedding.csv", "other.csv", code=3).stderr
    )


def test_simulation_about_landmarks_and_its_seed(run):
    for name, seed in (("a.csv", 1), ("b.csv", 1), ("c.csv", 2)):
        run("simulate", "--n", 100, "--c", 20, "--design", "landmarks", "--seed", seed, "-o", name)
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes() != Path("c.csv").read_bytes()
    rows = np.loadtxt("a.csv", delimiter=",", skiprows=1, dtype=int)
    assert len(np.unique(rows[:, 0])) < 25
    run("simulate", "-o", "a.csv", code=4)
    run("simulate", "-o", "a.xlsx", code=2)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "feather"])
def test_convert_loses_nothing(run, answers, ending):
    run("convert", answers, "-o", f"x.{ending}")
    first = json.loads(run("check", answers, "--json").stdout)["data"]
    again = json.loads(run("check", f"x.{ending}", "--json").stdout)["data"]
    assert {**first, "n_answers": None} == {**again, "n_answers": None}


def test_pictures_and_colours(run, answers):
    Path("pictures").mkdir()
    for k in range(40):
        Image.new("RGB", (20, 20), (6 * k, 0, 0)).save(f"pictures/Käse {k}.png")
    rows = "".join(f"Käse {k},{'hard' if k % 2 else 'soft'}\n" for k in range(40))
    Path("items.csv").write_text("label,kind\n" + rows, encoding="utf-8")
    run(
        *("fit", answers, "-o", "out", "--folds", 0, "--images", "pictures"),
        *("--items", "items.csv", "--colour", "kind"),
    )
    assert set(read_map("out/embedding.csv").columns["kind"]) == {"hard", "soft"}
    assert "data:image/webp" in Path("out/report.html").read_text(encoding="utf-8")
    Path("none").mkdir()
    result = run("fit", answers, "-o", "new", "--images", "none", code=3)
    assert "no picture there is named by a label" in result.stderr
    Path("items.csv").write_text("label,kind\nKäse 1,soft\n", encoding="utf-8")
    assert (
        "lacks 39 items" in run("fit", answers, "-o", "new", "--items", "items.csv", code=3).stderr
    )


def test_what_was_left_out_is_told(run, answers):
    result = run("fit", answers, "-o", "out", "--exclude-participants", "p1,p2", "--folds", 0)
    record = json.loads(Path("out/run.json").read_text())
    assert len(record["dropped"]) == 1
    assert "1,714" in record["dropped"][0]
    assert "note: " in result.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_names_of_options_and_examples_in_full(run, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = run(command, "--help").output
    options = typer.main.get_command(app).commands[command].params
    for option in options:
        assert any(name in shown.split() for name in (*option.opts, f"{option.opts[0]},"))
    assert "```" not in shown
    examples = [line for line in shown.splitlines() if line.startswith(f"  ordinate {command}")]
    assert examples


@pytest.mark.parametrize("command", [["fit"], ["check"], ["convert", "-o", "all.csv"]])
def test_several_files_at_once_are_refused_with_the_remedy(run, answers, command):
    refused = run(*command, answers, answers, code=2)
    assert "name the folder" in refused.stderr
    assert os.listdir() == []


def test_the_demo_draws_its_picture(run):
    result = run("demo", "-o", "new/digits.png", "--triplets", 300_000)
    assert "purity of 10 clusters:" in result.output
    with Image.open("new/digits.png") as picture:
        assert picture.width > 800
        # Digits in colour on white: neither blank nor black.
        dark = (np.asarray(picture.convert("L")) < 200).mean()
    assert 0.01 < dark < 0.5
    assert os.listdir("new") == ["digits.png"]


def start(*words, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "ordinate", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def test_as_a_process():
    process = start("--version")
    assert process.communicate()[0].startswith("ordinate ")


def test_completion_of_commands():
    env = {
        **os.environ,
        "_ORDINATE_COMPLETE": "complete_bash",
        "COMP_WORDS": "ordinate s",
        "COMP_CWORD": "1",
    }
    done = subprocess.run(
        [Path(sys.executable).with_name("ordinate")], env=env, capture_output=True, text=True
    )
    assert set(done.stdout.split()) >= {"score", "simulate"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_leaves_nothing_half_written(tmp_path, number):
    process = start("simulate", "--n", 1000, "--triplets", 20_000_000, "-o", tmp_path / "big.csv")
    # Wait until it writes.
    until = time.monotonic() + 60
    while not list(tmp_path.iterdir()) and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in errors
    assert list(tmp_path.iterdir()) == []


def test_files_larger_than_memory_are_streamed(run):
    options = ("--n", 300, "--triplets", 200_000, "--design", "landmarks", "--landmarks", 12)
    run("simulate", *options, "-o", "big.parquet", "--points", "truth.csv")
    run("convert", "big.parquet", "-o", "big", "--fast")
    for name in ("big.parquet", "big"):
        result = run(
            *("fit", name, "-o", f"map-{name}", "--memory-limit", "4MiB"), *("--method", "loe")
        )
        assert "streamed" in result.stderr
        record = json.loads(Path(f"map-{name}/run.json").read_text())
        assert record["held_out"] is None
        assert "no answers were held out" in record["dropped"][0]
        assert [p["what"] for p in record["problems"]] == ["the data were not checked"]
        page = Path(f"map-{name}/report.html").read_text()
        assert "the data were not checked" in page
        assert '"accuracy":null' in page.replace(" ", "")
    result = run("fit", "big", "-o", "f", "--memory-limit", "4MiB", "--folds", 5, code=2)
    assert "leave --folds out" in result.stderr
    streamed, loaded = read_map("map-big/embedding.csv"), "map"
    run("fit", "big.parquet", "-o", loaded, "--method", "loe", "--folds", 0)
    assert streamed.points == pytest.approx(read_map(f"{loaded}/embedding.csv").points, abs=1e-3)
    assert sum(streamed.columns["triplets"]) == 600_000
    result = run("fit", "big", "-o", "small", "--memory-limit", "10kB", code=2)
    assert "memory" in result.stderr


def test_devices(run, answers):
    run("fit", answers, "-o", "out", "--device", "cpu", "--folds", 0, "-q")
    assert json.loads(Path("out/run.json").read_text())["settings"]["device"] == "cpu"
    for wrong in ("gpu", "torch-cpu", "torch:cpu", "cuda:x"):
        result = run("fit", answers, "-o", "no", "--device", wrong, code=2)
        assert f"--device must be cpu, cuda, cuda:<number> or auto; got {wrong}" in result.stderr


def test_methods_without_a_choice_of_device_or_chance(run, answers):
    """A seed is for the folds, too, and all methods run on a CPU; a GPU is refused, not ignored."""
    for method, device in (("loe", "cpu"), ("ste-ker", "cpu"), ("ste-ker", "auto")):
        out = f"{method}-{device}"
        options = ["--method", method, "--device", device, "--seed", 3, "--folds", 0, "-q"]
        run("fit", answers, "-o", out, *options)
        settings = json.loads(Path(out, "run.json").read_text())["settings"]
        assert settings["random_state"] == 3
        assert settings["device"] == "cpu"
    result = run("fit", answers, "-o", "no", "--method", "gnmds-ker", "--device", "cuda", code=2)
    assert "gnmds-ker runs on the CPU alone, and --device cuda was asked for" in result.stderr


def test_options_that_cannot_apply_are_refused(run, answers):
    run("convert", answers, "-o", "fast", "--fast")
    for command, options in (
        ("fit", ["-o", "x"]),
        ("convert", ["-o", "y", "--fast"]),
        ("check", []),
    ):
        result = run(command, "fast", *options, "--exclude-participants", "p1", code=2)
        assert "--exclude-participants cannot apply" in result.stderr
    Path("fast/.hidden").mkdir()
    run("fit", "fast", "-o", "z", "--folds", 0)


def test_few_answers_are_judged_as_well_as_can_be(run):
    Path("tiny.csv").write_text("anchor,near,far\na,b,c\nb,a,c\nc,b,a\na,b,c\n")
    result = run("fit", "tiny.csv", "-d", 1)
    assert "in 4 parts" in result.output
    assert "a map in 1 dimension needs" in result.stderr
    result = run("fit", "tiny.csv", "-d", 1, "-o", "x", "--folds", 50, code=2)
    assert "folds must be a whole number of at least 0 and at most 4" in result.stderr


def test_colours_do_not_overwrite_coordinates(run, answers):
    rows = "".join(f"Käse {k},9\n" for k in range(40))
    Path("items.csv").write_text("label,dim2\n" + rows, encoding="utf-8")
    run("fit", answers, "-o", "out", "--folds", 0, "--items", "items.csv", "--colour", "dim2")
    found = read_map("out/embedding.csv")
    assert set(found.columns["items_dim2"]) == {9}
    assert np.ptp(found.points[:, 1]) > 0
    Path("items.csv").write_text(f"label,kind\n{rows}Käse 1,b\n", encoding="utf-8")
    result = run("fit", answers, "-o", "x", "--items", "items.csv", "--colour", "kind", code=3)
    assert "more than once" in result.stderr


def test_all_columns_of_items_can_colour_the_report(run, answers):
    header = "label,kind,accuracy,items_accuracy,,empty,day\n"
    rows = [f"Käse {k},{'ab'[k % 2]},{k},x{k},{k / 4},,2020-01-{k % 9 + 1:02}\n" for k in range(40)]
    Path("items.csv").write_text(header + "".join(rows), encoding="utf-8")
    options = ("--folds", 0, "--items", "items.csv", "--force")
    run("fit", answers, "-o", "out", *options, "--colour", "accuracy")
    names = ["kind", "items_accuracy", "items_items_accuracy", "column 5", "empty", "day"]
    found = read_map("out/embedding.csv").columns
    assert list(found) == ["se1", "se2", "triplets", "accuracy", *names]
    row = read_map("out/embedding.csv").labels.index("Käse 7")
    assert [found[name][row] for name in names[:4]] == ["b", 7, "x7", 1.75]
    page = Path("out/report.html").read_text(encoding="utf-8")
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert [column["name"] for column in data["columns"]] == names
    assert data["colour"] == "items_accuracy"
    run("fit", answers, "-o", "out", *options)
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert '"colour":"kind"' in page  # the first, where none is named
    run("plot", "out", "-o", "map.png", "--colour", "column 5")
    Path("items.csv").write_text("label,kind,kind\nKäse 1,a,b\n", encoding="utf-8")
    result = run("fit", answers, "-o", "x", *options, code=3)
    assert "more than one column kind: rename or remove one" in result.stderr


def test_pictures_of_labels_with_dots(run):
    Path("a.csv").write_text("anchor,near,far\nb.1,b.2,c\nb.2,b.1,c\nc,b.1,b.2\n")
    Path("pictures").mkdir()
    Image.new("RGB", (9, 9)).save("pictures/b.png")
    Image.new("RGB", (9, 9)).save("pictures/c.png")
    result = run("fit", "a.csv", "-d", 1, "--images", "pictures", "--folds", 0)
    assert "pictures for 1 of 3 items; none for b.1, b.2" in result.stderr
    Path("pictures/c.png").write_bytes(b"no picture")
    result = run("fit", "a.csv", "-d", 1, "-o", "x", "--images", "pictures", code=3)
    assert "is not a picture" in result.stderr


def test_scores_of_items_without_a_place(run):
    Path("map.csv").write_text("label,dim1\n1,0\n2,\n3,4\n")
    Path("answers.csv").write_text("anchor,near,far\n1,2,3\n3,2,1\n")
    assert "2 of them name items without a place" in run("score", "map.csv", "answers.csv").output


def test_a_number_of_landmarks_asks_for_them(run):
    run("simulate", "--n", 100, "--triplets", 500, "--landmarks", 5, "-o", "s.csv")
    rows = np.loadtxt("s.csv", delimiter=",", skiprows=1, dtype=int)
    assert len(np.unique(rows[:, 0])) == 5
    result = run("simulate", "--landmarks", 5, "--design", "uniform", "-o", "t.csv", code=2)
    assert "landmarks go with --design landmarks" in result.stderr


def test_the_fast_layout_keeps_answers_and_participants(run, answers):
    limit = ("--memory-limit", "100kB")
    for source, options in ((answers, ()), (FIXTURES / "selection.csv", ()), (answers, limit)):
        said = run("convert", source, "-o", "fast", "--fast", *options).stderr
        assert ("KiB of" in said and "hold them while they are used" in said) == bool(options)
        known, kept = (json.loads(run("check", p, "--json").output) for p in (source, "fast"))
        for name in ("n_answers", "n_participants", "rows_per_participant"):
            assert kept["data"][name] == known["data"][name]
        shutil.rmtree("fast")
    assert "6,000 triplets in fast" in said


def test_folders_of_fit_are_maps(run, answers):
    run("fit", answers, "-o", "out", "--folds", 0, "-q")
    assert run("score", "out", answers).output == run("score", "out/embedding.csv", answers).output
    run("plot", "out", "-o", "map.svg")
    assert Path("map.svg").stat().st_size > 1000
    result = run("plot", "out", code=4)
    assert "out/embedding.png exists: --force replaces it" in result.stderr
    Path("empty").mkdir()
    assert "empty/embedding.csv: there is no" in run("plot", "empty", code=3).stderr


def test_a_memory_limit_changes_nothing_in_what_a_file_means(run):
    limit = ("--folds", 0, "--memory-limit", "1kB")
    for folder, options in (("a", ()), ("b", limit)):
        run("fit", FIXTURES / "salmon_new.csv", "-o", folder, "-d", 1, "-q", *options)
    known, limited = (json.loads(Path(f"{folder}/run.json").read_text()) for folder in "ab")
    for name in ("input", "dropped", "data", "problems"):
        assert limited[name] == known[name]


def test_the_number_of_steps(run, answers):
    result = run("fit", answers, "-o", "out", "--method", "ste-ker", "--max-iter", 3, "--folds", 0)
    assert "not converged after 3 steps" in result.stderr
    assert json.loads(Path("out/run.json").read_text())["settings"]["max_iter"] == 3
    result = run("fit", answers, "-o", "x", "--method", "loe", "--max-iter", 3, code=2)
    assert "method loe does not take --max-iter" in result.stderr


@pytest.mark.parametrize(("options", "folds"), [([], 5), (["--folds", 2], 2), (["--folds", 0], 0)])
def test_the_record_tells_folds_and_device_that_were_used(run, answers, options, folds):
    run("fit", answers, "-o", "out", "-q", "--method", "ste-proj", "--device", "auto", *options)
    settings = json.loads(Path("out/run.json").read_text())["settings"]
    assert settings["folds"] == folds
    assert settings["device"] == "cpu"


def test_errors_nobody_foresaw_point_to_the_traceback(run, answers, monkeypatch):
    def broken(*_, **__):
        raise TypeError("unsupported operand")

    monkeypatch.setattr("ordinate.advice.problems", broken)
    result = run("check", answers, code=1)
    assert "TypeError: unsupported operand (--debug shows where)" in result.stderr


def test_a_memory_limit_that_is_too_small_names_the_one_that_is_enough(run):
    Path("rows.json").write_text(json.dumps({"anchor": ["a"], "near": ["b"], "far": ["c"]}))
    result = run("fit", "rows.json", "--memory-limit", "10B", code=3)
    assert "it is JSON, which cannot be read block by block" in result.stderr
    assert "as in --memory-limit 1MiB" in result.stderr


def test_data_that_cannot_be_fetched(run, monkeypatch):
    from ordinate import datasets

    monkeypatch.setenv("ORDINATE_DATA", "cache")
    monkeypatch.setitem(datasets.load_food.__kwdefaults__, "url", "http://127.0.0.1:9/")
    result = run("reproduce", "food", code=3)
    assert "Give a local copy with --data, or try again later" in result.stderr


def test_records_name_all_who_guess(run):
    """Ten people answer by distance on a line, seven toss a coin."""
    generator = np.random.default_rng(0)
    lines = ["anchor,near,far,participant"]
    for person in range(17):
        for _ in range(60):
            a, b, c = generator.choice(6, 3, replace=False)
            swap = generator.random() < 0.5 if person >= 10 else abs(a - b) > abs(a - c)
            near, far = (c, b) if swap else (b, c)
            lines.append(f"i{a},i{near},i{far},p{person}")
    Path("crowd.csv").write_text("\n".join(lines))
    checked = json.loads(run("check", "crowd.csv", "--json").stdout)
    [problem] = [p for p in checked["problems"] if "than by chance" in p["what"]]
    guessing = problem["names"]
    assert len(guessing) > 5
    assert set(guessing) <= {f"p{person}" for person in range(10, 17)}
    assert f"{len(guessing)} participants" in problem["what"]
    run("fit", "crowd.csv", "-o", "out", "-q", "--folds", 0)
    assert problem in json.loads(Path("out/run.json").read_text())["problems"]


def test_arrays_of_ids(run):
    """Also where 0 is no id: what a summary tells must be plain enough for JSON."""
    rows = sample_triplets(sample_points(30, 2, random_state=0), 4000, random_state=0).rows
    np.save("ids.npy", rows)
    record = json.loads(run("fit", "ids.npy", "-o", "map", "--json").stdout)
    assert record["held_out"]["accuracy"] > 0.6
    assert record["held_out"]["how"].startswith("each row is predicted")
    assert json.loads(run("check", "ids.npy", "--json").stdout)["layout"] == "plain"


def test_an_output_is_never_an_input(run, answers):
    before = Path(answers).read_bytes()
    result = run("convert", answers, "-o", answers, "--force", code=4)
    assert "would overwrite another file" in result.stderr
    result = run("simulate", "-o", "s.csv", "--points", "s.csv", "--n", 10, code=4)
    assert "would overwrite another file" in result.stderr
    assert Path(answers).read_bytes() == before
    assert not Path("s.csv").exists()


def test_only_folders_of_ours_are_replaced(run, answers):
    Path("fast").mkdir()
    Path("fast/about.json").write_text("{}")
    result = run("convert", answers, "-o", "fast", "--fast", "--force", code=4)
    assert "did not write (about.json)" in result.stderr
    Path("taken.csv").mkdir()
    result = run("convert", answers, "-o", "taken.csv", "--force", code=4)
    assert "is a folder" in result.stderr
