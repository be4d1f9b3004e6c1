"""The claim check: what a text says without the profile saying it, and what else keeps it from being sent.

It is strict: a true sentence in other words may be marked, and a person then decides. The rules' own texts pass,
because they are copied. No list of findings means that the text passes.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from interlock.apps.jobs.autoapply.documents.amounts import Amount, When, amounts_in, dates_in, stems
from interlock.apps.jobs.autoapply.documents.held_titles import held_titles
from interlock.apps.jobs.autoapply.documents.known_facts import KnownFacts
from interlock.apps.jobs.autoapply.documents.letter import company_of, role_of
from interlock.apps.jobs.autoapply.documents.text_view import TextView, Token, phrase
from interlock.apps.jobs.autoapply.documents.values import language_for
from interlock.apps.jobs.finder.identity.keys import company_key, word_list
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.seeker import Seeker
from interlock.apps.jobs.finder.reading.language import language_of
from interlock.apps.jobs.finder.reading.vocabulary import Spotted, spot

Kind = Literal[
    "placeholder",
    "never_say",
    "hidden",
    "skill",
    "number",
    "date",
    "degree",
    "certificate",
    "employer",
    "name",
    "title",
    "company",
    "role",
    "address",
    "length",
    "language",
]
DocumentKind = Literal["resume", "letter", "answer"]
LONGEST = {"resume": 12_000, "letter": 3_000, "answer": 5_000}
"""Characters."""

_PLACEHOLDER = re.compile(
    r"\[[^\[\]\n]{0,60}\]|\{\{?[^{}\n]{0,60}\}\}?|<[a-z][^<>\n]{0,60}>|\$\{|%\(?[a-z]*\)?s\b|_{3,}|\bx{3,}\b"
    r"|\b(?:lorem|ipsum|todo|tbd|tbc|fixme|placeholder|undefined|null)\b|\binsert \w+ here\b"
    r"|\byour (?:full )?name\b|\b(?:company|firmen|hiring manager) ?name\b|\bjohn doe\b|\bmax mustermann\b"
)
_DEGREES = {
    "bachelor": re.compile(r"\b(?:b\.? ?sc|b\.? ?a|b\.? ?eng|bachelor\w*)\b(?!\w)"),
    "master": re.compile(r"\b(?:m\.? ?sc|m\.? ?eng|mba|master'?s|master of|masters|magister)\b"),
    "doctor": re.compile(r"\b(?:ph\.? ?d|doctorate|doctoral|doctor|doktor\w*|promoviert|dr\.)"),
    "diploma": re.compile(r"\b(?:diploma|diplom\w*|staatsexamen)\b"),
    "study": re.compile(r"\b(?:graduated|graduate|alumn\w+|studied|studierte|studium|abitur|valedictorian)\b"),
}
_FIELD = re.compile(
    r"\b(?:degree|bachelor(?:'?s)?|master(?:'?s)?|bsc|msc|phd|doctorate|diploma|diplom|studied|studium|abschluss)"
    r" (?:degree )?(?:in|of|der|des) (\w+)"
)
_CERTIFICATE = re.compile(
    r"\b(certif\w*|zertifi\w*|licen[cs]ed|accredited|pmp|cissp|cka|ckad|csm|itil|ccna|oscp|patents?|awards?|awarded)\b"
)
_EMPLOYED = re.compile(r"\b(?:at|joined|employed by|worked for|working for|bei) (\w[\w'-]*)")
_JOINING = re.compile(r"\b(?:join|joining|role at|position at|team at|apply to|applying to|dear|stelle bei|bewerbe)\b")
_EXPERIENCED = re.compile(
    r"\bi (?:have |had |also )?(?:was|been|\w+ed|led|built|ran|wrote|made|grew|held|spent|cut)\b"
    r"|\b(?:worked|employed|arbeitete|gearbeitet|ich war|war ich)\b"
)
"""Words with which somebody speaks of a past post."""
_DIGIT = re.compile(r"\d")
_YEARS = re.compile(r"\+?\s?(?:years?|yrs?|jahren?)\b")
_NOT_EMPLOYERS = word_list("""
    a all an any best every first full high home its large least most my night once one our present scale school
    speed that the their this time times university what which work you your
    dem den der die einem einer ihnen ihrem ihrer meinem meiner uns
""")
_OPENERS = word_list("""
    a about across additionally after all also although an and another any as at based because before being
    besides best beyond both but by dear during each earlier every finally first for from furthermore given good
    hello here hi how however i if in into it its kind last later like many me more moreover most my no not now of
    on one or our over overall please several since sincerely so some such thank thanks that the their then there
    these they this those through throughout to today together under until up use warm we what when where whether
    which while who why with within without would yours you your
    built cut did drew drove gave grew held kept knew led left made met ran read saw set shipped spent taught took
    went won wrote work works write
    als auch auf aus bei da das dabei daher damit danach dank dann darüber dass dazu der die dies diese dort ein
    eine für gerne guten hier ich im in mein meine mit nach seit sie so und unter viele vom von vor während was
    wenn wie wir zu zudem zum zuletzt zur
""")
_SPOKEN = re.compile(r"\b(?:fluent|fluently|speak|spreche|flie\u00dfend)(?: fluent| in| flie\u00dfend)? (\w+)")
_RANKS = word_list("senior junior principal director president chief cto ceo cfo coo vp manager founder cofounder")
_LEVELS = word_list("senior junior lead principal staff head director chief cto ceo vp manager founder architect")


@dataclass(frozen=True, slots=True)
class ClaimFinding:
    """Words of a text that keep it from being sent, and their place in it."""

    kind: Kind
    words: str
    start: int
    end: int
    explanation: str


def check_claims(text: str, seeker: Seeker, posting: ReadPosting, kind: DocumentKind = "letter") -> list[ClaimFinding]:
    """The findings in a text, by their place; none if it passes."""
    return ClaimCheck(seeker, posting).check(text, kind)


class ClaimCheck:
    """Checks texts for one profile and one posting."""

    def __init__(self, seeker: Seeker, posting: ReadPosting) -> None:
        self.known = KnownFacts(seeker, posting)
        self.seeker, self.posting = seeker, posting
        self.company, self.role = phrase(company_of(posting)), phrase(role_of(posting))
        self.short_company = phrase(company_key(company_of(posting)) or "")

    def check(self, text: str, kind: DocumentKind = "letter") -> list[ClaimFinding]:
        """The findings in a text, by their place; none if it passes."""
        most = LONGEST[kind]
        # A text that is far too long is not read to its end: it is marked anyway.
        view = TextView(text[: most + 2000])
        found = [*self._claims(view), *self._form(view, kind)]
        if len(text) > most:
            found.append(
                ClaimFinding("length", text[most : most + 80], most, len(text), f"longer than {most:,} characters")
            )
        unique = {(one.kind, one.start, one.end): one for one in found}
        return sorted(unique.values(), key=lambda one: (one.start, one.end, one.kind))

    def _claims(self, view: TextView) -> Iterator[ClaimFinding]:
        quoted = self._quoted(view)
        dates = [one for one in dates_in(view) if one.start not in quoted]
        terms = [one for one in spot(view.text, view.low)[0] if one.term and one.start not in quoted]
        dated = _places(dates)
        tokens = [one for one in view.tokens if one.start not in quoted and one.start not in dated]
        yield from self._skills(view, terms)
        yield from self._dates(view, dates)
        yield from self._numbers(view, quoted, dates, terms)
        yield from self._degrees(view)
        yield from self._names(view, tokens)
        yield from self._employers(view, quoted)
        yield from self._posts(view, dates, quoted)
        yield from self._ranks(view, tokens)
        yield from self._held(view, quoted)

    def _quoted(self, view: TextView) -> set[int]:
        """The places where the text repeats the posting's company or title."""
        return {
            place
            for name in {self.company, self.short_company, self.role} - {""}
            for run in _runs(view.tokens, name)
            for place in range(run[0].start, run[-1].end)
        }

    def _skills(self, view: TextView, terms: Sequence[Spotted]) -> Iterator[ClaimFinding]:
        firsts = {one.start for one in view.tokens if one.first}
        for one in terms:
            term = one.term
            if term is None or term.name in self.known.skills:
                continue
            written = view.text[one.start : one.end]
            if one.sure or (written == term.name and one.start not in firsts):
                yield _finding(view, "skill", one.start, one.end, f"the profile does not name {term.name}")

    def _dates(self, view: TextView, dates: Sequence[When]) -> Iterator[ClaimFinding]:
        numbers = {one.start: one for one in amounts_in(view)}
        for one in dates:
            if (one.year, one.month) in self.known.dates:
                continue
            number = numbers.get(one.start)
            if one.month is None and number is not None and self.known.stated(number):
                continue
            yield _finding(view, "date", one.start, one.end, "no date of the profile")

    def _numbers(
        self, view: TextView, quoted: set[int], dates: Sequence[When], terms: Sequence[Spotted]
    ) -> Iterator[ClaimFinding]:
        aside = quoted | _places(dates) | _places(terms)
        for one in amounts_in(view):
            if one.start in aside or self._is_years(view, one) or self.known.stated(one):
                continue
            yield _finding(view, "number", one.start, one.end, "the profile does not have this number of this thing")

    def _is_years(self, view: TextView, amount: Amount) -> bool:
        """Years of experience, or with the skill that is named after them."""
        unit = _YEARS.match(view.low, amount.end)
        if unit is None:
            return False
        after = bisect_left(view.breaks, unit.end())
        stop = view.breaks[min(after, len(view.breaks) - 1)]
        other = _DIGIT.search(view.text, unit.end(), stop)
        stop = other.start() if other else stop
        rest = f" {phrase(view.text[unit.end() : stop])} "
        named = {one.name: one.years or 0.0 for one in self.seeker.profile.skills if f" {phrase(one.name)} " in rest}
        for one in spot(view.text[unit.end() : stop], view.low[unit.end() : stop])[0]:
            if one.term is not None and one.sure:
                named.setdefault(one.term.name, self.known.years_of(one.term.name) or 0.0)
        if named:
            return all(years == amount.value for years in named.values())
        return self.seeker.profile.years == amount.value and any(
            word in rest for word in (" experience ", " erfahrung ", " berufserfahrung ")
        )

    def _degrees(self, view: TextView) -> Iterator[ClaimFinding]:
        for family, pattern in _DEGREES.items():
            has = any(pattern.search(one.lower()) for one in self.known.texts)
            if has or (family == "study" and self.known.schooling):
                continue
            for one in pattern.finditer(view.low):
                yield _finding(view, "degree", *one.span(), "the profile has no such degree")
        for one in _FIELD.finditer(view.low):
            if phrase(one[1]) not in self.known.schooling.split():
                yield _finding(view, "degree", *one.span(1), "the profile has no degree in it")
        for one in _CERTIFICATE.finditer(view.low):
            around = stems([token for token in view.sentence_at(one.start()) if token.start != one.start()])
            if not self.known.has_near(phrase(one[1])[:7], around):
                yield _finding(view, "certificate", *one.span(), "the profile has no such certificate or award")

    def _names(self, view: TextView, tokens: Sequence[Token]) -> Iterator[ClaimFinding]:
        german = language_of(view.low) == "de"
        for run in _name_runs(view, tokens):
            words = run
            if words[0].first and (words[0].folded in _OPENERS or self._common(words[0])):
                words = words[1:]
            if not words or self.known.says(_joined(words)) or self._made_of_names(words):
                continue
            if german and len(words) == 1 and not any(one.isupper() for one in words[0].text[1:]):
                continue  # Every German noun has a capital.
            yield _finding(view, "name", words[0].start, words[-1].end, "a name that neither profile nor posting has")

    def _common(self, token: Token) -> bool:
        """A word that begins a sentence and is no name: a verb's form, or a word that the profile uses."""
        return token.folded.endswith(("ed", "ing", "ly")) or self.known.says(token.folded)

    def _made_of_names(self, words: Sequence[Token]) -> bool:
        """Whether the words are whole names one after the other."""
        ends = {0}
        for end in range(1, len(words) + 1):
            if any(
                start in ends and _joined(words[start:end]) in self.known.names for start in range(max(0, end - 8), end)
            ):
                ends.add(end)
        return len(words) in ends

    def _employers(self, view: TextView, quoted: set[int]) -> Iterator[ClaimFinding]:
        for one in _EMPLOYED.finditer(view.low):
            word = phrase(one[1])
            if one.start(1) in quoted or not word or word.isdigit():
                continue
            if word.split()[0] not in _NOT_EMPLOYERS and not self.known.says(word):
                yield _finding(view, "employer", *one.span(1), "the profile has no such employer")
        for sentence in view.sentences:
            if not _EXPERIENCED.search(view.low, sentence[0].start, sentence[-1].end):
                continue
            for name in {self.company, self.short_company} - {"", *self.known.employers}:
                for run in _runs(sentence, name):
                    before = view.low[: run[0].start].rstrip()[-20:].split()
                    if before and before[-1] in ("at", "for", "bei"):
                        yield _finding(view, "employer", run[0].start, run[-1].end, "the profile has no post there")

    def _posts(self, view: TextView, dates: Sequence[When], quoted: set[int]) -> Iterator[ClaimFinding]:
        """In a sentence about one employer of the profile: its dates and its title, and not those of another."""
        for sentence in view.sentences:
            said = f" {_joined(sentence)} "
            named = [name for name in self.known.employers if name and f" {name} " in said]
            ours = [one for one in (self.company, self.short_company) if one and f" {one} " in said]
            if len(named) != 1 or (ours and not set(ours) & self.known.employers.keys()):
                continue
            posts = [self.known.posts[index] for index in self.known.employers[named[0]]]
            known_dates = frozenset[tuple[int, int | None]]().union(*(one.dates for one in posts))
            words = frozenset[str]().union(*(one.words for one in posts))
            begin, end = sentence[0].start, sentence[-1].end
            for when in dates:
                if begin <= when.start < end and (when.year, when.month) not in known_dates:
                    yield _finding(view, "date", when.start, when.end, "the date of another post")
            # Who applies where they already were names the role that they apply for beside that employer.
            aside = set[int]() if _EXPERIENCED.search(view.low, begin, end) else quoted
            for token in sentence:
                if token.folded in _LEVELS and token.folded not in words and token.start not in aside:
                    yield _finding(view, "title", token.start, token.end, "the profile has no such title there")

    def _ranks(self, view: TextView, tokens: Sequence[Token]) -> Iterator[ClaimFinding]:
        """Ranks and spoken languages, which are often written without a capital."""
        before = ""
        for token in tokens:
            if token.folded in _RANKS and before != "hiring" and not self.known.says(token.folded):
                yield _finding(view, "title", token.start, token.end, "the profile has no such title")
            before = token.folded
        for one in _SPOKEN.finditer(view.low):
            if one[1] not in _OPENERS and not self.known.says(phrase(one[1])):
                yield _finding(view, "skill", *one.span(1), "the profile does not name this language")

    def _held(self, view: TextView, quoted: set[int]) -> Iterator[ClaimFinding]:
        """Titles that somebody says to have, with a word that the profile does not use."""
        for title in held_titles(view.low):
            if not title.past and all(start in quoted for _, start, _ in title.words):
                continue  # the role that is applied for
            for word, start, end in title.words:
                if not self.known.words.issuperset(word.split("-")):
                    yield _finding(view, "title", start, end, "the profile has no such title")

    def _form(self, view: TextView, kind: DocumentKind) -> Iterator[ClaimFinding]:
        title = [(run[0].start - 2, run[-1].end + 2) for run in _runs(view.tokens, self.role)] if self.role else []
        for one in _PLACEHOLDER.finditer(view.low):
            if not any(
                start <= one.start() and one.end() <= end and end - start > len(one[0]) + 4 for start, end in title
            ):
                yield _finding(view, "placeholder", *one.span(), "a placeholder")
        for start, end in view.hidden:
            yield ClaimFinding("hidden", repr(view.original[start:end]), start, end, "a character that nobody sees")
        for token in view.tokens:
            if _mixed(token.text):
                yield _finding(view, "hidden", token.start, token.end, "letters of several alphabets in one word")
        if self.seeker.never_say is not None:
            folded, at = view.folded
            for one in self.seeker.never_say.finditer(folded):
                yield _finding(
                    view, "never_say", at[one.start()], at[one.end() - 1] + 1, "the profile says never to say it"
                )
        yield from self._addresses(view)
        spoken = language_of(view.low)
        if spoken not in {"unknown", language_for(self.seeker.profile), self.posting.reading.language}:
            yield _finding(
                view, "language", 0, len(view.text), f"in a language ({spoken}) of neither profile nor posting"
            )
        if kind == "letter":
            yield from self._addressed(view)

    def _addresses(self, view: TextView) -> Iterator[ClaimFinding]:
        """Web and e-mail addresses that are not the profile's."""
        for one in re.finditer(r"\S+", view.low):
            word = one[0].strip(".,;:()<>\"'")
            if ("@" in word[1:] or "://" in word or word.startswith("www.")) and not self.known.text_has(word):
                yield _finding(view, "address", *one.span(), "an address that the profile does not have")

    def _addressed(self, view: TextView) -> Iterator[ClaimFinding]:
        """A letter names this posting's company and role, and asks no other employer for work."""
        said = f" {_joined(view.tokens)} "
        if self.company and f" {self.company} " not in said and f" {self.short_company} " not in said:
            yield _finding(view, "company", 0, 0, f"the letter does not name {company_of(self.posting)}")
        if self.role and f" {self.role} " not in said:
            yield _finding(view, "role", 0, 0, f"the letter does not name {role_of(self.posting)}")
        for sentence in view.sentences:
            begin, end = sentence[0].start, sentence[-1].end
            if not _JOINING.search(view.low, begin, end):
                continue
            for name in self.known.employers.keys() - {self.company, self.short_company, ""}:
                for run in _runs(sentence, name):
                    yield _finding(view, "company", run[0].start, run[-1].end, "not the company of this posting")


def _finding(view: TextView, kind: Any, start: int, end: int, explanation: str) -> ClaimFinding:
    first, last = view.place(start, end)
    return ClaimFinding(kind, view.original[first:last], first, last, explanation)


def _places(found: Sequence[When | Spotted]) -> set[int]:
    return {place for one in found for place in range(one.start, one.end)}


def _joined(tokens: Sequence[Token]) -> str:
    return " ".join(one.folded for one in tokens)


def _runs(tokens: Sequence[Token], name: str) -> Iterator[Sequence[Token]]:
    """Where the words of a name stand one after the other."""
    words = name.split()
    for index in range(len(tokens) - len(words) + 1):
        if all(tokens[index + place].folded == word for place, word in enumerate(words)):
            yield tokens[index : index + len(words)]


def _name_runs(view: TextView, tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Words with capitals that stand together."""
    run: list[Token] = []
    for token in tokens:
        together = run and not token.first and view.text[run[-1].end : token.start] in (" ", "-", " & ", "&", "'", ". ")
        if run and not (together and token.named):
            yield run
            run = []
        if token.named:
            run.append(token)
    if run:
        yield run


def _mixed(word: str) -> bool:
    if word.isascii():
        return False
    return len({unicodedata.name(one, "?").split()[0] for one in word if one.isalpha()} & _ALPHABETS) > 1


_ALPHABETS = {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"}
