"""Made-up contracts as documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from interlock.apps.contracts.fields.extraction import extract
from interlock.apps.contracts.fields.result import Extraction
from interlock.apps.contracts.fields.vertical import Vertical, shipped
from interlock.apps.contracts.reading.document import Document, Page

VERTICALS = shipped()
COMMERCIAL: Vertical = VERTICALS["commercial"]
ENERGY: Vertical = VERTICALS["energy"]
FILLER = "\n" + "The parties have the rights and duties that are set out below, and none of them is named here. " * 30


def document(text: str, **page: Any) -> Document:
    """A document of plain pages; `<page>` on a line of its own begins the next."""
    return Document(
        "application/pdf", tuple(Page(number, part, **page) for number, part in enumerate(text.split("\n<page>\n"), 1))
    )


def read(text: str, vertical: Vertical = COMMERCIAL) -> Extraction:
    return extract(document(text), vertical)


def value(text: str, field: str, vertical: Vertical = COMMERCIAL) -> Any:
    """What is found for a field, in its comparable form; `None` without a value."""
    found = read(text, vertical).fields.get(field)
    return found.normalised if found else None


def examples(name: str) -> list[dict[str, Any]]:
    """The made-up examples of a file beside this one."""
    data: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / name).read_text("utf-8"))
    return data


CONTRACT = """DISTRIBUTION AGREEMENT
THIS DISTRIBUTION AGREEMENT (the "Agreement") is made and entered into as of May 6, 2003 by and between ALDER PUMPS,
INC., a Delaware corporation ("Alder"), and BIRCH MARINE LLC, a Texas limited liability company ("Distributor").
WHEREAS, Alder makes pumps and the parties wish to have them sold;
1. Grant. Alder hereby grants to Distributor an exclusive license to sell the pumps in the Territory.
2. Term. The term of this Agreement shall commence on the date hereof and continue for three (3) years (the "Initial
Term"), and shall automatically renew for successive one (1) year terms unless either party gives notice of non-renewal
at least ninety (90) days prior to the end of the then-current term.
3. Records. Alder may upon notice audit the books and records of Distributor.
4. Liability. In no event shall the aggregate liability of either party exceed $1,000,000.
5. Assignment. Neither party may assign this Agreement without the prior written consent of the other party.
6. Governing Law. This Agreement shall be governed by and construed in accordance with the laws of the State of
New York, without regard to its conflict of laws rules.
IN WITNESS WHEREOF, the parties have executed this Agreement as of May 6, 2003.
ALDER PUMPS, INC.
By: /s/ A. Person
BIRCH MARINE LLC
By: /s/ B. Person
"""
