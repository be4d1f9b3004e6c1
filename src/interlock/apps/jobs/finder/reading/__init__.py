"""Reading: values out of a posting, by rules, each with the words it was read from.

`read` cleans the text once (`plain.py`), finds terms of the vocabulary and cues in one automaton pass
(`vocabulary.py`, `cues.txt`), divides it into sections (`sections.py`), and asks one module for each subject:
`skills`, `salary`, `experience`, `seniority`, `workplace`, `roles`, `terms`. No rule looks at the clock or at another
posting, so the same posting always reads the same. What the text does not say is None or "unknown"; nothing is
guessed, except with `guess=True`, which `evaluate.py` measures with.
"""

from interlock.machine.extras import require

require("jobs", "ahocorasick")

from interlock.apps.jobs.finder.reading.reader import as_json, read
from interlock.apps.jobs.finder.reading.values import FIELDS, Reading, Salary, Skill, Source, Value

__all__ = ["FIELDS", "Reading", "Salary", "Skill", "Source", "Value", "as_json", "read"]
