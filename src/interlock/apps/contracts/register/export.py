"""Lists of contracts as CSV and XLSX, whose cells no spreadsheet runs as formulas."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Iterator
from typing import Any

from fastapi.responses import Response, StreamingResponse

from interlock.apps.contracts.register import lists
from interlock.apps.contracts.register.lists import COLUMNS, Filter, Row
from interlock.engine import InvalidData
from interlock.http.csv_cells import csv_line, safe_cell
from interlock.http.service import Service

AT_ONCE = 200
MOST_ROWS = 50_000
"""Rows of a spreadsheet; it is written as a whole, in memory. CSV has no such limit."""
LONGEST_CELL = 32_000
HEADINGS = {
    "filename": "File",
    "parties": "Parties",
    "law": "Governing law",
    "term": "Term",
    "value": "Value",
    "ends": "Ends",
    "state": "State",
    "confidence": "Confidence",
    "vertical": "Kind",
    "createdAt": "Created",
    "workflowId": "Id",
}
WIDTHS = {"filename": 34, "parties": 44, "law": 18, "term": 26, "value": 30, "workflowId": 38}
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


async def answer(service: Service, workspace: str, wanted: Filter, format: str) -> Response:
    """The whole list in the format, as a download."""
    headers = {"Content-Disposition": f'attachment; filename="contracts.{format}"', "Cache-Control": "no-store"}
    if format == "csv":
        lines = _csv(service, workspace, wanted)
        return StreamingResponse(lines, media_type="text/csv; charset=utf-8", headers=headers)
    found = await service.read(lambda conn: list(_every(conn, workspace, wanted)))
    content = await service.call(spreadsheet, found)
    return Response(content, media_type=XLSX, headers=headers)


async def _csv(service: Service, workspace: str, wanted: Filter) -> AsyncIterator[str]:
    yield csv_line(HEADINGS[name] for name in COLUMNS)
    after: Any = None
    while True:
        rows, after = await service.read(
            lambda conn, cursor=after: lists.page(conn, workspace, wanted, after=cursor, limit=AT_ONCE)  # type: ignore[misc]
        )
        yield "".join(csv_line(cells(row)) for row in rows)
        if after is None:
            return


def _every(conn: Any, workspace: str, wanted: Filter) -> Iterator[Row]:
    after, count = None, 0
    while True:
        rows, after = lists.page(conn, workspace, wanted, after=after, limit=AT_ONCE)
        count += len(rows)
        if count > MOST_ROWS:
            raise InvalidData(f"a spreadsheet has at most {MOST_ROWS:,} rows; narrow the list, or export it as CSV")
        yield from rows
        if after is None:
            return


def cells(row: Row) -> list[Any]:
    """The values of a row, in the order of the columns."""
    plain = row.plain()
    return [plain[name] for name in COLUMNS]


def spreadsheet(rows: list[Row]) -> bytes:
    """A workbook with one sheet. Every text is written as text, escaped as in CSV."""
    import xlsxwriter

    out = io.BytesIO()
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    book = xlsxwriter.Workbook(out, options)
    sheet, bold = book.add_worksheet("Contracts"), book.add_format({"bold": True})
    for column, name in enumerate(COLUMNS):
        sheet.write_string(0, column, HEADINGS[name], bold)
        sheet.set_column(column, column, WIDTHS.get(name, 14))
    for number, row in enumerate(rows, 1):
        for column, value in enumerate(cells(row)):
            if isinstance(value, int):
                sheet.write_number(number, column, value)
            elif value is not None:
                sheet.write_string(number, column, safe_cell(_printable(str(value)))[:LONGEST_CELL])
    sheet.freeze_panes(1, 1)
    if rows:
        sheet.autofilter(0, 0, len(rows), len(COLUMNS) - 1)
    book.close()
    return out.getvalue()


def _printable(text: str) -> str:
    """XML has no control characters."""
    return "".join(c if c.isprintable() or c == " " else " " for c in text)
