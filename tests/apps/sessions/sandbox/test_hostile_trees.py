"""Trees that an agent leaves behind to make the service run, hold or stumble over something when it looks at them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interlock.apps.sessions.sandbox import git as safe_git
from interlock.apps.sessions.sandbox.config import SandboxConfig
from interlock.apps.sessions.sandbox.files import ToolRefused
from interlock.apps.sessions.sandbox.git import GitFailed
from interlock.apps.sessions.sandbox.local import LocalSandboxes
from interlock.apps.sessions.sandbox.tools import Tools
from tests.support.sessions import git, make_repository

from .conftest import SECRET, Place, needs_confinement

DEEP = 1100
"""Folders in each other: more than Python calls, and less than git refuses."""


def _deep(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir("d", dir_fd=number)
        below = os.open("d", os.O_RDONLY, dir_fd=number)
        os.close(number)
        number = below
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=number))
    os.close(number)


def test_a_deep_tree_is_committed_checked_out_and_removed(place: Place) -> None:
    _deep(place.mine.tree)
    head = place.commit()
    assert "d/d/d/file" in place.repository.line("ls-tree", "-r", "--name-only", head)
    assert "file" not in place.tools.list_files().splitlines()
    onto = {"target": "main", "start_from": "claude/a"}
    assert place.pool.prepare(place.mine, place.repository, session="c", branch="claude/c", **onto)
    place.pool.reset(place.mine)
    assert not place.mine.tree.exists()


def test_a_folder_deeper_than_any_path_is_removed(place: Place) -> None:
    for one in (place.mine.tree, place.mine.home):
        _deep(one)
        (one / "inner").mkdir()
        os.rename(one / "d", one / "inner" / "d")
        _deep(one)
        os.rename(one / "inner", one / "d" / "inner")
        (one / "d").chmod(0)
    place.pool.reset(place.mine)
    assert not place.mine.tree.exists()
    assert not place.mine.home.exists()


def test_links_in_a_tree_that_is_removed_are_not_followed(place: Place) -> None:
    (place.mine.tree / "above").mkdir()
    for folder in (place.mine.tree, place.mine.tree / "above"):
        (folder / "host").symlink_to(place.folder)
        (folder / "file").symlink_to(place.secret)
    place.pool.reset(place.mine)
    assert place.secret.read_text() == SECRET
    assert (place.other.tree / "theirs.txt").exists()


def test_a_submodule_is_not_looked_at_with_its_own_configuration(place: Place) -> None:
    """Git runs `git status` in a submodule that it adds: with the filters that the agent has configured there."""
    part, source = make_repository(place.folder / "part"), Path(place.repository.source)
    commit = git("rev-parse", "HEAD", cwd=part)
    git("update-index", "--add", "--cacheinfo", f"160000,{commit},part", cwd=source)
    git("commit", "--quiet", "-m", "With a part", cwd=source)
    place.pool.prepare(place.mine, place.repository, session="c", branch="claude/c", target="main")
    inside, proof = place.mine.tree / "part", place.folder / "proof"
    git("clone", "--quiet", str(part), str(inside), cwd=place.folder)
    git("--git-dir=.git", "config", "filter.x.clean", f"touch {proof}; cat", cwd=inside)
    (inside / ".gitattributes").write_text("* filter=x\n")
    readme = inside / "README.md"
    readme.write_text(readme.read_text().swapcase())
    (place.mine.tree / "work.txt").write_text("work")
    done = place.pool.commit(place.mine, "work", session="c")
    assert not proof.exists()
    assert place.repository.line("show", f"{done.head}:work.txt") == "work"
    assert commit in place.repository.line("ls-tree", done.head, "part")


@pytest.mark.parametrize("encoding", ["UTF-16", "NO-SUCH-ENCODING"])
def test_an_encoding_that_the_tree_claims_keeps_no_work_from_its_branch(place: Place, encoding: str) -> None:
    (place.mine.tree / ".gitattributes").write_text(f"*.txt working-tree-encoding={encoding}\n")
    (place.mine.tree / "a.txt").write_text("plain")
    head = place.commit()
    assert place.repository.line("show", f"{head}:a.txt") == "plain"
    place.pool.prepare(
        place.mine, place.repository, session="c", branch="claude/c", target="main", start_from="claude/a"
    )
    assert (place.mine.tree / "a.txt").read_text() == "plain"


def test_names_that_no_answer_can_carry_are_spelled_out(place: Place) -> None:
    for name in (b"\xff\xfe", b"two\nlines"):
        Path(os.fsdecode(os.fsencode(place.mine.tree) + b"/" + name)).write_text("needle")
    listed, found = place.tools.list_files(), place.tools.search_files("needle")
    assert {"\\xff\\xfe", "two\\nlines"} <= set(listed.splitlines())
    assert sorted(found.splitlines()) == ["\\xff\\xfe:1:needle", "two\\nlines:1:needle"]
    (listed + found).encode()


def test_no_file_grows_beyond_its_limit_through_the_tools(place: Place) -> None:
    """The tools are outside of the confinement, so its limits do not hold for them."""
    place.tools.write_file("a", "a" * 1_000_000)
    with pytest.raises(ToolRefused, match="4,194,304 can be written"):
        place.tools.edit_file("a", "a", "b" * 50, every=True)
    with pytest.raises(ToolRefused, match="4,194,304 can be written"):
        place.tools.write_file("b", "b" * 5_000_000)
    assert (place.mine.tree / "a").stat().st_size == 1_000_000
    assert not (place.mine.tree / "b").exists()


def test_a_huge_difference_is_read_only_as_far_as_it_is_shown(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(40):
        (place.mine.tree / f"file-{n}").write_text(f"line {n}\n" * 5000)
    place.commit()
    monkeypatch.setattr(safe_git, "MAX_OUTPUT", 100_000)
    found = place.repository.diff("claude/a", "main", max_bytes=10_000)
    assert (len(found.text), found.cut, len(found.files)) == (10_000, True, 40)
    with pytest.raises(GitFailed, match="printed more than"):
        place.repository.patch("claude/a", "main")


@needs_confinement
def test_folders_of_the_service_are_not_seen_where_a_folder_around_them_is_shown(place: Place) -> None:
    place.folder.chmod(0o755)
    pool = LocalSandboxes(place.pool.root, SandboxConfig(visible=[place.folder]), [place.folder / "repositories"])
    pool.prepare(place.mine, place.repository, session="a", branch="claude/a", target="main")
    said = str(Tools(place.mine).execute_bash(f"pwd; cat {place.secret}; ls {place.folder}/*; ls {place.other.tree}"))
    assert said.startswith(f"/workspace\n{SECRET}")
    assert "theirs" not in said
    assert "harbour-shop" not in said
