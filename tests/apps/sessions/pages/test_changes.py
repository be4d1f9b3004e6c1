"""What a branch changes: on the page, as a patch, and on its way to the repository."""

from __future__ import annotations

from html import unescape
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from interlock.apps.sessions.pages.changes import ROWS, changed_files
from interlock.apps.sessions.sandbox.repository import Diff, FileChange
from tests.apps.sessions.pages.conftest import ROOT, Pages
from tests.support.sessions import REPO, git


def source(pages: Pages) -> Path:
    return pages.sessions.folder / "source"


def publish(pages: Pages, made: str, how: str, **fields: str) -> Any:
    url = f"{ROOT}/{made}"
    form = pages.site.form(f"{url}/changes", f"{url}/publish", "member")
    return pages.site.browser("member").post(f"{url}/publish", data={**form, "how": how, **fields})


def test_each_file_has_its_lines_and_counts(pages: Pages) -> None:
    made = pages.run("Write about tea")
    text = unescape(pages.get(f"{ROOT}/{made}/changes"))
    assert "2 files changed" in text
    assert '<span class="mono path">CHANGELOG.md</span>' in text
    assert '<span class="label">new</span>' in text
    assert '<tr class="d-added"><td class="n"></td><td class="n">4</td>' in text
    assert "- Write about tea" in text
    assert '<span class="good">+1</span>' in text


def test_the_patch_is_one_that_git_applies(pages: Pages, tmp_path: Path) -> None:
    made = pages.run("Write about tea")
    found = pages.site.get(f"{ROOT}/{made}/patch", "member")
    assert found.headers["content-disposition"] == f'attachment; filename="session-{made}.patch"'
    clone = tmp_path / "clone"
    git("clone", "--quiet", source(pages), clone, cwd=tmp_path)
    (tmp_path / "one.patch").write_bytes(found.content)
    git("am", "--quiet", tmp_path / "one.patch", cwd=clone)
    assert (clone / "notes" / "write-about-tea.md").exists()


def test_a_session_without_a_branch_says_so(pages: Pages) -> None:
    made = pages.start("Write about tea")
    assert "Nothing to show yet." in pages.get(f"{ROOT}/{made}/changes")
    assert pages.site.get(f"{ROOT}/{made}/patch", "member").status_code == 404


def test_a_branch_is_merged_once_it_was_confirmed_and_the_history_says_by_whom(pages: Pages) -> None:
    made = pages.run("Write about tea")
    assert publish(pages, made, "merge").status_code == 422
    assert git("log", "--format=%s", "main", cwd=source(pages)) == "First version"
    after = publish(pages, made, "merge", sure="yes")
    assert "Merged claude/write-about-tea" in after.text
    assert "notes/write-about-tea.md" in git("ls-tree", "-r", "--name-only", "main", cwd=source(pages))
    rows = pages.sessions.engine.history(UUID(made))[-2:]
    said = [str(row.payload) for row in rows]
    assert ("merging claude/write" in said[0], "Merged claude/write" in said[1]) == (True, True)
    assert {str(row.actor).partition("/")[0] for row in rows} == {"user:member"}


def test_a_branch_is_pushed_under_its_own_name(pages: Pages) -> None:
    made = pages.run("Write about tea")
    publish(pages, made, "push", sure="yes")
    assert pages.sessions.look(made)["branch"] in git(
        "branch", "--list", "--format=%(refname:short)", cwd=source(pages)
    )
    assert git("log", "--format=%s", "main", cwd=source(pages)) == "First version"


@pytest.mark.parametrize("how", ["push", "merge"])
def test_what_the_configuration_does_not_allow_is_neither_offered_nor_done(pages: Pages, how: str) -> None:
    made = pages.run("Write about tea")
    form = pages.site.form(f"{ROOT}/{made}/changes", f"{ROOT}/{made}/publish", "member")
    pages.sessions.set(repos={REPO: str(source(pages))})
    text = pages.get(f"{ROOT}/{made}/changes")
    assert f"{ROOT}/{made}/publish" not in text
    assert "allows neither push nor merge" in text
    sent = {**form, "how": how, "sure": "yes"}
    assert pages.site.browser("member").post(f"{ROOT}/{made}/publish", data=sent).status_code == 409
    assert git("branch", "--list", "--format=%(refname:short)", cwd=source(pages)) == "main"


def test_a_conflict_is_said_and_nothing_is_merged(pages: Pages) -> None:
    made = pages.run("Write about tea")
    (source(pages) / "CHANGELOG.md").write_text("something else\n")
    git("commit", "--quiet", "-am", "Another", cwd=source(pages))
    refused = publish(pages, made, "merge", sure="yes")
    assert refused.status_code == 409
    assert "has conflicts with main" in unescape(refused.text)
    assert git("log", "--format=%s", "-1", "main", cwd=source(pages)) == "Another"
    assert "could not merge" in pages.get(f"{ROOT}/{made}/changes")


# -- reading a difference


def diff(text: str, *files: FileChange, cut: bool = False) -> Diff:
    return Diff("a" * 40, "b" * 40, files, text, cut)


def test_binary_files_and_files_beyond_the_text_say_so() -> None:
    text = "diff --git a/logo.png b/logo.png\nnew file mode 100644\nBinary files /dev/null and b/logo.png differ\n"
    logo, far = changed_files(diff(text, FileChange("logo.png", None, None), FileChange("far.py", 3, 1), cut=True))
    assert (logo.said, logo.rows, "no text" in logo.why) == ("new", (), True)
    assert "see the patch" in far.why


def test_a_big_file_is_cut() -> None:
    text = "diff --git a/big b/big\n--- a/big\n+++ b/big\n@@ -1 +1,5000 @@\n" + "+line\n" * 5000
    (big,) = changed_files(diff(text, FileChange("big", 5000, 0)))
    assert (len(big.rows), big.hidden) == (ROWS, 5001 - ROWS)


def test_lines_that_look_like_headings_are_content() -> None:
    text = (
        "diff --git a/one b/one\n--- a/one\n+++ b/one\n@@ -1,3 +1,3 @@\n-diff --git a/x b/x\n+@@ -1 +1 @@\n --- a\n"
        "\\ No newline at end of file\ndiff --git a/two b/two\n@@ -7 +8 @@\n-a\n+b\n"
    )
    one, two = changed_files(diff(text, FileChange("one", 1, 1), FileChange("two", 1, 1)))
    assert [(row.kind, row.text) for row in one.rows[1:]] == [
        ("removed", "diff --git a/x b/x"),
        ("added", "@@ -1 +1 @@"),
        ("same", "--- a"),
        ("note", "No newline at end of file"),
    ]
    assert [(row.kind, row.old, row.new) for row in two.rows[1:]] == [("removed", 7, None), ("added", None, 8)]


def test_hostile_lines_of_a_file_are_shown_as_they_are() -> None:
    text = "diff --git a/x b/x\n@@ -0,0 +1,2 @@\n+\x1b[31mred\u202edlog\n+" + "x" * 9000 + "\n"
    (one,) = changed_files(diff(text, FileChange("<b>\u202etxt", 2, 0)))
    assert one.rows[1].text == "red⟨U+202E⟩dlog"
    assert "9,001 characters" in one.rows[2].text
    assert one.path == "<b>⟨U+202E⟩txt"
