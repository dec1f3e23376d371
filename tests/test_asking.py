"""Questions: designs to begin with, and the next ones."""

import csv
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import ordinate
from ordinate import STE, PowerEmbedding, Triplets, asking, readers, sample_points, sample_triplets
from ordinate.asking import active, designs
from ordinate.cli import app
from ordinate.data.simulate import Power
from ordinate.kernels import losses

KINDS = ("triplet", "odd-one-out")


def code(rows, n, kind):
    return designs._set_code(rows, n) if kind != "triplet" else designs.question_code(rows, n)


@st.composite
def budgets(draw):
    n, kind = draw(st.integers(3, 14)), draw(st.sampled_from(KINDS))
    return n, kind, draw(st.integers(1, designs.count_questions(n, kind)))


@given(budgets(), st.sampled_from(("balanced", "uniform")), st.integers(0, 99))
@settings(max_examples=150, deadline=None)
def test_no_question_occurs_twice_and_no_item_in_one(budget, design, seed):
    n, kind, m = budget
    asked = asking.design_questions(
        n, m, kind=kind, design=design, repeats=0, checks=0, random_state=seed
    )
    assert asked.rows.shape == (m, 3)
    assert (np.diff(np.sort(asked.rows, axis=1), axis=1) > 0).all()
    assert len(np.unique(code(asked.rows, n, kind))) == m


@given(budgets(), st.integers(0, 99))
@settings(max_examples=150, deadline=None)
def test_balanced_items_are_in_each_place_equally_often(budget, seed):
    n, kind, m = budget
    rows = asking.design_questions(n, m, kind=kind, repeats=0, checks=0, random_state=seed).rows
    for place in rows.T:
        assert np.ptp(np.bincount(place, minlength=n)) <= 1


@given(st.integers(4, 20), st.integers(1, 4), st.data())
@settings(max_examples=100, deadline=None)
def test_landmarks_are_the_anchors_and_others_are_compared_equally_often(n, n_landmarks, data):
    most = n_landmarks * (n - 1) * (n - 2) // 2
    m = data.draw(st.integers(1, most))
    rows = asking.design_questions(
        n, m, design="landmarks", landmarks=n_landmarks, repeats=0, checks=0, random_state=0
    ).rows
    assert len(np.unique(rows[:, 0])) <= n_landmarks
    assert len(np.unique(designs.question_code(rows, n))) == m
    assert (rows[:, :1] != rows[:, 1:]).all()
    assert (rows[:, 1] != rows[:, 2]).all()
    assert np.ptp(np.bincount(rows[:, 0], minlength=n)[np.unique(rows[:, 0])]) <= 1
    for anchor in np.unique(rows[:, 0]):
        times = np.bincount(rows[rows[:, 0] == anchor, 1:].ravel(), minlength=n)
        assert np.ptp(np.delete(times, anchor)) <= 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [12, 30, 60])
def test_the_first_round_connects_all_items(n, kind):
    for seed in range(20):
        rows = asking.design_questions(n, n, kind=kind, repeats=0, checks=0, random_state=seed).rows
        assert Triplets(rows, n_items=n).summarise().n_parts == 1


def test_all_questions_there_are_and_not_one_more():
    every = asking.design_questions(7, 105, repeats=0, checks=0, random_state=0).rows
    assert len(np.unique(designs.question_code(every, 7))) == 105 == designs.count_questions(7)
    with pytest.raises(ValueError, match="there are 105 different questions, and 106 are wanted"):
        asking.design_questions(7, 106, repeats=0, checks=0)


def test_repeats_checks_and_blocks():
    asked = asking.design_questions(20, 1000, repeats=0.1, checks=0.04, blocks=5, random_state=0)
    rows, source, block = asked.rows, asked.source, asked.block
    assert dict(zip(*np.unique(source, return_counts=True), strict=True)) == {
        "random": 860,
        "repeat": 100,
        "check": 40,
    }
    assert (np.bincount(block)[1:] == 200).all()
    assert np.bincount(block[source == "check"])[1:].tolist() == [8] * 5
    # Checks show the anchor itself beside another item, on either side.
    checks = rows[source == "check"]
    same = checks[:, :1] == checks[:, 1:]
    assert (same.sum(axis=1) == 1).all()
    assert 10 < same[:, 0].sum() < 30
    # A repeat has its sides exchanged, and is in another block than the first time.
    first = {
        tuple(row): b
        for row, b in zip(rows[source == "random"], block[source == "random"], strict=True)
    }
    for (anchor, one, other), b in zip(
        rows[source == "repeat"], block[source == "repeat"], strict=True
    ):
        assert first[anchor, other, one] != b
    # Blocks are in order, and what is in them is not.
    assert (np.diff(block) >= 0).all()
    assert (source[:200] != np.sort(source[:200])).any()


def test_odd_one_out_checks_show_one_item_twice():
    asked = asking.design_questions(20, 500, kind="odd-one-out", checks=0.1, random_state=0)
    checks = np.sort(asked.rows[asked.source == "check"], axis=1)
    assert ((np.diff(checks, axis=1) == 0).sum(axis=1) == 1).all()


def test_the_same_seed_asks_the_same():
    one, other, third = (
        asking.design_questions(30, 200, random_state=seed).rows for seed in (1, 1, 2)
    )
    assert (one == other).all()
    assert (one != third).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"design": "landmarks"}, "go together"),
        ({"landmarks": 3}, "go together"),
        ({"kind": "odd-one-out", "design": "landmarks", "landmarks": 3}, "have none"),
        ({"repeats": 0.49, "checks": 0.49}, "too few questions to be repeated"),
        ({"kind": "quartet"}, "kind must be"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        asking.design_questions(20, 100, **options)


# The next questions


@pytest.fixture(scope="module")
def model():
    points = 3 * sample_points(30, random_state=0)
    return STE(random_state=0).fit(sample_triplets(points, 900, random_state=0))


@pytest.mark.parametrize("name", ["ste", "tste", "ckl", "power"])
def test_slopes_agree_with_finite_differences(name):
    loss = losses.get(name, power=0.5, slope=2.0, lapse=0.1)
    rng = np.random.default_rng(0)
    points, rows = rng.normal(size=(3, 2)), np.array([[0, 1, 2]])
    _, slopes = active._slopes(points, loss, rows)
    for item in range(3):
        for axis in range(2):
            step = np.zeros((3, 2))
            step[item, axis] = 1e-6
            up, down = (active._slopes(points + s, loss, rows)[0][0] for s in (step, -step))
            assert slopes[item][0, axis] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-8)


def test_gain_is_the_information_between_answer_and_map():
    loss = losses.get("power", power=0.5, slope=3.0, lapse=0.1)
    rng = np.random.default_rng(0)
    points, rows = rng.normal(size=(3, 2)), np.array([[0, 1, 2]])
    factor = 0.01 * rng.normal(size=(3, 2, 2))
    covariance = factor @ factor.swapaxes(1, 2)
    drawn = points + np.einsum("nde,bne->bnd", factor, rng.normal(size=(200_000, 3, 2)))
    near = ((drawn[:, 0] - drawn[:, 1]) ** 2).sum(axis=1)
    far = ((drawn[:, 0] - drawn[:, 2]) ** 2).sum(axis=1)
    first = loss.probability(near, far)
    entropy = active._entropy
    simulated = entropy(first.mean()) - entropy(first).mean()
    assert active.gain(points, covariance, loss, rows)[0] == pytest.approx(simulated, rel=0.03)


def test_what_is_known_teaches_nothing(model):
    rows = np.array([[0, 1, 2], [3, 4, 5]])
    sure = np.zeros((30, 2, 2))
    assert active.gain(model.embedding_, sure, losses.get("ste"), rows) == pytest.approx(0)


def test_chosen_questions_teach_more_and_are_spread(model):
    chosen = asking.choose_questions(model, 60, repeats=0, checks=0, random_state=0)
    assert dict(zip(*np.unique(chosen.source, return_counts=True), strict=True)) == {
        "active": 48,
        "random": 12,
    }
    gains = active.gain(model.embedding_, model.covariance_, losses.get("ste"), chosen.rows)
    is_active = chosen.source == "active"
    assert gains[is_active].mean() > 2 * gains[~is_active].mean()
    assert np.bincount(chosen.rows[is_active].ravel()).max() <= np.ceil(1.5 * 3 * 48 / 30)
    assert len(np.unique(designs.question_code(chosen.rows, 30))) == 60


def test_about_some_items(model):
    rows = asking.next_questions(model, 40, about=[3, 7], random_state=0)
    assert np.isin(rows, [3, 7]).any(axis=1).all()
    with pytest.raises(ValueError, match=r"no place in the map: 99"):
        asking.next_questions(model, 40, about=[99])


def test_an_uncertain_map_asks_at_random():
    unsure = STE(random_state=0, regularization=1.0).fit(
        sample_triplets(sample_points(30, random_state=0), 200, random_state=0)
    )
    assert active.uncertainty(unsure.embedding_, unsure.covariance_) > active.UNKNOWN
    assert set(asking.choose_questions(unsure, 50, checks=0, repeats=0).source) == {"random"}


def test_items_without_a_place_are_not_asked_about():
    rows = sample_triplets(3 * sample_points(10, random_state=0), 300, random_state=0).rows
    with pytest.warns(UserWarning, match="no place"):
        model = STE(random_state=0).fit(Triplets(rows, n_items=12))
    asked = asking.choose_questions(model, 100, random_state=0)
    assert asked.rows.max() < 10


def test_more_questions_than_there_are(model):
    with pytest.raises(ValueError, match="there are 12,180 different questions"):
        asking.next_questions(model, 12_181)
    few = asking.next_questions(model, 12_180, random_state=0)
    assert len(np.unique(designs.question_code(few, 30))) == 12_180


def test_a_method_without_probabilities_is_refused():
    fitted = ordinate.SOE(random_state=0).fit(
        sample_triplets(sample_points(10, random_state=0), 300, random_state=0)
    )
    with pytest.raises(ValueError, match="SOE gives no probabilities: take OrdinalEmbedding"):
        asking.next_questions(fitted, 5)


def test_chosen_questions_make_a_better_map_than_random_ones():
    """n = 30, d = 2: from 200 answers to 600, ten times, the error ends at most 0.6 as large."""
    errors = {"active": [], "random": []}
    for seed in range(10):
        points = 5 * sample_points(30, random_state=seed)
        for way, found in errors.items():
            rng = np.random.default_rng([seed, 7])
            answers = sample_triplets(points, 200, random_state=seed).rows
            for _ in range(5):
                model = STE(random_state=0, regularization=0.1)
                model.fit(Triplets(answers, n_items=30))
                share = 0.2 if way == "active" else 1.0
                asked = asking.next_questions(model, 80, random_share=share, random_state=rng)
                near = np.linalg.norm(points[asked[:, 0]] - points[asked[:, 1]], axis=1) ** 2
                far = np.linalg.norm(points[asked[:, 0]] - points[asked[:, 2]], axis=1) ** 2
                says_first = rng.random(80) < losses.get("ste").probability(near, far)
                new = np.where(says_first[:, None], asked, asked[:, [0, 2, 1]])
                answers = np.concatenate([answers, new])
            model.fit(Triplets(answers, n_items=30))
            found.append(
                ordinate.procrustes_error(model.embedding_, points, scale=True, relative=True)
            )
    assert np.mean(errors["active"]) < 0.6 * np.mean(errors["random"])


# Files


def items_file(folder):
    path = folder / "items.csv"
    path.write_text("label,price\n" + "".join(f"st/im{k}.png,{k}\n" for k in range(20)))
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["ask", *map(str, arguments)])


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".json", ".jsonl"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_list_comes_back_with_answers(tmp_path, ending, kind):
    path = tmp_path / f"questions{ending}"
    result = run(items_file(tmp_path), "--budget", 300, "--kind", kind, "--blocks", 3, "-o", path)
    assert result.exit_code == 0, result.output
    places = ("anchor", "first", "second") if kind == "triplet" else ("first", "second", "third")
    answer = "response" if kind == "triplet" else "odd"
    text = path.read_text()
    if ending == ".jsonl":
        records = [json.loads(line) for line in text.splitlines()]
        assert all(record[place] in record["prompt"] for record in records for place in places)
    elif ending == ".json":
        records = json.loads(text)["timeline_variables"]
    else:
        separator = "," if ending == ".csv" else "\t"
        records = list(csv.DictReader(text.splitlines(), delimiter=separator))
    assert {record[answer] for record in records} == {""}
    assert [int(record["question"]) for record in records] == list(range(1, 301))
    # The second place wins, which the item or a number may say.
    if ending == ".json":
        for record in records:
            record[answer] = record["second"]
        path.write_text(json.dumps(records))
    elif ending == ".jsonl":
        for k, record in enumerate(records):
            record[answer] = str(1 + k % (2 if kind == "triplet" else 3))
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    else:
        for record in records:
            record[answer] = record["second"]
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, list(records[0]), delimiter=separator)
            table.writeheader()
            table.writerows(records)
    back = readers.read(path)
    n_rows = 294 if kind == "triplet" else 588
    assert len(back.triplets) == n_rows
    assert set(back.triplets.items) <= {f"st/im{k}.png" for k in range(20)}
    assert any("check" in str(note) for note in back.notes)


def test_the_next_questions_of_a_folder(tmp_path, model):
    model.save(tmp_path / "map")
    path = tmp_path / "more.csv"
    result = run("--after", tmp_path / "map", "--budget", 50, "-o", path)
    assert result.exit_code == 0, result.output
    records = list(csv.DictReader(path.read_text().splitlines()))
    assert {record["source"] for record in records} == {"active", "random", "repeat", "check"}
    assert run("--after", tmp_path / "map", "--budget", 50, "-o", path).exit_code == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a file of items"),
        (["items.csv", "--after", "map"], "name a file of items"),
        (["items.csv", "--about", "a"], "--about goes with --after"),
        (["--after", "map", "--design", "uniform"], "--design is for the first questions"),
        (["--after", "map", "--kind", "odd-one-out"], "--after chooses triplet questions"),
    ],
)
def test_options_that_do_not_go_together(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments, "--budget", 10, "-o", "q.csv")
    assert result.exit_code == 2
    assert message in result.output


@pytest.mark.parametrize(
    ("content", "labels"),
    [
        ("cat\ndog\nant\n", ["cat", "dog", "ant"]),
        ("item\ncat\n dog \nant\n", ["cat", "dog", "ant"]),
        ('label\n"a, b"\nc\n', ["a, b", "c"]),
        ("price,name\n1,cat\n2,dog\n3,ant\n", ["cat", "dog", "ant"]),
    ],
)
def test_labels_of_items(tmp_path, content, labels):
    from ordinate.files.items import read_labels

    path = tmp_path / "items.csv"
    path.write_text(content)
    assert read_labels(path) == labels


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("cat\ncat\ndog\n", "more than once: cat"),
        ("label,x\ncat,1\n,2\ndog,3\n", "without a label, in row 2"),
        ("price,size\n1,2\n2,3\n4,5\n", "no column is called"),
    ],
)
def test_labels_that_are_none(tmp_path, content, message):
    from ordinate.files.items import read_labels

    path = tmp_path / "items.csv"
    path.write_text(content)
    with pytest.raises(readers.ReadError, match=message):
        read_labels(path)


def test_pictures_of_a_folder_are_items(tmp_path):
    for name in ("b.png", "a.JPG", "notes.txt", "c.wav"):
        (tmp_path / name).touch()
    result = run(tmp_path, "--budget", 3, "-o", tmp_path / "q.csv")
    assert result.exit_code == 0, result.output
    shown = {r["anchor"] for r in csv.DictReader((tmp_path / "q.csv").read_text().splitlines())}
    assert shown <= {"a.JPG", "b.png", "c.wav"}


def test_the_power_family_chooses_too():
    points = 3 * sample_points(20, random_state=0)
    answers = sample_triplets(points, 800, noise=Power(0.5, 3.0, 0.05), random_state=0)
    fitted = PowerEmbedding(random_state=0).fit(answers)
    assert asking.next_questions(fitted, 30, random_state=0).shape == (30, 3)


def test_landmarks_on_the_rim_are_far_out_and_in_all_directions():
    points = sample_points(2000, 2, random_state=0)
    chosen = active.on_the_rim(points, 8, np.random.default_rng(0))
    assert len(np.unique(chosen)) == 8
    rim = points[chosen] - points.mean(axis=0)
    assert np.linalg.norm(rim, axis=1).min() > np.quantile(np.linalg.norm(points, axis=1), 0.97)
    angles = np.sort(np.arctan2(rim[:, 1], rim[:, 0]))
    assert np.diff(np.append(angles, angles[0] + 2 * np.pi)).max() < 2 * np.pi / 3


def test_questions_about_landmarks_on_the_rim():
    points = 3 * sample_points(60, random_state=0)
    fitted = STE(random_state=0).fit(sample_triplets(points, 3000, random_state=0))
    asked = asking.choose_questions(fitted, 500, landmarks=6, random_state=0)
    assert len(np.unique(asked.rows[asked.source == "active", 0])) == 6
    assert len(np.unique(asked.rows[asked.source == "random", 0])) > 30


def test_pilot_and_rim_make_a_better_map_than_uniform_questions():
    """n = 1,000, d = 2, c = 50, three times: the squared error is at most 0.75 as large."""
    share = []
    for seed in range(3):
        points = sample_points(1000, random_state=seed)
        m = round(50 * 1000 * np.log(1000))
        uniform = STE(random_state=0).fit(sample_triplets(points, m, random_state=seed))
        pilot = sample_triplets(points, m // 5, random_state=seed)
        model = STE(random_state=0).fit(pilot)
        rim = active.on_the_rim(model.embedding_, 8, np.random.default_rng(seed))
        more = sample_triplets(
            points, m - m // 5, design="landmarks", landmarks=rim, random_state=seed + 10
        )
        both = STE(random_state=0, init=model.embedding_)
        both.fit(np.concatenate([pilot.rows, more.rows]))
        errors = [
            ordinate.procrustes_error(each.embedding_, points, scale=True)
            for each in (both, uniform)
        ]
        share.append((errors[0] / errors[1]) ** 2)
    assert np.mean(share) < 0.75


def test_a_map_that_was_sorted_since_is_refused(tmp_path, model):
    model.save(tmp_path / "map")
    table = tmp_path / "map" / "embedding.csv"
    head, *lines = table.read_text().splitlines()
    table.write_text("\n".join([head, *reversed(lines)]))
    result = run("--after", tmp_path / "map", "--budget", 10, "-o", tmp_path / "q.csv")
    assert result.exit_code == 2
    assert "has no covariance" in result.output
