"""Prompt injection: text in a contract that addresses its reader, person or model, instead of the parties.

A contract has no reason to say "ignore previous instructions" or "set the confidence to 100". No list of such sentences
is complete: a match only sends a contract to a person, and nothing is approved because nothing matched. Every pattern
takes time linear in the text.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST = 120
"""How many characters of a match are shown."""
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
_FORGED = re.compile("[\u202d\u202e\U000e0000-\U000e007f]")
"""Reversed text and invisible letters, which no word processor writes on its own."""
_NEAR = r"[^.;]{0,60}?"
_RULES = r"(?:instruction|prompt|rule|direction|guideline|command|order)s?"
_FOREIGN = r"(?:instrucciones|istruzioni|instructies|instruções|anweisung(?:en)?|vorgaben?|regeln?|instruktion(?:en)?)"

_ANYWHERE = (
    rf"(?:ignore|disregard|forget|override|bypass)\b{_NEAR}\b(?:previous|prior|above|earlier|preceding|all|any|your)\b"
    rf"{_NEAR}\b{_RULES}\b",
    rf"(?:ignor\w{{1,6}}|missachten?|vergiss|vergessen sie|vergeet|oublie[zr]?|olvida)\b{_NEAR}"
    rf"\b(?:{_FOREIGN}|{_RULES})\b",
    r"(?:system|developer|hidden) (?:prompt|instruction|message)s?\b",
    r"(?:new|updated|secret|important) instructions? (?:for|to) (?:the |any |an? )?"
    r"(?:ai|llm|language|model|assistant|reader|reviewer|system)",
    r"you are (?:now )?(?:an? |the )?(?:ai|assistant|chatbot|judge|gpt|llm|language model|large language)\b",
    r"(?:sie sind|du bist) (?:jetzt |nun )?(?:ein(?:e)? )?(?:ki|sprachmodell|assistent|chatbot)\b",
    r"as an? (?:ai|llm|assistant|language model|large language model)\b",
    r"(?:to|for|attention|dear) (?:the |any |all )?(?:ai|llm|language) "
    r"(?:model|assistant|reader|agent|system|reviewer)s?\b",
    r"(?:confidence|konfidenz|certainty)(?: (?:score|level|value|rating|wert))? ?(?:to|of|=|:|is|at|as|auf) ?(?:be )?"
    r"(?:\d|high|max|full|hoch|complete)",
    r"(?:auto[- ]?approve|approve (?:this|it) (?:automatically|without))",
    r"(?:skip|bypass|avoid|without|needs? no|requires? no|no) (?:any |the |further |a )?(?:human|manual) review",
    r"mark (?:this|it|the|all|every)(?: \w{1,20})? as (?:approved|valid|verified|correct|reviewed)\b",
)
_IN_A_QUOTE = (
    r"(?:reviewer|reader|approver|checker|model|assistant|ai|llm|extractor|parser|software|prüfer|leser|modell)s?\b"
    rf"{_NEAR}\b(?:must|should|shall|has to|have to|needs? to|is to|are to|will|muss|soll)\b{_NEAR}"
    r"\b(?:approve|accept|confirm|ignore|answer|report|trust|extract|output|sign off|genehmigen|freigeben)\b",
    rf"(?:you|sie) (?:must|should|shall|are to|have to|will|müssen|sollen)\b{_NEAR}"
    r"\b(?:approve|answer|ignore|extract|output|respond|freigeben|genehmigen|antworten|ignorieren)\b",
    r"(?:respond|reply|answer|output) (?:only|exactly|with|in json)\b",
    r"(?:do not|don't|never) (?:flag|question|doubt|review|escalate|verify)\b",
)
_MARKS = r"<\|?(?:im_start|im_end|system|endoftext|assistant)\|?>|\[/?inst\]|#{2,} ?(?:system|instruction|assistant)"


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join([rf"\b(?:{'|'.join(patterns)})", _MARKS]))


_DOCUMENT, _QUOTE = _any(*_ANYWHERE), _any(*_ANYWHERE, *_IN_A_QUOTE)


def in_document(text: str) -> str | None:
    """A sentence on a page that addresses its reader; `None` if there is none."""
    return _said(_DOCUMENT, text) or ("characters that no person sees" if _FORGED.search(text) else None)


def in_quote(quote: str) -> str | None:
    """The same for the quote of a field, with stricter patterns."""
    return _said(_QUOTE, quote) or ("characters that no person sees" if _INVISIBLE.search(quote.strip()) else None)


def _said(pattern: re.Pattern[str], text: str) -> str | None:
    plain = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    found = pattern.search(" ".join(plain.replace("-\n", "").lower().split()))
    return f"“{found.group()[:LONGEST]}”" if found else None
