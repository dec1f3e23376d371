"""Sheets as survey platforms write them: jsPsych, Meadows, MTurk, and names that say little."""

import json
from random import Random

from fuzz.sheets import Sheet, Triplet, _columns, _draw, _said_of_three, said

MEANINGS = ("odd_one_out", "most_central", "response")


def jspsych(rng: Random, items: list[str], n_rows: int) -> Sheet:
    """One row for each screen, of which many are no trials."""
    rows = _draw(rng, items, n_rows, 3)
    picks = [rng.randrange(2) for _ in rows]
    buttons = rng.random() < 0.5
    columns: dict[str, list] = {
        name: []
        for name in ("rt", "stimulus", "response", "trial_type", "trial_index", "time_elapsed")
    }
    more = ("choices",) if buttons else ("anchor", "left", "right")
    columns |= {name: [] for name in more}
    answers: list[tuple[Triplet, ...] | None] = []
    for k, (row, pick) in enumerate(zip(rows, picks, strict=True)):
        if rng.random() < 0.3:
            _append(columns, {"stimulus": "<p>Welcome</p>", "trial_type": "instructions"}, 2 * k)
            answers.append(None)
        cells = {"rt": rng.randint(200, 3000), "trial_type": "html-button-response"}
        if buttons:
            cells |= {"stimulus": row[0], "choices": json.dumps(row[1:]), "response": str(pick)}
        else:
            cells |= dict(zip(more, row, strict=True))
            cells["response"] = ("ArrowLeft", "ArrowRight")[pick]
        _append(columns, cells, 2 * k + 1)
        answers.append((said(row[0], row[1 + pick], row[2 - pick]),))
    options = {"response": {"0": "first", "1": "second"}} if buttons else {}
    # Items that look like lists or pictures are taken apart, as they should be elsewhere.
    return Sheet("response", columns, answers, items, (), options=options, sure=False)


def _append(columns: dict[str, list], cells: dict, index: int) -> None:
    cells = {"trial_index": index, "time_elapsed": 100 * index, **cells}
    for name, column in columns.items():
        column.append(cells.get(name))


def meadows(rng: Random, items: list[str], n_rows: int) -> Sheet:
    """Ids and names of three stimuli, and the id of the one picked; what was asked is told."""
    layout = rng.choice(MEANINGS[:2])
    number = {label: f"{k:04x}c" for k, label in enumerate(items)}
    rows = _draw(rng, items, n_rows, 3)
    picks = [rng.randrange(3) for _ in rows]
    columns: dict[str, list] = {"task": ["odd"] * n_rows, "trial": list(range(n_rows))}
    for k in range(3):
        columns[f"stim{k + 1}_id"] = [number[row[k]] for row in rows]
        columns[f"stim{k + 1}_name"] = [row[k] for row in rows]
    columns["label"] = [number[row[pick]] for row, pick in zip(rows, picks, strict=True)]
    answers = [
        _said_of_three(layout, [x for k, x in enumerate(row) if k != pick], row[pick])
        for row, pick in zip(rows, picks, strict=True)
    ]
    return Sheet(layout, columns, answers, items, (), options={"layout": layout}, sure=False)


def mturk(rng: Random, items: list[str], n_rows: int) -> Sheet:
    """A batch, with prefixes before the names of columns."""
    rows = _draw(rng, items, n_rows, 3)
    picks = [rng.randrange(2) for _ in rows]
    columns: dict[str, list] = {
        "HITId": [f"3{k:03}" for k in range(n_rows)],
        "Title": ["Which is closer?"] * n_rows,
        "AssignmentStatus": [rng.choice(["Approved", "Rejected"]) for _ in rows],
        **_columns(("Input.anchor", "Input.left", "Input.right"), rows),
        "Answer.choice": [("left", "right")[pick] for pick in picks],
    }
    answers = [
        (said(row[0], row[1 + pick], row[2 - pick]),) for row, pick in zip(rows, picks, strict=True)
    ]
    return Sheet("response", columns, answers, items, (), sure=False)


def few_words(rng: Random, items: list[str], n_rows: int) -> Sheet:
    """Three stimuli and a choice, of which only the reader's user knows what was asked."""
    layout = rng.choice(MEANINGS)
    stem = rng.choice(["image{}", "stim{}_name", "option_{}"])
    names = tuple(stem.format(k) for k in (1, 2, 3))
    rows = _draw(rng, items, n_rows, 3)
    picks = [rng.randrange(3) if layout != "response" else rng.randint(1, 2) for _ in rows]
    columns = _columns(names, rows)
    columns["choice"] = [row[pick] for row, pick in zip(rows, picks, strict=True)]
    answers = []
    for row, pick in zip(rows, picks, strict=True):
        if layout == "response":
            answers.append((said(row[0], row[pick], row[3 - pick]),))
        else:
            others = [x for k, x in enumerate(row) if k != pick]
            answers.append(_said_of_three(layout, others, row[pick]))
    options = {"layout": layout}
    return Sheet(layout, columns, answers, items, names, "choice", options=options, sure=False)


PLATFORMS = (jspsych, meadows, mturk, few_words)
