"""The sentences of an amendment that change something: which section, how, and the new words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from interlock.apps.contracts.comparison.clauses import Clause, is_heading
from interlock.apps.contracts.comparison.labels import parts_of

Action = Literal["replaced", "deleted", "added", "extended", "amended"]

_ONE = r"\d{1,3}(?:\.\d{1,3})*(?:\([a-zA-Z0-9]{1,4}\))*"
_KIND = r"(?:sub)?(?:sections?|articles?|paragraphs?|clauses?|ziffern?|ziff\.)|§{1,2}"
_REFERENCE = re.compile(
    rf"(?:\b(?:{_KIND})|§{{1,2}}) ?(?P<list>{_ONE}(?:(?: ?\([A-Z][^()]{{2,40}}\))?(?:, and|,| and| &| und| through)"
    rf"(?: an?)?(?: new)? (?:(?:{_KIND}) )?{_ONE})*)",
    re.IGNORECASE,
)
_PART = re.compile(r"\b(?:subsections?|subparagraphs?|subclauses?) (?P<part>(?:\([a-z0-9]{1,4}\))+)", re.IGNORECASE)
_VERB = re.compile(
    r"\b(?:(?<!as )amended|modified|deleted|replaced|restated|supplemented|removed|stricken|struck|superseded|added"
    r"|inserted|by (?:adding|deleting|replacing|inserting|changing|amending|substituting)"
    r"|ersetzt|gestrichen|geändert|ergänzt)\b",
    re.IGNORECASE,
)
_REPLACED = re.compile(
    r"read[s]?(?: in (?:its|their) entirety)?(?: as follows|:)|\brestated\b|\breplac|\bsubstitut|as follows:?\Z"
    r"|\bersetzt\b|neu gefasst",
    re.IGNORECASE,
)
_DELETED = re.compile(r"\bdelet|\bremoved\b|\bstricken\b|\bstruck\b|\bgestrichen\b", re.IGNORECASE)
_ADDED = re.compile(r"\badd(?:s|ed|ing)?\b|\binsert|\bsupplemented\b|\bergänzt\b", re.IGNORECASE)
_NEW = re.compile(r"\b(?:a )?new (?:sub)?(?:section|article|paragraph|clause)s?\b", re.IGNORECASE)
_FOLLOWS = re.compile(r"(?:follow(?:s|ing)|below|lautet)\b[^.]{0,80}:?\Z|:\Z", re.IGNORECASE)
_OF = re.compile(r" of the (?P<name>(?:[A-Z][\w-]*(?: |\b)){1,5})")
_CLOSING = re.compile(
    r"(?:\W*(?:\d{1,2}|[A-Z])\. +)?(?:except as|other than as|all other|notwithstanding the foregoing, all|in witness"
    r"|the terms and conditions of this amendment|this amendment (?:shall|may|will)|nothing in th(?:is|ese) amendment"
    r"|im übrigen|counterparts|miscellaneous)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(
    r"(?<=[.:;]) (?=[A-Z\"(])|,? and (?=by (?:adding|deleting|replacing|inserting|changing|amending)\b)"
)
_SECTION_LABEL = re.compile(r"(?:section|article|clause|§)", re.IGNORECASE)
MOST = 2000
"""Instructions that are read from one amendment; no real one has a tenth of it."""
NEW_TEXT = 20_000
"""Characters of new text that are kept; longer ones are cut."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One change to one section."""

    action: Action
    section: str
    agreement: str
    """The name of the agreement that the section belongs to, as far as the sentence says it."""
    sentence: str
    clause: Clause
    new_text: str


def instructions_in(clauses: Sequence[Clause]) -> list[Instruction]:
    """Return the changes that the clauses of one amendment make, in order."""
    found: list[Instruction] = []
    open_at: list[int] = []
    """The instructions whose new text the next clauses are."""
    current: list[int] = []
    own = 0
    for clause in clauses:
        if len(found) >= MOST:
            break
        closing = bool(_CLOSING.match(clause.text)) or _own_heading(clause)
        starts = _starts_instruction(clause, own, bool(open_at))
        if closing:
            open_at = []
            continue
        if open_at and not starts:
            # "Sections 3.1 and 3.2 read as follows": each gets the text that carries its number.
            of_one = [index for index in open_at if clause.path and clause.path == parts_of(found[index].section)]
            current = of_one or current
            for index in current:
                found[index] = _longer(found[index], clause.text)
            continue
        if _own_number(clause):
            own = int(clause.path[-1])
        open_at = []
        for at, (sentence, rest) in enumerate(_sentences(clause)):
            fresh = _read(sentence, rest, clause)
            if not fresh and at and found and open_at:
                continue
            found += fresh[: MOST - len(found)]
            if len(found) >= MOST:
                break
            if fresh and (_FOLLOWS.search(sentence) or not rest):
                open_at = [*open_at, *range(len(found) - len(fresh), len(found))]
                if _FOLLOWS.search(sentence):
                    break
        current = open_at
    return found


def _own_heading(clause: Clause) -> bool:
    """Whether a clause without a number is a heading of the amendment itself, which ends the new text before it."""
    if clause.label or not is_heading(clause.text):
        return False
    return clause.text.isupper() or clause.text.lower().startswith("amendment")


def _starts_instruction(clause: Clause, own: int, inside: bool) -> bool:
    """Whether a clause is one of the amendment's own and not part of the new text of a section."""
    if not inside:
        return True
    if _own_number(clause):
        return int(clause.path[-1]) == own + 1
    if clause.text.startswith('"') or _SECTION_LABEL.match(clause.label) or "." in clause.label.rstrip("."):
        return False
    first = next(iter(_sentences(clause)), ("", ""))[0]
    return bool(_REFERENCE.search(first) and _VERB.search(first))


def _own_number(clause: Clause) -> bool:
    return bool(re.fullmatch(r"\d{1,2}\.", clause.label)) and len(clause.path) == 1


def _sentences(clause: Clause) -> list[tuple[str, str]]:
    """Return each sentence and what follows it in the clause."""
    body = clause.body
    cuts = list(_SENTENCE.finditer(body))
    starts = [0, *(match.end() for match in cuts)]
    ends = [*(match.start() for match in cuts), len(body)]
    return [(body[start:end], body[end : end + NEW_TEXT].strip()) for start, end in zip(starts, ends, strict=True)]


def _read(sentence: str, rest: str, clause: Clause) -> list[Instruction]:
    verb, reference = _VERB.search(sentence), _REFERENCE.search(sentence)
    if not verb or not reference:
        return []
    action = _action(sentence)
    part = _PART.search(sentence)
    sections = re.findall(_ONE, reference["list"])
    if part and len(sections) == 1:
        sections = [sections[0] + part["part"]]
    named = _OF.search(sentence, reference.end())
    text = rest if _FOLLOWS.search(sentence) else ""
    return [
        Instruction(action, section, named["name"].strip() if named else "", sentence, clause, text[:NEW_TEXT])
        for section in dict.fromkeys(sections)
    ]


def _action(sentence: str) -> Action:
    if _NEW.search(sentence) and _ADDED.search(sentence):
        return "added"
    if _REPLACED.search(sentence) and not _ADDED.search(sentence):
        return "replaced"
    if _DELETED.search(sentence):
        return "deleted"
    return "extended" if _ADDED.search(sentence) else "amended"


def _longer(instruction: Instruction, text: str) -> Instruction:
    together = f"{instruction.new_text} {text}".strip()[:NEW_TEXT]
    return Instruction(
        instruction.action,
        instruction.section,
        instruction.agreement,
        instruction.sentence,
        instruction.clause,
        together,
    )
