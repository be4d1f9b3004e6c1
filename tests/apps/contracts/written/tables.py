"""Makes the shipped calibrations: `python -m tests.apps.contracts.written.tables FOLDER…` with folders of CUAD's PDFs.

The commercial one from the labelled contracts of the folders, the energy one from contracts that were written for it.
Each says what was measured with it, each document judged by a calibration that has not seen it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from interlock.apps.contracts import fields
from interlock.apps.contracts.fields.calibration import Table
from interlock.apps.contracts.fields.evaluate import (
    Read,
    by_name,
    name_letters,
    priors_of,
    read_labels,
    read_one,
    states,
)
from interlock.apps.contracts.fields.fitting import fit
from interlock.apps.contracts.fields.measures import Report, summed
from interlock.apps.contracts.fields.vertical import shipped
from tests.apps.contracts.written.commercial import commercial
from tests.apps.contracts.written.energy import energy
from tests.apps.contracts.written.energy_letters import letters
from tests.apps.contracts.written.measuring import apart, judged, read_written

DATA = Path(fields.__file__).parent / "calibration_data"
ENERGY, LETTERS = 300, 160
WRITTEN = 200
FOLDS = 10


def summary_of(report: Report, how: str) -> dict[str, Any]:
    kept = ("known", "answered", "right", "withheld", "coverage", "accuracy", "stated", "ece", "chance", "brier")
    return {
        "how": how,
        "documents": len(report.documents),
        "grounded": round(report.grounded, 4),
        "fields": {row["field"]: {name: row[name] for name in kept} for row in report.rows()},
        "together": report.together,
        "thresholds": report.json()["thresholds"],
    }


def _read(folders: list[Path]) -> list[Read]:
    import hashlib

    from interlock.apps.contracts.reading import read

    vertical = shipped()["commercial"]
    found = []
    for folder in folders:
        paths = by_name(folder)
        for row in read_labels(folder / "labels.csv", vertical):
            path = paths[name_letters(row["Filename"])]
            data = path.read_bytes()
            digest = hashlib.sha256(data).hexdigest()[:16]
            found.append(read_one(vertical, read(data, path.name), row, path.name, digest))
    return found


def of_commercial(folders: list[Path]) -> Table:
    vertical, empty = shipped()["commercial"], Table(vertical="commercial", version="none", documents=0)
    read = _read(folders)
    across = summed(vertical, "", states(vertical, read, empty, folds=FOLDS))
    made = fit(vertical, [one.judged for one in read], priors_of("commercial"), version="commercial-4")
    note = "Contracts of CUAD v1 (The Atticus Project, CC BY 4.0): counts of signals, no texts."
    measured = {
        "labelled": summary_of(
            across, f"contracts of CUAD; each judged by a calibration of the other {FOLDS - 1} tenths"
        ),
        "apart": summary_of(summed(vertical, "", judged(vertical, apart(), made)), "written apart from the rules"),
        "written": summary_of(
            summed(vertical, "", judged(vertical, commercial(WRITTEN), made)), "put together from many wordings"
        ),
    }
    return made.model_copy(update={"measured": measured, "note": note})


def of_energy() -> Table:
    vertical, empty = shipped()["energy"], Table(vertical="energy", version="none", documents=0)
    read = read_written(vertical, [*energy(ENERGY), *letters(LETTERS)])
    across = summed(vertical, "", states(vertical, read, empty, folds=FOLDS, written=True))
    made = fit(vertical, [one.judged for one in read], priors_of("energy"), version="energy-3", written=True)
    how = "written for measuring; each judged by a calibration without its form"
    return made.model_copy(update={"measured": {"written": summary_of(across, how)}})


def _text(table: Table) -> str:
    """JSON with one row of counts a line, so that two versions can be compared."""
    dumped = table.model_dump(mode="json", exclude={"rows", "weights"})
    rows = ",\n".join(
        f"  {json.dumps(row.model_dump(mode='json', exclude_none=True, exclude_defaults=True))}" for row in table.rows
    )
    weights = ",\n".join(f"  {json.dumps(name)}: {one.model_dump_json()}" for name, one in table.weights.items())
    head = json.dumps(dumped, separators=(",", ":"))[:-1]
    return f'{head},\n "weights": {{\n{weights}\n }},\n "rows": [\n{rows}\n ]\n}}\n'


if __name__ == "__main__":
    for table in (of_commercial([Path(one) for one in sys.argv[1:]]), of_energy()):
        (DATA / f"{table.vertical}.json").write_text(_text(table), "utf-8")
