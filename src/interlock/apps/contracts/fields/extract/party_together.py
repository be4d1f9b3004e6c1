"""The parties as all readers of the document together have them, and what speaks for and against each.

A name belongs to the parties if two readers of the opening have it, or one reader and a signature. Where the opening
gives fewer than two, the signatures or the labels do.
"""

from __future__ import annotations

from rapidfuzz import fuzz

from interlock.apps.contracts.fields.extract.candidate import Candidate, RuleContext, candidate
from interlock.apps.contracts.fields.extract.opening import opening
from interlock.apps.contracts.fields.extract.parties import (
    Named,
    names_of,
)
from interlock.apps.contracts.fields.extract.party_evidence import FORM, signed
from interlock.apps.contracts.fields.normalise.names import name_key

_OPENING = ("party_alias", "party_list", "party_forms")


def party_together(context: RuleContext) -> list[Candidate]:
    """The names that the readers agree on, with how far they do and whether the signatures have them."""
    readers = {name: names_of(context, name) for name in (*_OPENING, "party_cover", "party_signature", "party_label")}
    every = _merged(readers)
    active = sum(bool(readers[name]) for name in _OPENING)
    first, second = (_keys(readers[name]) for name in _OPENING[:2])
    if len(first) >= 2 and first == second:
        between = (readers["party_alias"][0][2], readers["party_alias"][-1][1])
        kept = readers["party_alias"] + [
            one
            for key, one in every.items()
            if key not in first and between[0] < one[1] < between[1] and _among(key, readers["party_signature"])
        ]
    else:
        kept = [one for key, one in every.items() if _belongs(context, key, one, readers, active)]
    source = "opening"
    if len(kept) < 2:
        # What only one reader has is better than half an answer.
        alone = (readers[name] for name in _OPENING if len(readers[name]) >= 2)
        kept = next((names for names in alone if all(_among(name_key(one[0]), names) for one in kept)), kept)
    if len(kept) < 2 or not any(len(readers[name]) >= 2 for name in ("party_alias", "party_list")):
        for other in ("party_cover", "party_label", "party_signature"):
            agree = sum(_among(name_key(one[0]), readers[other]) for one in kept)
            lettered = other == "party_label" and len(kept) < 2
            if len(readers[other]) >= 2 and (agree == len(kept) or active < 2 or lettered):
                kept, source = readers[other], other.removeprefix("party_")
                break
    if not kept:
        return []
    kept = sorted(kept, key=lambda one: one[1])
    keys = _keys(kept)
    flat = context.flat
    marks = (
        f"from {source}",
        *_count_marks(kept, every),
        *_reader_marks(kept, readers),
        *_signature_marks(context, kept, readers["party_signature"]),
        "in a sure opening" if (at := opening(context)) is not None and at.sure else "no sure opening",
    )
    made = candidate(
        flat,
        "party_together",
        "; ".join(name for name, _, _ in kept),
        keys,
        (kept[0][1], max(end for _, _, end in kept)),
        strong=source == "opening" and len(kept) >= 2,
        usual=len(kept) == 2 and all(FORM.search(name) for name, _, _ in kept),
        marks=marks,
    )
    return [made] if made else []


def _merged(readers: dict[str, list[Named]]) -> dict[str, Named]:
    """The names of all readers of the opening; of several readings of the same words the one that most have."""
    groups: list[list[Named]] = []
    for reader in _OPENING:
        for one in readers[reader]:
            same = next((group for group in groups if any(_overlap(one, other) for other in group)), None)
            if same is None:
                groups.append([one])
            else:
                same.append(one)
    found: dict[str, Named] = {}
    for group in groups:
        keys = [name_key(name) for name, _, _ in group]
        found.setdefault(best := max(keys, key=keys.count), group[keys.index(best)])
    return found


def _overlap(one: Named, other: Named) -> bool:
    return name_key(one[0]) == name_key(other[0]) or (one[1] < other[2] and other[1] < one[2])


def _keys(names: list[Named]) -> list[str]:
    return sorted({name_key(name) for name, _, _ in names})


def _belongs(context: RuleContext, key: str, one: Named, readers: dict[str, list[Named]], active: int) -> bool:
    votes = sum(any(_overlap(one, other) for other in readers[name]) for name in _OPENING)
    others = sum(_among(key, readers[name]) for name in ("party_cover", "party_signature", "party_label"))
    return votes >= min(2, active) or others > 0 or signed(context, one[0]) is True


def _among(key: str, names: list[Named]) -> bool:
    return any(name_key(name) == key or fuzz.ratio(name_key(name), key) >= 92 for name, _, _ in names)


def _count_marks(kept: list[Named], every: dict[str, Named]) -> list[str]:
    count = "one party" if len(kept) == 1 else ("two parties" if len(kept) == 2 else "several parties")
    formed = all(FORM.search(name) for name, _, _ in kept)
    return [
        count,
        "all with a legal form" if formed else "some without a legal form",
        *(["names left out"] if len(every) > len(kept) else []),
    ]


def _reader_marks(kept: list[Named], readers: dict[str, list[Named]]) -> list[str]:
    """How many readers of the opening have these names; one of them reads only names with a legal form."""
    keys, formed = _keys(kept), _keys([one for one in kept if FORM.search(one[0])])
    same = sum(_keys(readers[reader]) == (formed if reader == "party_forms" else keys) for reader in _OPENING)
    return [f"{same} of {len(_OPENING)} readers of the opening"]


def _signature_marks(context: RuleContext, kept: list[Named], signing: list[Named]) -> list[str]:
    said = [signed(context, name) for name, _, _ in kept]
    if None in said:
        marks = ["no signatures found"]
    else:
        marks = ["all signed" if all(said) else ("some signed" if any(said) else "none signed")]
    more = [one for one in signing if not _among(name_key(one[0]), kept) and len(name_key(one[0])) > 5]
    more = [
        one
        for one in more
        if not any(name_key(k[0]) in name_key(one[0]) or name_key(one[0]) in name_key(k[0]) for k in kept)
    ]
    return [*marks, *(["others signed"] if more else [])]
