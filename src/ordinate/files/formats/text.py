"""Text and JSON as tables; text is read by Arrow."""

import csv
import io
import json
import re
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

from ordinate._base.messages import some
from ordinate._base.threads import elsewhere
from ordinate.files.formats.cells import column_of, normal
from ordinate.files.formats.errors import ReadError
from ordinate.files.formats.names import PARTICIPANT
from ordinate.files.formats.nested import unnested
from ordinate.files.formats.quotes import check_quotes, refuse_open_quotes
from ordinate.files.formats.table import Table

DELIMITERS = ("\t", ",", ";", "|", " ")
SAMPLE_BYTES, SAMPLE_ROWS = 1 << 16, 50
# Of the sample's lines, how many must have as many fields as the first for a delimiter to count.
MOST_LINES = 0.5
LOOSE_BLANKS = (b"  ", b"\t", b" \n", b" \r", b"\n ")
NO_COLUMNS = (
    "no three columns were found; fields are separated by comma, tab, semicolon, bar or blank"
)
MOST_ABOVE = 10  # lines above a table
MARKS = ("#", "%")  # of comments there
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
    lists = isinstance(data, list) and len(data) > 0 and all(map(_is_records, data))
    if lists:
        n_lists, data = len(data), _joined(data)
    data, notes = unnested(shown, data)
    if isinstance(data, dict) and not any(isinstance(value, list) for value in data.values()):
        data = [data]
    if isinstance(data, dict):
        table = _columns(shown, data)
        table.notes += notes
        return table
    if all(isinstance(record, dict) for record in data):
        names = list(dict.fromkeys(key for record in data for key in record))
        columns = {name: [record.get(name) for record in data] for name in names}
        table = _columns(shown, columns)
        table.notes += notes
        if lists:
            table.notes.append(f"{n_lists:,} lists of records are read as one")
        return table
    widths = {len(row) if isinstance(row, list) else 0 for row in data}
    if len(widths) != 1 or widths == {0}:
        raise ReadError(f"{shown}: JSON must hold records, columns, or rows of equal length")
    columns = {f"column {k}": list(cells) for k, cells in enumerate(zip(*data, strict=True))}
    return Table(shown, pa.table(columns), None, row_from_0)


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(record, dict) for record in value)


def _joined(lists: list[list[dict]]) -> list[dict]:
    """Return the records of several lists, as servers keep one for each participant."""
    known = any(normal(key) in PARTICIPANT for records in lists for row in records for key in row)
    return [
        record if known else {**record, PARTICIPANT[0]: k}
        for k, records in enumerate(lists, 1)
        for record in records
    ]


def _columns(shown: str, columns: dict) -> Table:
    """Keep the longest lists: others describe something else than the rows."""
    lists = {name: value for name, value in columns.items() if isinstance(value, list)}
    longest = max((len(value) for value in lists.values()), default=0)
    rows = {name: value for name, value in lists.items() if len(value) == longest}
    table = typed(shown, pa.table({name: column_of(value) for name, value in rows.items()}))
    if len(rows) < len(columns):
        others = [name for name in columns if name not in rows]
        table.notes.append(
            f"not read, since they are not lists of {longest:,} rows: {some(others)}"
        )
    return table


def _sample(content: bytes) -> str:
    """Return the first lines, none of them cut, however long."""
    end = content.find(b"\n", SAMPLE_BYTES)
    return (content if end < 0 else content[: end + 1]).decode(errors="ignore")


class TextForm(NamedTuple):
    """How a text table is written, as its first lines show."""

    delimiter: str
    n_columns: int
    n_above: int  # lines above the table
    notes: list[str]


def read_text(shown: str, content: bytes) -> Table:
    """Read fields between delimiters; whether line 1 is a header is left open."""
    if b"\n" not in content:
        content = content.replace(b"\r", b"\n")  # as Excel for Macintosh ends lines
    form, content = begin_text(shown, content, content)
    delimiter, n_columns, n_above, notes = form
    quoted = b'"' in content
    content = single_blanks(content, delimiter, quoted)
    data, n_bad = parse_text(shown, content, form)

    def place(row: int) -> str:
        return f"line {n_above + line_of(content, delimiter, lambda i, cells: i == row)}"

    if n_bad:
        line = n_above + unequal_line(content, form)
        raise ReadError(unequal_lines(shown, line, n_bad, form))
    if data.num_columns != n_columns:
        raise ReadError(f"{shown}: line 1 is too long, or its quotes do not match")
    if quoted:
        breaks = check_quotes(shown, content, delimiter, data, n_above)
        notes += [breaks.note] if breaks.note else []
    table = Table(shown, data, None, place, text=True, undecided=True, delimiter=delimiter)
    table.header = [cell.strip() for cell in table.cells(0, range(n_columns))]
    table.notes += notes
    table.like_rows = breaks.like_rows if quoted else {}
    return table


def begin_text(shown: str, content: bytes, end: bytes) -> tuple[TextForm, bytes]:
    """Find how a table is written, from its beginning and its end; return it with a repaired head.

    The beginning must hold as many lines as are sampled, and may be all.
    """
    n_above = _lines_above(_sample(content).splitlines())
    above, content = _cut_lines(content, n_above)
    delimiter, n_columns = _delimiter(shown, _sample(content))
    content, notes = _header_as_wide_as_rows(content, delimiter, n_columns, end)
    if above:
        notes.insert(0, f"not read, since the table begins below: {above}")
    return TextForm(delimiter, n_columns, n_above, notes), content


def single_blanks(content: bytes, delimiter: str, quoted: bool) -> bytes:
    """Put single blanks between fields: Arrow takes each blank for a delimiter."""
    # The substitution is slow, so only where needed.
    loose = content[:1] == b" " or any(blank in content for blank in LOOSE_BLANKS)
    if delimiter == " " and loose and not quoted:
        content = re.sub(rb"(?m)^[ \t]+|[ \t]+(?=\r?$)", b"", content)
        content = re.sub(rb"[ \t]+", b" ", content)
    return content


def parse_text(
    shown: str, content: bytes, form: TextForm, *, n_above: int | None = None, inside: bool = False
) -> tuple[pa.Table, int]:
    """Return the rows as text, and the number of those that have more or fewer fields.

    ``inside`` says that the content does not begin with the table's first line; ``n_above`` lines
    stand above it.
    """
    n_above = form.n_above if n_above is None else n_above
    if b"\n" not in content:
        content += b"\n"  # Arrow does not see a single line without an end
    bad: list[Any] = []

    def skip(row: Any) -> str:
        bad.append(row)
        return "skip"

    quoted = b'"' in content
    names = [f"f{i}" for i in range(form.n_columns)]
    try:
        data = elsewhere(
            lambda: pa.csv.read_csv(
                pa.BufferReader(content),
                read_options=pa.csv.ReadOptions(
                    autogenerate_column_names=not inside,
                    column_names=names if inside else None,
                    block_size=1 << 22,
                ),
                parse_options=pa.csv.ParseOptions(
                    delimiter=form.delimiter, newlines_in_values=quoted, invalid_row_handler=skip
                ),
                convert_options=pa.csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    strings_can_be_null=False,
                    check_utf8=False,
                ),
            )
        )
    except pa.ArrowInvalid:
        # A quote may be the reason.
        refuse_open_quotes(shown, content, form.delimiter, n_above)
        raise
    if bad and quoted:
        refuse_open_quotes(shown, content, form.delimiter, n_above)
    return data, len(bad)


def unequal_line(content: bytes, form: TextForm) -> int:
    """Return the first line, from 1, that has more or fewer fields than the table."""
    return line_of(content, form.delimiter, lambda i, cells: len(cells) != form.n_columns)


def unequal_lines(shown: str, line: int, n_bad: int, form: TextForm) -> str:
    """Say that lines have more or fewer fields than the first."""
    return (
        f"{shown}, line {line}: not the {form.n_columns} fields of line {form.n_above + 1} "
        f"({n_bad:,} such rows); repair those rows, or quote fields that hold {form.delimiter!r}"
    )


def _lines_above(lines: list[str]) -> int:
    """Return the number of lines above the table: comments, and titles, which fill one field."""
    for delimiter in DELIMITERS if len(lines) > 2 else ():
        last = _fields(lines[-2], delimiter)
        for marked in (True, False):
            n = 0
            while n < min(MOST_ABOVE, len(lines) - 2) and _is_above(
                lines[n], delimiter, len(last), marked
            ):
                n += 1
            first = _fields(lines[n], delimiter)
            # If labels begin with a mark, such as colours do, it is none of comments.
            in_doubt = marked and all(row[:1] and row[0].startswith(MARKS) for row in (first, last))
            if n and len(first) == len(last) > 2 and not in_doubt:
                return n
    return 0


def _is_above(line: str, delimiter: str, width: int, marked: bool) -> bool:
    """Tell whether a line is a comment or a title; words of a title are no fields.

    ``marked`` says that # and % are marks of comments.
    """
    if line.count('"') % 2:
        return False  # the field goes on below
    if marked and line.startswith(MARKS) and len(_fields(line.lstrip("#% "), delimiter)) != width:
        return True
    filled = (sum(map(bool, _fields(line, other))) for other in DELIMITERS if other != " ")
    return delimiter != " " and max(filled) < 2


def _fields(line: str, delimiter: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]


def _cut_lines(content: bytes, n: int) -> tuple[list[str], bytes]:
    """Cut off the first lines, and return those that are not empty, too."""
    lines = content.splitlines(keepends=True)[:n] if n else []
    words = [line.decode().strip("\t ,;|\r\n") for line in lines]
    return [word[:60] for word in words if word], content[sum(map(len, lines)) :]


def _header_as_wide_as_rows(
    content: bytes, delimiter: str, n: int, last: bytes
) -> tuple[bytes, list[str]]:
    """Cut off names beyond the fields that all rows have; add that of a column without one.

    ``last`` ends as the file does.
    """
    end = content.find(b"\n")
    line = content[:end]
    names = next(csv.reader([line.decode(errors="ignore")], delimiter=delimiter), [])
    if len(names) == n - 1:
        # R names rows in a first column; others end each row, but not the header, by a delimiter.
        empty = last.rstrip(b"\r\n").endswith(delimiter.encode())
        names = [*names, ""] if empty else ["", *names]
        notes = [f"the header has no name for the {'last' if empty else 'first'} column"]
    elif delimiter == " " or len(names) <= n or line.count(b'"') % 2:
        return content, []
    else:
        notes = [f"the header has names beyond the fields of the rows: {names[n:]}"]
    header = io.StringIO()
    writer = csv.writer(header, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="")
    writer.writerow(names[:n])
    return header.getvalue().encode() + content[end:], notes


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
            same = all(len(row) == width for row in rows[1:])
            mturk = "HITId" in rows[0] and 2 < width < len(rows[0])
            unnamed = len(rows) > 2 and 3 < width == len(rows[0]) + 1
            if same and (mturk or unnamed):
                # Approve and Reject have names, but no fields; R's numbers of rows have no name.
                found[delimiter] = 1.0, width
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


def line_of(content: bytes, delimiter: str, wanted: Any) -> int:
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
