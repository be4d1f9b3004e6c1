"""`interlock jobs add`, `list`, `sources`, `why` and `crawl` on a database, without a network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interlock.apps.jobs.finder.profiles.profile_file import sample
from interlock.apps.jobs.world import World
from interlock.store import open_store
from tests.apps.jobs.finder.rows import Finder, open_finder
from tests.apps.jobs.finder.seekers import ROW
from tests.support.commands import Done, command


class Shell:
    """Commands on one database, and the finder that fills it."""

    def __init__(self, folder: Path, url: str, finder: Finder) -> None:
        self.folder, self.url, self.finder = folder, url, finder

    def run(self, *arguments: str) -> Done:
        return command("jobs", *arguments, "--database", self.url, cwd=self.folder)

    def json(self, *arguments: str) -> Any:
        done = self.run(*arguments, "--json")
        assert done.code == 0, done.err
        return json.loads(done.out)


@pytest.fixture
def shell(tmp_path: Path, sqlite_url: str) -> Iterator[Shell]:
    with open_store(sqlite_url, durability="normal", wakeup="poll") as store, open_finder(store) as finder:
        yield Shell(tmp_path, sqlite_url, finder)


def test_add_says_what_it_took_the_address_for(shell: Shell) -> None:
    done = shell.run("add", "https://boards.greenhouse.io/kind", "--name", "Kind Boats")
    assert done.code == 0, done.err
    assert "taken for a source of postings: it is the greenhouse board 'kind'" in done.out
    assert "no worker is running" in done.out
    again = shell.json("add", "https://boards.greenhouse.io/kind")
    assert (again["kind"], again["new"], again["state"]) == ("source", False, "PENDING")
    other = shell.json("add", "https://boards.greenhouse.io/kind", "--as", "company")
    assert (other["kind"], other["new"]) == ("company", True)


REFUSED = [
    (["add", "two words"], "'two words' is not a web address"),
    (["add", "kind.example", "--as", "fax"], "--as 'fax' is none of company, source, listing"),
    (["list", "--state", "good"], "state 'good' is none of new"),
    (["list", "--after", "x"], "take it from `next`"),
    (["crawl"], "there is no active source"),
    (["crawl", "kelp"], "no source is named 'kelp'"),
]


def test_what_cannot_be_done_is_said_in_a_line(shell: Shell) -> None:
    for arguments, said in REFUSED:
        done = shell.run(*arguments)
        assert done.code == 1
        assert said in done.err


def test_a_profile_file_is_taken_over(shell: Shell) -> None:
    (shell.folder / "profile.yaml").write_text(sample())
    shell.run("add", "kind.example")
    assert "There is no profile yet" not in shell.run("why", "https://kind.example/jobs/1").out


def test_list_and_why_show_what_became_of_postings(shell: Shell) -> None:
    shell.finder.profile()
    shell.finder.settled()
    shell.finder.settled("https://grim.example/1", company="Grim Corp", location="\x1b[31mKiel")
    shell.finder.source()
    done = shell.run("list")
    assert "Senior Backend Engineer" in done.out
    assert "2 shown; of all that are not closed: 1 filtered, 1 matched" in done.out
    assert "\x1b" not in done.out
    assert [one["outcome"] for one in shell.json("list", "--state", "filtered")["postings"]] == ["filtered"]
    why = shell.run("why", "grim", "corp")
    assert "✗ stop_company: Excluded company: grim corp" in why.out
    assert shell.json("why", ROW["url"])["answers"][0]["sentence"] == "It is a match."
    assert "kind board" in shell.run("sources").out
    assert [one["name"] for one in shell.json("sources")] == ["kind board"]
    assert shell.json("parse-again")[0]["verdict"] == "failed"


def test_an_address_leads_to_matches_without_a_service(shell: Shell) -> None:
    (shell.folder / "profile.yaml").write_text(sample())
    with World() as world:
        (shell.folder / "interlock.toml").write_text(f'[jobs]\nprivate_hosts = ["{world.host}"]\nrate = 0.0\n')
        board = f"http://{world.host}/greenhouse-host/tidewater"
        added = shell.json("add", board, "--name", "Tidewater Freight", "--wait")
        assert (added["kind"], added["state"], added["message"]) == ("source", "SUCCESS", "it is crawled from now on")
        [crawled] = shell.json("crawl", "tidewater")
    assert (crawled["verdict"], crawled["counts"]["new"]) == ("complete", crawled["counts"]["parsed"])
    found = shell.json("list")["postings"]
    assert {one["outcome"] for one in found} == {"matched", "filtered"}
    [read] = shell.json("parse-again")
    assert (read["verdict"], read["unchanged"], read["changed"], read["new"]) == ("complete", len(found), [], [])
