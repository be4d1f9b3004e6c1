"""Makes the shipped calibration tables: `python -m tests.apps.contracts.written.tables FOLDER` with CUAD's PDFs in it.

The commercial one from the prior counts and the labelled contracts of the folder, the energy one from contracts that
were written for it. Each says what was measured with it, each document judged by the table without it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from interlock.apps.contracts import fields
from interlock.apps.contracts.fields.calibration import Table
from interlock.apps.contracts.fields.evaluate import Report, evaluate, summed
from interlock.apps.contracts.fields.fitting import Priors, fit
from interlock.apps.contracts.fields.vertical import shipped
from tests.apps.contracts.written.commercial import commercial
from tests.apps.contracts.written.energy import energy
from tests.apps.contracts.written.measuring import apart, judged

DATA = Path(fields.__file__).parent / "calibration_data"
ENERGY = 300
WRITTEN = 200


def summary_of(report: Report, how: str) -> dict[str, Any]:
    kept = ("known", "answered", "right", "coverage", "accuracy", "ece", "chance", "brier")
    return {
        "how": how,
        "documents": len(report.documents),
        "grounded": round(report.grounded, 4),
        "fields": {row["field"]: {name: row[name] for name in kept} for row in report.rows()},
        "together": report.together,
        "thresholds": report.json()["thresholds"],
    }


def _priors(vertical: str) -> Priors:
    return Priors.model_validate_json((DATA / f"{vertical}-priors.json").read_text("utf-8"))


def of_commercial(folder: Path) -> Table:
    vertical, empty = shipped()["commercial"], Table(vertical="commercial", version="none", documents=0)
    first = evaluate(folder, folder / "labels.csv", table=empty)
    made = fit(vertical, first.documents, _priors("commercial"), version="commercial-2")
    again = evaluate(folder, folder / "labels.csv", table=made)
    measured = {
        "labelled": summary_of(again, "contracts of CUAD; each judged by the table without its fifth of them"),
        "apart": summary_of(
            summed(vertical, made.version, judged(vertical, apart(), made)), "written apart from the rules"
        ),
        "written": summary_of(
            summed(vertical, made.version, judged(vertical, commercial(WRITTEN), made)),
            "put together from many wordings",
        ),
    }
    return made.model_copy(update={"measured": measured})


def of_energy() -> Table:
    vertical, empty = shipped()["energy"], Table(vertical="energy", version="none", documents=0)
    contracts = energy(ENERGY)
    made = fit(vertical, judged(vertical, contracts, empty), _priors("energy"), version="energy-1", written=True)
    again = summed(vertical, made.version, judged(vertical, contracts, made))
    return made.model_copy(
        update={
            "measured": {
                "written": summary_of(again, "written for measuring; each judged by the table without its form")
            }
        }
    )


def _text(table: Table) -> str:
    """JSON with one row of counts a line, so that two versions can be compared."""
    dumped = table.model_dump(mode="json", exclude={"rows"})
    rows = ",\n".join(f"  {json.dumps(row.model_dump(mode='json', exclude_none=True))}" for row in table.rows)
    return json.dumps(dumped, indent=1)[:-2] + f',\n "rows": [\n{rows}\n ]\n}}\n'


if __name__ == "__main__":
    for table in (of_commercial(Path(sys.argv[1])), of_energy()):
        (DATA / f"{table.vertical}.json").write_text(_text(table), "utf-8")
