"""File tools stay in the working tree, whatever path, link or kind of file they are given."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.apps.sessions.sandbox.files import ToolRefused, TreeFiles

from .conftest import SECRET, Place

PATHS = [
    "../secret.txt",
    "a/../../secret.txt",
    "/etc/passwd",
    "/workspace/../secret.txt",
    "/workspace/../../../../etc/passwd",
    "..",
    "/",
    "/proc/self/environ",
    "/proc/self/root/etc/passwd",
    "/dev/stdin",
    ".git",
    ".git/config",
    ".GIT/config",
    "src/.git/hooks/post-commit",
    "a\0b",
    "x/" * 500 + "y",
    "",
    "/workspace",
]
CALLS: list[Callable[[Place, str], Any]] = [
    lambda place, path: place.tools.read_file(path),
    lambda place, path: place.tools.write_file(path, "x"),
    lambda place, path: place.tools.edit_file(path, "a", "b"),
    lambda place, path: place.tools.delete_file(path),
]


@pytest.mark.parametrize("call", CALLS, ids=["read", "write", "edit", "delete"])
def test_a_path_that_leads_out_is_refused(place: Place, call: Callable[[Place, str], Any]) -> None:
    before = sorted(place.folder.rglob("*"))
    for path in PATHS:
        with pytest.raises(ToolRefused):
            call(place, path)
    assert sorted(place.folder.rglob("*")) == before
    assert place.secret.read_text() == SECRET


@pytest.mark.parametrize("path", [path for path in PATHS if path not in {"", "/workspace"}])
def test_what_is_outside_is_neither_listed_nor_searched(place: Place, path: str) -> None:
    for call in (place.tools.list_files, lambda one: place.tools.search_files("root", one)):
        with pytest.raises(ToolRefused):
            call(path)


@pytest.mark.parametrize("call", CALLS[:3], ids=["read", "write", "edit"])
def test_links_are_not_followed(place: Place, call: Callable[[Place, str], Any]) -> None:
    tree = place.mine.tree
    (tree / "file").symlink_to(place.secret)
    (tree / "folder").symlink_to(place.folder)
    (tree / "others").symlink_to(place.other.tree)
    (tree / "inside").symlink_to("README.md")
    (tree / "deep").mkdir()
    (tree / "deep" / "up").symlink_to("../../..")
    for path in ("file", "folder/secret.txt", "folder/new.txt", "others/theirs.txt", "inside", "deep/up/secret.txt"):
        with pytest.raises(ToolRefused, match="link"):
            call(place, path)
    assert place.secret.read_text() == SECRET
    assert not (place.folder / "new.txt").exists()


def test_a_link_is_deleted_and_not_what_it_points_to(place: Place) -> None:
    (place.mine.tree / "file").symlink_to(place.secret)
    place.tools.delete_file("file")
    assert place.secret.exists()


def test_links_are_listed_and_their_targets_are_not(place: Place) -> None:
    (place.mine.tree / "others").symlink_to(place.other.tree)
    (place.mine.tree / "file").symlink_to(place.secret)
    listed = place.tools.list_files().splitlines()
    assert "others" in listed
    assert not [one for one in listed if "theirs" in one]
    assert SECRET not in place.tools.search_files("only")


@pytest.mark.parametrize("call", CALLS[:3], ids=["read", "write", "edit"])
def test_a_file_with_other_names_is_refused(place: Place, call: Callable[[Place, str], Any]) -> None:
    """A hard link to a file outside looks like a file of the tree."""
    os.link(place.secret, place.mine.tree / "same")
    with pytest.raises(ToolRefused, match="hard links"):
        call(place, "same")
    assert place.secret.read_text() == SECRET


def test_what_is_no_file_does_not_block(place: Place) -> None:
    tree = place.mine.tree
    os.mkfifo(tree / "pipe")
    with socket.socket(socket.AF_UNIX) as one:
        with contextlib.chdir(tree):  # the name of a socket has at most 107 bytes
            one.bind("socket")
        for name in ("pipe", "socket", "src"):
            for call in CALLS[:3]:
                with pytest.raises(ToolRefused):
                    call(place, name)


def test_a_folder_that_is_swapped_for_a_link_meanwhile_leads_nowhere(place: Place) -> None:
    tree, over = place.mine.tree, threading.Event()
    (tree / "real").mkdir()
    (tree / "real" / "secret.txt").write_text("mine")
    (tree / "link").symlink_to(place.folder)

    def swap() -> None:
        while not over.is_set():
            for source, target in (("real", "place"), ("place", "real"), ("link", "place"), ("place", "link")):
                try:
                    os.rename(tree / source, tree / target)
                except OSError:
                    continue

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(300):
            try:
                assert SECRET not in place.tools.read_file("place/secret.txt")
                place.tools.write_file("place/secret.txt", "mine")
            except ToolRefused:
                continue
    finally:
        over.set()
        thread.join()
    assert place.secret.read_text() == SECRET


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet="./\\~ab\0é*", max_size=30))
def test_no_path_has_a_way_up(path: str) -> None:
    try:
        names = TreeFiles(Path("nowhere")).parts(path)
    except ToolRefused:
        return
    assert ".." not in names
    assert not any("/" in one or not one for one in names)


def test_large_files_and_answers_are_bounded(place: Place) -> None:
    (place.mine.tree / "large").write_bytes(b"x" * (11 * 1024**2))
    (place.mine.tree / "lines").write_text("line\n" * 100_000)
    with pytest.raises(ToolRefused, match="larger"):
        place.tools.read_file("large")
    assert place.tools.read_file("lines").endswith("[98000 more lines: read on with first_line=2001]")
    assert len(place.tools.search_files("line").splitlines()) == 201
    for n in range(2100):
        (place.mine.tree / f"many-{n}").touch()
    assert len(place.tools.list_files().splitlines()) == 2001


def test_no_answer_is_longer_than_an_agent_takes(place: Place) -> None:
    """Trap A18: Claude Code refuses an answer above 25,000 tokens, and the agent then has nothing of it."""
    (place.mine.tree / "wide").write_text("".join(f"{n} {'é' * 700}\n" for n in range(200)))
    (place.mine.tree / "long").write_text("x" * 3000 + "\nend\n")
    for n in range(400):
        (place.mine.tree / f"{n}-{'n' * 200}").touch()
    most = 48 * 1024 + 100
    first = place.tools.read_file("wide")
    (number,) = re.findall(r"\[\d+ more lines: read on with first_line=(\d+)\]$", first)
    assert place.tools.read_file("wide", int(number)).splitlines()[0].startswith(f"{number}\t{int(number) - 1} é")
    for answer in (first, place.tools.search_files("é"), place.tools.list_files()):
        assert 40_000 < len(answer.encode()) < most
        assert "more" in answer.splitlines()[-1]
    assert place.tools.read_file("long") == f"1\t{'x' * 2000} [1000 more characters]\n2\tend"


def test_an_edit_changes_the_one_place_that_was_meant(place: Place) -> None:
    place.tools.write_file("a/b.txt", "one two one")
    with pytest.raises(ToolRefused, match="2 times"):
        place.tools.edit_file("a/b.txt", "one", "1")
    assert place.tools.edit_file("/workspace/a/b.txt", "two", "2") == "changed /workspace/a/b.txt (1 times)"
    assert (place.mine.tree / "a" / "b.txt").read_text() == "one 2 one"
