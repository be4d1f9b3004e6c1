"""A packet has one hash of what is sent, and is reused until the profile or the posting changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from interlock.apps.jobs.autoapply.documents.packet import Packet, file_hashes, is_current, packet_of

PACKET = Packet("p1", "profile", "content", "resume", "letter", file_hashes({"a.pdf": b"1"}), {"b": 2, "a": "ä"})


@pytest.mark.parametrize(
    "change",
    [
        {"posting": "p2"},
        {"resume_text": "other"},
        {"letter_text": "letter "},
        {"files": file_hashes({"a.pdf": b"2"})},
        {"answers": {"a": "ä"}},
        {"answers": {"a": "ä", "b": "2"}},
    ],
)
def test_every_change_of_what_is_sent_changes_the_hash(change: dict[str, object]) -> None:
    assert replace(PACKET, **change).packet_hash != PACKET.packet_hash  # type: ignore[arg-type]


def test_the_order_of_answers_does_not_change_the_hash() -> None:
    assert replace(PACKET, answers={"a": "ä", "b": 2}).packet_hash == PACKET.packet_hash
    assert len(PACKET.packet_hash) == 64


def test_a_packet_is_current_until_profile_or_posting_changes() -> None:
    assert is_current(PACKET, "profile", "content")
    assert not is_current(PACKET, "profile", "other")
    assert not is_current(PACKET, "other", "content")


def test_a_changed_stored_packet_is_refused() -> None:
    stored = PACKET.json()
    assert packet_of(stored) == PACKET
    with pytest.raises(ValueError, match="does not have its hash"):
        packet_of({**stored, "letter_text": "I lied"})


def test_a_lone_surrogate_has_a_hash() -> None:
    assert replace(PACKET, letter_text="\ud800").packet_hash != replace(PACKET, letter_text="?").packet_hash
