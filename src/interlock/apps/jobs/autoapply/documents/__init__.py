"""Documents of an application: a tailored resume and a letter, by rules, from the profile alone.

`tailoring` chooses and orders what the profile says; `letter` writes a short letter with facts of the profile. Every
piece of a line names the part of the profile or the posting that it is copied from, so nothing can be invented.
`rendering` makes PDF and DOCX files, reads them back and checks that the facts survived. `claim_check` marks what a
text, also a model's, says without the profile saying it. `packet` joins everything that is sent, under one hash.
Nothing here needs a database or the network; `model_writer` asks a model only where one is configured.
"""

from interlock.machine.extras import require

require("jobs", "typst", "docx", "pypdfium2", "ahocorasick")

from interlock.apps.jobs.autoapply.documents.letter import write_letter
from interlock.apps.jobs.autoapply.documents.tailoring import tailor
from interlock.apps.jobs.autoapply.documents.values import Difference, Letter, Line, Piece, TailoredResume

__all__ = ["Difference", "Letter", "Line", "Piece", "TailoredResume", "tailor", "write_letter"]
