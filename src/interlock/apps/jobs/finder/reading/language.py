"""The language of a text, by the small words that each language needs in every sentence."""

from __future__ import annotations

import re

_WORD = re.compile(r"[a-z\u00e0-\u00ff']+")
_SMALL = {
    "en": "the and of to in for with you we our will are is on your as that",
    "de": "und der die das mit f\u00fcr wir du dein sie ist von zu im den ein eine auf bei",
    "fr": "et le la les des pour vous nous avec une dans est notre votre du au sur",
    "es": "y el la los las de para con una en que nuestro por se tu del es al",
    "pt": "e o os as de para com uma em que nosso por voc\u00ea do da n\u00e3o no na",
    "nl": "en de het een van je met voor wij ons bij op jij is te als dat",
}
_OF: dict[str, list[str]] = {}
for _language, _words in _SMALL.items():
    for _one in _words.split():
        _OF.setdefault(_one, []).append(_language)
_COUNTED = {word: tuple((language, 1 / len(some)) for language in some) for word, some in _OF.items()}
"""What a word says for each of its languages."""
MOST = 1500


def language_of(low: str) -> str:
    """ISO 639-1 of a text in lower case, or "unknown" for a short or foreign one."""
    counts = dict.fromkeys(_SMALL, 0.0)
    words = _WORD.findall(low, 0, MOST)
    for word in words:
        for language, share in _COUNTED.get(word, ()):
            counts[language] += share
    best = max(counts, key=lambda language: counts[language])
    if len(words) < 8 or counts[best] < 0.08 * len(words):
        return "unknown"
    return best
