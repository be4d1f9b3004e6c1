"""Commands that do the work themselves: with the configuration that they were given."""

from __future__ import annotations

from pathlib import Path

from interlock.config import load
from interlock.console.working import has_stopped, has_worker, in_order, wait_for, working_engine


def test_the_configuration_chooses_the_machines_and_is_in_force(tmp_path: Path) -> None:
    config = tmp_path / "i.toml"
    config.write_text("[jobs.autoapply]\nplanned = true\n")
    with working_engine(f"sqlite:///{tmp_path}/work.db", None, load(config)) as engine:
        assert "validating" in engine.registry["application"].states
        assert engine.setting("jobs").autoapply.planned


def test_without_a_worker_the_work_is_done_here_and_what_follows_is_waited_for(tmp_path: Path) -> None:
    followed: list[object] = []
    settings = load(None, {"apps": ["interlock.apps.sample:parcel"]})
    with working_engine(f"sqlite:///{tmp_path}/work.db", None, settings) as engine:
        machine = engine.registry["parcel"]
        ids = [engine.create("parcel", {"content": name}).id for name in ("a", "b")]
        found = wait_for(
            engine,
            machine,
            ids[::-1],
            ["b", "a"],
            what="parcels",
            steps=1,
            progress_of=lambda one: (0, one.state),
            stopped=lambda one: has_stopped(one) or one.state == "customs",
            then=followed.append,
            quiet=True,
        )
        assert [one.id for one in found] == ids[::-1]
        assert engine.read(lambda conn: [one.id for one in in_order(conn, machine, ids)]) == ids
        assert len(followed) == 1
        assert not has_worker(engine, machine)
