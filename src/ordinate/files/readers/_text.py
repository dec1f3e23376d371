"""Text and JSON as tables; text is read by Arrow."""

import csv
import io
import json
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from ordinate.files.readers._cells import column_of
from ordinate.files.readers._errors import ReadError
from ordinate.files.readers._table import Table

DELIMITERS = ("\t", ",", ";", "|", " ")
SAMPLE_BYTES, SAMPLE_ROWS = 1 << 16, 50
# Of the sample's lines, how many must have as many fields as the first for a delimiter to count.
MOST_LINES = 0.5
LOOSE_BLANKS = (b"  ", b"\t", b" \n", b" \r", b"\n ")
NO_COLUMNS = (
    "no three columns were found; fields are separated by comma, tab, semicolon, bar or blank"
)
JSON_LINES = (".jsonl", ".ndjson")


def row_from_0(i: int) -> str:
    """Say where a row of a file without lines stands."""
    return f"row {i} (from 0)"


def typed(shown: str, data: pa.Table) -> Table:
    """Return a table whose columns have names and types."""
    data.validate(full=True)
    return Table(shown, data, data.column_names, row_from_0)


def read_json(shown: str, name: str, content: bytes) -> Table:
    """Read an object of columns, a list of records or of rows, or one record a line."""
    lines = content.splitlines()
    try:
        data = json.loads(content)
    except json.JSONDecodeError:
        if len(lines) < 2 and not name.lower().endswith(JSON_LINES):
            raise
        data = [json.loads(line) for line in lines if line.strip()]
    if isinstance(data, dict) and not any(isinstance(value, list) for value in data.values()):
        data = [data]
    if isinstance(data, dict):
        return _columns(shown, data)
    if all(isinstance(record, dict) for record in data):
        names = list(dict.fromkeys(key for record in data for key in record))
        return _columns(shown, {name: [record.get(name) for record in data] for name in names})
    widths = {len(row) if isinstance(row, list) else 0 for row in data}
    if len(widths) != 1 or widths == {0}:
        raise ReadError(f"{shown}: JSON must hold records, columns, or rows of equal length")
    columns = {f"column {k}": list(cells) for k, cells in enumerate(zip(*data, strict=True))}
    return Table(shown, pa.table(columns), None, row_from_0)


def _columns(shown: str, columns: dict) -> Table:
    """Keep the longest lists: others describe something else than the rows."""
    lists = {name: value for name, value in columns.items() if isinstance(value, list)}
    longest = max((len(value) for value in lists.values()), default=0)
    rows = {name: value for name, value in lists.items() if len(value) == longest}
    table = typed(shown, pa.table({name: column_of(value) for name, value in rows.items()}))
    if len(rows) < len(columns):
        others = [name for name in columns if name not in rows]
        table.notes.append(f"not read, since they are no lists of {longest:,} rows: {others[:10]}")
    return table


def read_text(shown: str, content: bytes) -> Table:
    """Read fields between delimiters; whether line 1 is a header is left open."""
    if b"\n" not in content:
        content = content.replace(b"\r", b"\n")  # as Excel for Macintosh ends lines
    end = content.find(b"\n", SAMPLE_BYTES)  # the first line is never cut, however long
    sample = content if end < 0 else content[: end + 1]
    delimiter, n_columns = _delimiter(shown, sample.decode(errors="ignore"))
    content, unused = _without_unused_names(content, delimiter, n_columns)
    quoted = b'"' in content
    # Arrow takes each blank for a delimiter; the substitution is slow, so only where needed.
    loose = content[:1] == b" " or any(blank in content for blank in LOOSE_BLANKS)
    if delimiter == " " and loose and not quoted:
        content = re.sub(rb"(?m)^[ \t]+|[ \t]+(?=\r?$)", b"", content)
        content = re.sub(rb"[ \t]+", b" ", content)
    if b"\n" not in content:
        content += b"\n"  # Arrow does not see a single line without an end
    bad: list[Any] = []

    def skip(row: Any) -> str:
        bad.append(row)
        return "skip"

    data = pa.csv.read_csv(
        pa.BufferReader(content),
        read_options=pa.csv.ReadOptions(autogenerate_column_names=True, block_size=1 << 22),
        parse_options=pa.csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=quoted, invalid_row_handler=skip
        ),
        convert_options=pa.csv.ConvertOptions(
            column_types={f"f{i}": pa.string() for i in range(n_columns)},
            strings_can_be_null=False,
            check_utf8=False,
        ),
    )

    def place(row: int) -> str:
        return f"line {_line(content, delimiter, lambda i, cells: i == row)}"

    if bad:
        width = data.num_columns
        line = _line(content, delimiter, lambda i, cells: len(cells) != width)
        raise ReadError(
            f"{shown}, line {line}: not the {width} fields of line 1 ({len(bad):,} such rows); "
            f"repair those rows, or quote fields that hold {delimiter!r}"
        )
    if data.num_columns != n_columns:
        raise ReadError(f"{shown}: line 1 is too long, or its quotes do not match")
    table = Table(shown, data, None, place, text=True, undecided=True, delimiter=delimiter)
    table.header = [cell.strip() for cell in table.cells(0, range(n_columns))]
    if unused:
        table.notes.append(f"the header has names beyond the fields of the rows: {unused}")
    last = table.cells(-1, [n_columns - 1])[0]
    if "\n" in last and not content.rstrip().endswith(b'"'):
        raise ReadError(f"{shown}: a quote is opened and never closed, or the file is cut off")
    return table


def _without_unused_names(content: bytes, delimiter: str, n: int) -> tuple[bytes, list[str]]:
    """Cut off the names in the first line beyond the fields that all rows have."""
    end = content.find(b"\n")
    line = content[:end]
    names = next(csv.reader([line.decode(errors="ignore")], delimiter=delimiter), [])
    if delimiter == " " or len(names) <= n or line.count(b'"') % 2:
        return content, []
    header = io.StringIO()
    csv.writer(header, delimiter=delimiter, lineterminator="").writerow(names[:n])
    return header.getvalue().encode() + content[end:], names[n:]


def _delimiter(shown: str, sample: str) -> tuple[str, int]:
    """Find what separates the fields, and return it with the number of fields of line 1."""
    found: dict[str, tuple[float, int]] = {}
    # Two columns are enough about items; of answers, their names may tell which is missing.
    two: dict[str, tuple[float, int]] = {}
    for delimiter in DELIMITERS:
        blank = delimiter == " "
        text = re.sub(r"(?m)^[ \t]+|[ \t]+$", "", sample) if blank else sample
        records = csv.reader(
            io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=blank
        )
        rows = [row for row, _ in zip(records, range(SAMPLE_ROWS), strict=False) if row]
        # The sample may end within quotes.
        rows = rows[:-1] if len(rows) > 2 else rows
        if rows and len(rows[0]) >= 2:
            share = np.mean([len(row) == len(rows[0]) for row in rows])
            width = len(rows[-1])
            mturk = "HITId" in rows[0] and all(len(row) == width for row in rows[1:])
            if mturk and 2 < width < len(rows[0]):
                found[delimiter] = 1.0, width  # Approve and Reject have names, but no fields
            elif len(rows[0]) == 2 and share == 1:
                two[delimiter] = 1.0, 2
            elif len(rows[0]) > 2 and share >= MOST_LINES:
                found[delimiter] = float(share), len(rows[0])
    # Blanks also stand within fields.
    if {*found, *two} - {" "}:
        found.pop(" ", None)
        two.pop(" ", None)
    found = found or (two if len(two) == 1 else {})
    best = max((share for share, _ in found.values()), default=0)
    found = {delimiter: entry for delimiter, entry in found.items() if entry[0] == best}
    if not found:
        raise ReadError(f"{shown}: {NO_COLUMNS}. The file begins {sample[:60]!r}")
    if len(found) > 1:
        raise ReadError(
            f"{shown}: fields may be separated by any of {list(found)}; quote the fields that hold "
            "another's separator, or save the file with tabs"
        )
    ((delimiter, (_, n_columns)),) = found.items()
    return delimiter, n_columns


def _line(content: bytes, delimiter: str, wanted: Any) -> int:
    """Return the line, from 1, of the first record wanted; for messages only, since it is slow."""
    records = csv.reader(io.StringIO(content.decode(), newline=""), delimiter=delimiter)
    start, i = 1, 0
    for cells in records:
        if cells:
            if wanted(i, cells):
                break
            i += 1
        start = records.line_num + 1
    return start
