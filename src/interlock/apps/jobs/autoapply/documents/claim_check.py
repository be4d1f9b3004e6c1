"""The claim check: what a text says without the profile saying it, and what else keeps it from being sent.

It is strict: a true sentence in other words may be marked, and a person then decides. The rules' own texts pass,
because they are copied. No list of findings means that the text passes.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Literal

from interlock.apps.jobs.autoapply.documents import claim_patterns as p
from interlock.apps.jobs.autoapply.documents.amounts import Amount, When, amounts_in, dates_in
from interlock.apps.jobs.autoapply.documents.claim_credentials import certificates, degrees
from interlock.apps.jobs.autoapply.documents.claim_finding import ClaimFinding, finding
from interlock.apps.jobs.autoapply.documents.held_titles import held_titles
from interlock.apps.jobs.autoapply.documents.known_facts import KnownFacts
from interlock.apps.jobs.autoapply.documents.letter import company_of, role_of
from interlock.apps.jobs.autoapply.documents.text_view import TextView, Token, phrase, seen_phrase
from interlock.apps.jobs.autoapply.documents.values import language_for
from interlock.apps.jobs.finder.identity.keys import company_key
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.seeker import Seeker
from interlock.apps.jobs.finder.reading.language import language_of
from interlock.apps.jobs.finder.reading.vocabulary import Spotted, spot

DocumentKind = Literal["resume", "letter", "answer"]
LONGEST = {"resume": 12_000, "letter": 3_000, "answer": 5_000}
"""Characters."""

_DIGIT = re.compile(r"\d")
_YEARS = re.compile(r"\+?\s?(?:years?|yrs?|jahren?)\b")
_NEAR = 4
"""Words before a name in which it is said to be applied for."""


def check_claims(text: str, seeker: Seeker, posting: ReadPosting, kind: DocumentKind = "letter") -> list[ClaimFinding]:
    """The findings in a text, by their place; none if it passes."""
    return ClaimCheck(seeker, posting).check(text, kind)


class ClaimCheck:
    """Checks texts for one profile and one posting."""

    def __init__(self, seeker: Seeker, posting: ReadPosting) -> None:
        self.known = KnownFacts(seeker, posting)
        self.seeker, self.posting = seeker, posting
        self.company, self.role = seen_phrase(company_of(posting)), seen_phrase(role_of(posting))
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
        runs = self._quoted(view)
        quoted = {place for run in runs for place in _covered(run)}
        asked = {place for run in runs if self._is_asked_for(view, run) for place in _covered(run)}
        dates = [one for one in dates_in(view) if one.start not in quoted]
        terms = [one for one in spot(view.text, view.low)[0] if one.term and one.start not in asked]
        dated = _places(dates)
        tokens = [one for one in view.tokens if one.start not in quoted and one.start not in dated]
        yield from self._skills(view, terms)
        yield from self._dates(view, dates)
        yield from self._numbers(view, quoted, dates, terms)
        yield from degrees(view, self.known, asked)
        yield from certificates(view, self.known, asked)
        yield from self._names(view, tokens)
        yield from self._employers(view, quoted)
        yield from self._posts(view, dates, quoted)
        yield from self._ranks(view, tokens)
        yield from self._languages(view, tokens)
        yield from self._held(view, quoted)

    def _quoted(self, view: TextView) -> list[Sequence[Token]]:
        """Where the text repeats the posting's company or title."""
        names = {self.company, self.short_company, self.role} - {""}
        return [run for name in names for run in _runs(view.tokens, name)]

    def _is_asked_for(self, view: TextView, run: Sequence[Token]) -> bool:
        """Whether the title or company is that of the posting there, and no claim: "the role of PhD Student at …"."""
        sentence = view.sentence_at(run[0].start)
        before = [one.folded for one in sentence if one.start < run[0].start][-_NEAR:]
        after = next((one.folded for one in sentence if one.start >= run[-1].end), "")
        if after in p.BESIDE_ROLE or not p.BESIDE_ROLE.isdisjoint(before):
            return True
        return before[-1] in p.BEFORE_COMPANY if before else len(run) > 1

    def _skills(self, view: TextView, terms: Sequence[Spotted]) -> Iterator[ClaimFinding]:
        firsts = {one.start for one in view.tokens if one.first}
        for one in terms:
            term = one.term
            if term is None or term.name in self.known.skills:
                continue
            written = view.text[one.start : one.end]
            if (
                one.sure
                or (written == term.name and one.start not in firsts)
                or (p.BEFORE_SKILL.search(view.low[: one.start][-20:]) and p.AFTER_SKILL.match(view.low, one.end))
            ):
                yield finding(view, "skill", one.start, one.end, f"the profile does not name {term.name}")

    def _dates(self, view: TextView, dates: Sequence[When]) -> Iterator[ClaimFinding]:
        numbers = {one.start: one for one in amounts_in(view)}
        for one in dates:
            if (one.year, one.month) in self.known.dates:
                continue
            number = numbers.get(one.start)
            if one.month is None and number is not None and self.known.stated(number):
                continue
            yield finding(view, "date", one.start, one.end, "no date of the profile")

    def _numbers(
        self, view: TextView, quoted: set[int], dates: Sequence[When], terms: Sequence[Spotted]
    ) -> Iterator[ClaimFinding]:
        aside = quoted | _places(dates) | _places(terms) | self._contacts(view)
        for one in amounts_in(view):
            if one.start in aside or self._is_years(view, one) or self.known.stated(one):
                continue
            yield finding(view, "number", one.start, one.end, "the profile does not have this number of this thing")

    def _contacts(self, view: TextView) -> set[int]:
        """The places of the profile's own telephone number, addresses and links."""
        found = set[int]()
        for text in self.known.contacts:
            start = view.text.find(text)
            while start >= 0:
                found |= set(range(start, start + len(text)))
                start = view.text.find(text, start + len(text))
        return found

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

    def _names(self, view: TextView, tokens: Sequence[Token]) -> Iterator[ClaimFinding]:
        german = language_of(view.low) == "de"
        for run in _name_runs(view, tokens):
            words = run
            if words[0].first and (words[0].folded in p.OPENERS or self._common(words[0])):
                words = words[1:]
            if not words or self.known.says(_joined(words)) or self._made_of_names(words):
                continue
            if german and len(words) == 1 and not any(one.isupper() for one in words[0].text[1:]):
                continue  # Every German noun has a capital.
            yield finding(view, "name", words[0].start, words[-1].end, "a name that neither profile nor posting has")

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
        for pattern, other in (
            (p.EMPLOYED, p.NOT_EMPLOYERS),
            (p.WORKED_FOR, p.NOT_EMPLOYERS),
            (p.FORMER, p.NOT_FORMER),
        ):
            for one in pattern.finditer(view.low):
                word = phrase(one[1])
                if one.start(1) in quoted or not word or word.isdigit() or word.split()[0] in other:
                    continue
                if not self.known.says(word):
                    yield finding(view, "employer", *one.span(1), "the profile has no such employer")
        for sentence in view.sentences:
            if not p.EXPERIENCED.search(view.low, sentence[0].start, sentence[-1].end):
                continue
            for name in {self.company, self.short_company} - {"", *self.known.employers}:
                for run in _runs(sentence, name):
                    before = view.low[: run[0].start].rstrip()[-20:].split()
                    if before and before[-1] in ("at", "for", "bei"):
                        yield finding(view, "employer", run[0].start, run[-1].end, "the profile has no post there")

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
                    yield finding(view, "date", when.start, when.end, "the date of another post")
            # Who applies where they already were names the role that they apply for beside that employer.
            aside = set[int]() if p.EXPERIENCED.search(view.low, begin, end) else quoted
            for token in sentence:
                if token.folded in p.LEVELS and token.folded not in words and token.start not in aside:
                    yield finding(view, "title", token.start, token.end, "the profile has no such title there")

    def _ranks(self, view: TextView, tokens: Sequence[Token]) -> Iterator[ClaimFinding]:
        """Ranks, which are often written without a capital."""
        before = ""
        for token in tokens:
            if token.folded in p.RANKS and before != "hiring" and not self.known.says(token.folded):
                yield finding(view, "title", token.start, token.end, "the profile has no such title")
            before = token.folded
        for one in p.SPELLED_RANK.finditer(view.low):
            if not self.known.text_has(one[0]):
                yield finding(view, "title", *one.span(), "the profile has no such title")

    def _languages(self, view: TextView, tokens: Sequence[Token]) -> Iterator[ClaimFinding]:
        """Spoken languages."""
        own = p.OWN_LANGUAGE[language_for(self.seeker.profile)]
        found = [(one.start, one.end, one.folded) for one in tokens if one.folded in p.LANGUAGES - own]
        found += [(*one.span(1), phrase(one[1])) for one in p.SPOKEN.finditer(view.low) if one[1] not in p.OPENERS]
        for start, end, word in found:
            if not self.known.says(word):
                yield finding(view, "skill", start, end, "the profile does not name this language")

    def _held(self, view: TextView, quoted: set[int]) -> Iterator[ClaimFinding]:
        """Titles that somebody says to have, with a word that the profile does not use."""
        for title in held_titles(view.low):
            if not title.past and all(start in quoted for _, start, _ in title.words):
                continue  # the role that is applied for
            known = self.known.held_words if title.past else self.known.words
            for word, start, end in title.words:
                if not known.issuperset(word.split("-")):
                    yield finding(view, "title", start, end, "the profile has no such title")

    def _form(self, view: TextView, kind: DocumentKind) -> Iterator[ClaimFinding]:
        title = [(run[0].start - 2, run[-1].end + 2) for run in _runs(view.tokens, self.role)] if self.role else []
        for one in p.PLACEHOLDER.finditer(view.low):
            if one[0].isalpha() and self.known.text_has(one[0]):
                continue  # a todo app is one; brackets that were left open are not
            if not any(
                start <= one.start() and one.end() <= end and end - start > len(one[0]) + 4 for start, end in title
            ):
                yield finding(view, "placeholder", *one.span(), "a placeholder")
        for start, end in view.hidden:
            if not self.known.writes(view.original[max(0, start - 1) : end + 1]):
                yield ClaimFinding("hidden", repr(view.original[start:end]), start, end, "a character that nobody sees")
        for token in view.tokens:
            if _mixed(token.text):
                yield finding(view, "hidden", token.start, token.end, "letters of several alphabets in one word")
            elif not token.folded.isascii() and not self.known.letters.issuperset(token.folded):
                yield finding(view, "hidden", token.start, token.end, "letters that neither profile nor posting use")
        if self.seeker.never_say is not None:
            folded, at = view.folded
            for one in self.seeker.never_say.finditer(folded):
                yield finding(
                    view, "never_say", at[one.start()], at[one.end() - 1] + 1, "the profile says never to say it"
                )
        yield from self._addresses(view)
        spoken = language_of(view.low)
        if spoken not in {"unknown", language_for(self.seeker.profile), self.posting.reading.language}:
            yield finding(
                view, "language", 0, len(view.text), f"in a language ({spoken}) of neither profile nor posting"
            )
        if kind == "letter":
            yield from self._addressed(view)

    def _addresses(self, view: TextView) -> Iterator[ClaimFinding]:
        """Web and e-mail addresses that are not the profile's."""
        for one in re.finditer(r"\S+", view.low):
            word = one[0].strip(".,;:()<>\"'")
            if ("@" in word[1:] or "://" in word or word.startswith("www.")) and not self.known.text_has(word):
                yield finding(view, "address", *one.span(), "an address that the profile does not have")
        for one in p.HIDDEN_ADDRESS.finditer(view.low):
            yield finding(view, "address", *one.span(), "an address that the profile does not have")

    def _addressed(self, view: TextView) -> Iterator[ClaimFinding]:
        """A letter names this posting's company and role, and asks no other employer for work."""
        said = f" {_joined(view.tokens)} "
        if self.company and f" {self.company} " not in said and f" {self.short_company} " not in said:
            yield finding(view, "company", 0, 0, f"the letter does not name {company_of(self.posting)}")
        if self.role and f" {self.role} " not in said:
            yield finding(view, "role", 0, 0, f"the letter does not name {role_of(self.posting)}")
        for sentence in view.sentences:
            begin, end = sentence[0].start, sentence[-1].end
            if not p.JOINING.search(view.low, begin, end):
                continue
            for name in self.known.employers.keys() - {self.company, self.short_company, ""}:
                for run in _runs(sentence, name):
                    if self.company.startswith(f"{name} "):
                        continue  # the same employer, without its legal form
                    yield finding(view, "company", run[0].start, run[-1].end, "not the company of this posting")


def _covered(run: Sequence[Token]) -> range:
    return range(run[0].start, run[-1].end)


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
