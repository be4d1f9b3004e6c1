"""What a text for an application may say: the facts of the profile, and the names of the posting."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from interlock.apps.jobs.autoapply.documents.amounts import Amount, amounts_in, dates_in, stems
from interlock.apps.jobs.autoapply.documents.letter import company_of, role_of
from interlock.apps.jobs.autoapply.documents.text_view import TextView, phrase, seen_phrase
from interlock.apps.jobs.autoapply.documents.values import language_for, shown
from interlock.apps.jobs.autoapply.documents.wording import HEADINGS, PHRASES
from interlock.apps.jobs.finder.identity.keys import company_key, fold
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.seeker import Seeker, skill_name
from interlock.apps.jobs.finder.reading.vocabulary import spot

UNSAID = {"salary", "stop_list", "unwanted_skills", "never_say", "filter", "match", "company_size", "answers"}
"""Parts of the profile that are no facts about the person for others to read."""
_MOST_TEXT = 50_000
_ASCII = frozenset(map(chr, range(128)))


class Post(NamedTuple):
    """What the profile says of one post."""

    dates: frozenset[tuple[int, int | None]]
    words: frozenset[str]


class KnownFacts:
    """The facts of a profile and the names of a posting, made ready to look claims up."""

    def __init__(self, seeker: Seeker, posting: ReadPosting) -> None:
        self.seeker, self.posting = seeker, posting
        profile = seeker.profile
        self.texts = tuple(_strings(profile.model_dump(mode="json", exclude=UNSAID, exclude_none=True)))
        self.texts += tuple(one for one in profile.answers.values() if isinstance(one, str))
        self._views = [_view(one) for one in self.texts]
        ours = [text for words in (*PHRASES.values(), *HEADINGS.values()) for text in words.values()]
        said = (*self._views, *map(_view, (*ours, *self.posting_names)))
        self._phrases = " | ".join(f" {phrase(one.text)} " for one in said)
        self.employers: dict[str, set[int]] = {}
        """Name of an employer → the posts there."""
        for index, one in enumerate(profile.employment):
            self.employers.setdefault(seen_phrase(one.company), set()).add(index)
        self.schooling = " ".join(
            phrase(" ".join(filter(None, (each.school, each.degree, each.field)))) for each in profile.education
        )

    @cached_property
    def posting_names(self) -> tuple[str, ...]:
        """Names of this posting: company, title, department, team, places."""
        posting = self.posting.posting
        company = company_of(self.posting)
        given = (company, company_key(company), role_of(self.posting), posting.department, posting.team)
        return tuple(one[:300] for one in (*given, *(place.raw for place in posting.locations)) if one)

    @cached_property
    def names(self) -> frozenset[str]:
        """Whole names of the profile, which may stand beside each other."""
        profile = self.seeker.profile
        found = [*profile.titles, *(one.name for one in profile.skills), *self.seeker.has]
        for post in profile.employment:
            found += [post.company, post.title, post.location or "", *post.skills]
        for school in profile.education:
            found += [school.school, school.degree or "", school.field or ""]
        found += [one.name for one in profile.projects]
        found += [profile.identity.name] if profile.identity else []
        return frozenset(phrase(_view(one).text) for one in (*found, *self.posting_names)) - {""}

    def says(self, words: str) -> bool:
        """Whether a phrase stands in one value of the profile, in a name of the posting, or in our own words."""
        return f" {words} " in self._phrases

    def text_has(self, part: str) -> bool:
        """Whether a value of the profile has these characters, in any case."""
        return any(part in one.low for one in self._views)

    @cached_property
    def skills(self) -> frozenset[str]:
        """Terms of the vocabulary that the profile names, or that follow from those it names."""
        found = set(self.seeker.has)
        for view in self._views:
            found |= {one.term.name for one in spot(view.text, view.low)[0] if one.term is not None}
        return frozenset(found)

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of the profile's texts."""
        return frozenset(word for view in self._views for token in view.tokens for word in token.folded.split("-"))

    @cached_property
    def degrees(self) -> tuple[str, ...]:
        """Where a degree of one's own stands: in the education, or beside the name."""
        profile = self.seeker.profile
        given = [text for one in profile.education for text in (one.degree, one.field, one.school)]
        given += [profile.identity.name] if profile.identity is not None else []
        return tuple(shown(one).lower() for one in given if one)

    @cached_property
    def held_words(self) -> frozenset[str]:
        """Words of posts that were held; a title that is only wanted was not. All words where no post is named."""
        held = frozenset[str]().union(*(one.words for one in self.posts))
        return held or self.words

    @cached_property
    def contacts(self) -> tuple[str, ...]:
        """Telephone number, addresses and links: their digits count nothing."""
        identity = self.seeker.profile.identity
        given = (identity.email, identity.phone, *identity.links) if identity is not None else ()
        return tuple(_view(shown(one)).text for one in given if one)

    @cached_property
    def letters(self) -> frozenset[str]:
        """Letters beyond ASCII, folded, that the profile or the posting's names use; of a foreign posting all."""
        texts = [*self.texts, *self.posting_names]
        if self.posting.reading.language not in ("unknown", language_for(self.seeker.profile)):
            texts.append(self.posting.source.text[:_MOST_TEXT])
        return frozenset(one for text in texts for one in fold(text, _MOST_TEXT) if not one.isascii()) | _ASCII

    def writes(self, part: str) -> bool:
        """Whether the profile or a name of the posting has exactly these characters."""
        return any(part in one for one in (*self.texts, *self.posting_names))

    @cached_property
    def amounts(self) -> dict[tuple[float, str], list[frozenset[str]]]:
        """Numbers in the profile's texts with their units, and the words around each."""
        found: dict[tuple[float, str], list[frozenset[str]]] = {}
        for view in self._views:
            if view.text in self.contacts:
                continue
            dates = {when.start for when in dates_in(view)}
            for one in amounts_in(view):
                if one.start not in dates:
                    found.setdefault((one.value, one.unit), []).append(one.around)
        return found

    @cached_property
    def dates(self) -> frozenset[tuple[int, int | None]]:
        """Months of the profile, and all its years."""
        found = [when for view in self._views for when in dates_in(view)]
        return frozenset([(one.year, one.month) for one in found] + [(one.year, None) for one in found])

    @cached_property
    def posts(self) -> tuple[Post, ...]:
        """The dates and the words of each post."""
        found = []
        for post in self.seeker.profile.employment:
            texts = list(_strings(post.model_dump(mode="json", exclude_none=True)))
            dates = [when for text in texts for when in dates_in(TextView(text))]
            both = frozenset([(one.year, one.month) for one in dates] + [(one.year, None) for one in dates])
            found.append(Post(both, frozenset(word for text in texts for word in phrase(text).split())))
        return tuple(found)

    def stated(self, amount: Amount) -> bool:
        """Whether the profile has the number, of the same thing."""
        return any(
            not around or not amount.around or bool(around & amount.around)
            for around in self.amounts.get((amount.value, amount.unit), ())
        )

    def has_near(self, word: str, around: frozenset[str]) -> bool:
        """Whether the profile has a word that begins so, beside one of the others."""
        for view in self._views:
            for sentence in view.sentences:
                if any(one.folded.startswith(word) for one in sentence):
                    beside = stems([one for one in sentence if not one.folded.startswith(word)])
                    if not around or beside & around:
                        return True
        return False

    def years_of(self, name: str) -> float | None:
        """Years with a skill, by any of its names."""
        return self.seeker.has_years.get(skill_name(name))


@lru_cache(4096)
def _view(text: str) -> TextView:
    """The same texts of a profile are read for every posting."""
    return TextView(text)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield shown(value)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _strings(one)
