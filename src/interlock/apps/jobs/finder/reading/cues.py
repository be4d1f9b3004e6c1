"""Cues: phrases that say something about a posting. They are in cues.txt, which says how it is written."""

from __future__ import annotations

from importlib.resources import files


def _load() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    name = ""
    for line in (files(__package__) / "cues.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        if not line.startswith(" "):
            name, _, line = line.partition(":")
        phrases = (phrase.strip().replace("\\n", "\n") for phrase in line.split(" |"))
        found.setdefault(name, []).extend(phrase for phrase in phrases if phrase)
    return {name: tuple(phrases) for name, phrases in found.items()}


CUES = _load()
"""The phrases by the cue's name."""
