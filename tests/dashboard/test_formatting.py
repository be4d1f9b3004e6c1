"""How pages write things: names of browsers, titles of form fields."""

from __future__ import annotations

from enum import StrEnum

import pytest
from pydantic import BaseModel, Field

from interlock.dashboard import formatting, schema

WINDOWS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
)
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0"


class Stage(StrEnum):
    FIRST = "first"


class Made(BaseModel):
    company_url: str
    source_id: str | None = None
    stage: Stage = Stage.FIRST
    note: str = Field("", title="Note for the clerk")


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (WINDOWS, "Chrome 141 on Windows"),
        (f"{WINDOWS} Edg/141.0.0.0", "Edge 141 on Windows"),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox 140 on Linux"),
        (f"{IPHONE} Mobile/15E148 Safari/604.1", "Safari 18 on iOS"),
        ("curl/8.5.0", "curl/8.5.0"),
        ("", ""),
    ],
)
def test_a_browser_is_named_by_its_product_and_system(agent: str, name: str) -> None:
    assert formatting.browser(agent) == name


def test_a_field_has_the_title_of_its_name_unless_its_model_gives_one() -> None:
    titles = [one.title for one in schema.fields(Made.model_json_schema(), {})]
    assert titles == ["Company URL", "Source ID", "Stage", "Note for the clerk"]
