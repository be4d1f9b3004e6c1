"""Tables of commands: as wide as they need, or as the terminal."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from interlock.console.printing import fitted, records, wrapped
from interlock.machine.drawing import columns

HEADER = ("id", "machine", "question")


def widest(rows: list[tuple[str, ...]]) -> int:
    return widest_of(HEADER, rows)


def widest_of(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> int:
    return max(map(len, columns(header, rows).splitlines()))


def test_what_fits_is_left_as_it_is() -> None:
    rows = [(str(uuid4()), "contract", "Is it right?")]
    assert fitted(HEADER, rows, 100) == (HEADER, rows)
    assert fitted(HEADER, [], 10) == (HEADER, [])


def test_ids_keep_the_end_that_commands_accept() -> None:
    id = UUID("0198b5d2-7c1e-7a3b-9f3e-0c5d2a6b1e4f")
    _, rows = fitted(HEADER, [(str(id), "contract", "Is it right?")], 50)
    assert rows == [("2a6b1e4f", "contract", "Is it right?")]


def test_empty_columns_go_and_times_become_short() -> None:
    row = ("abc", "", "2026-11-19 02:33:41", "what is asked of a person, in a sentence")
    header, rows = fitted(("id", "claimed by", "due", "question"), [row], 60)
    assert header == ("id", "due", "question")
    assert rows == [("abc", "11-19 02:33", row[3])]


@pytest.mark.parametrize("width", [40, 60, 80])
def test_the_widest_cells_are_cut_until_the_table_fits(width: int) -> None:
    rows = [(str(uuid4()), "contract", "word " * 50), (str(uuid4()), "parcel", "short")]
    _, cut = fitted(HEADER, rows, width)
    assert widest(cut) <= width
    assert cut[0][2].endswith("…")
    assert cut[1][2] == "short"
    assert [row[1] for row in cut] == ["contract", "parcel"]


def test_a_cell_is_not_cut_below_its_columns_name() -> None:
    names = ("id", "last heartbeat (UTC)", "queues")
    _, [row] = fitted(names, [("abc", "2026-11-19 02:33:41", "word " * 50)], 36)
    assert row[:2] == ("abc", "11-19 02:33")
    assert row[2].endswith("…")


def test_times_ids_and_numbers_are_never_cut_and_names_stand_on_lines() -> None:
    names = ("id", "open since (UTC)", "failed attempts", "question")
    row = (str(UUID("0198b5d2-7c1e-7a3b-9f3e-0c5d2a6b1e4f")), "2026-11-19 02:33:41", "1,204", "word " * 20)
    header, [cut] = fitted(names, [row], 46)
    assert cut[:3] == ("2a6b1e4f", "11-19 02:33", "1,204")
    assert header[1:3] == ("open since\n(UTC)", "failed\nattempts")
    shown = columns(header, [cut]).splitlines()
    assert max(map(len, shown)) <= 46
    assert [line.split() for line in shown[:2]] == [
        ["open", "since", "failed"],
        ["id", "(UTC)", "attempts", "question"],
    ]


def test_rows_stand_below_each_other_where_a_table_cannot_fit() -> None:
    names = ("id", "open since (UTC)", "due", "claimed by", "question")
    row = (str(uuid4()), "2026-11-19 02:33:41", "2026-11-20 02:33:41", "", "word " * 20)
    assert widest_of(*fitted(names, [row], 40)) > 40
    shown = records(names, [row], 40).splitlines()
    assert max(map(len, shown)) <= 40
    assert [line.split("  ")[0].strip() for line in shown] == ["id", "open since (UTC)", "due", "question"]


def test_a_last_column_of_sentences_goes_on_in_further_lines() -> None:
    rows = wrapped(("", "check", "result"), [("ok", "disk", "word " * 20)], 60)
    assert widest_of(("", "check", "result"), rows) <= 60
    assert " ".join(row[2] for row in rows).split() == ["word"] * 20
    assert rows[1][:2] == ("", "")
