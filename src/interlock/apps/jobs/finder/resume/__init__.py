"""Resumes: a draft of the profile from a PDF or DOCX file, by rules.

`read_resume` turns the file into lines (`pdf`, `word`), divides them by their headings (`sections`) and asks one module
for each subject: `identity`, `employment`, `education`, `projects`, `skills`. `draft` joins what they found, with the
line that each value was read from and what is missing. Nothing is guessed: a line that no rule understands is left
out, and counted.
"""

from interlock.machine.extras import require

require("jobs", "pypdfium2", "docx", "ahocorasick")

from interlock.apps.jobs.finder.resume.draft import Draft, draft_of, read_resume
from interlock.apps.jobs.finder.resume.lines import ResumeError

__all__ = ["Draft", "ResumeError", "draft_of", "read_resume"]
