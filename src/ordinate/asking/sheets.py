"""Lists of questions as files that experiments read, and that come back with answers.

Columns are question, anchor, first, second, response, block and source; of odd-one-out questions
question, first, second, third, odd, block and source. ``ordinate fit`` takes the same file when the
empty column is filled in: with the item, or its place.
"""

import csv
import io
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ordinate._base.writing import whole_file
from ordinate.asking.designs import Questions

COLUMNS = {
    "triplet": (("anchor", "first", "second"), "response"),
    "odd-one-out": (("first", "second", "third"), "odd"),
}
PROMPTS = {
    "triplet": "Which of these two is more similar to {}: (1) {} or (2) {}? Answer 1 or 2.",
    "odd-one-out": "Which of these three is the odd one out: (1) {}, (2) {} or (3) {}? "
    "Answer 1, 2 or 3.",
}


def write_questions(
    path: str | os.PathLike,
    questions: Questions,
    items: Sequence[Any],
    *,
    force: bool = False,
) -> None:
    """Write a list of questions in the format that the ending names.

    Parameters
    ----------
    path : str or path
        ``.csv`` and ``.tsv`` are tables; ``.json`` is an object whose ``timeline_variables`` a
        timeline of jsPsych takes; ``.jsonl`` has a question on each line, with a ``prompt`` for a
        language model.
    questions : Questions
    items : sequence
        The labels of the items, by their ids.
    force : bool
        Replace an existing file.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in WRITERS:
        raise ValueError(f"{path}: the ending must be one of {', '.join(WRITERS)}")
    records = _records(questions, items)
    with whole_file(path, force=force) as new:
        new.write_text(WRITERS[ending](records, questions.kind), encoding="utf-8", newline="")


def _records(questions: Questions, items: Sequence[Any]) -> list[dict[str, Any]]:
    places, answer = COLUMNS[questions.kind]
    labels = [_plain(item) for item in items]
    rows = zip(
        questions.rows.tolist(), questions.block.tolist(), questions.source.tolist(), strict=True
    )
    return [
        {
            "question": number,
            **{place: labels[item] for place, item in zip(places, row, strict=True)},
            answer: "",
            "block": block,
            "source": source,
        }
        for number, (row, block, source) in enumerate(rows, start=1)
    ]


def _plain(label: Any) -> Any:
    return label.item() if hasattr(label, "item") else label


def _table(delimiter: str) -> Callable[[list[dict], str], str]:
    def write(records: list[dict], kind: str) -> str:
        text = io.StringIO(newline="")
        table = csv.DictWriter(text, list(records[0]), delimiter=delimiter, lineterminator="\n")
        table.writeheader()
        table.writerows(records)
        return text.getvalue()

    return write


def _timeline(records: list[dict], kind: str) -> str:
    return json.dumps({"timeline_variables": records}, ensure_ascii=False, indent=1) + "\n"


def _prompts(records: list[dict], kind: str) -> str:
    places, _ = COLUMNS[kind]
    return "".join(
        json.dumps(
            {**record, "prompt": PROMPTS[kind].format(*(record[place] for place in places))},
            ensure_ascii=False,
        )
        + "\n"
        for record in records
    )


WRITERS: dict[str, Callable[[list[dict], str], str]] = {
    ".csv": _table(","),
    ".tsv": _table("\t"),
    ".json": _timeline,
    ".jsonl": _prompts,
}
