"""The demo's world: where it begins, what it shows from the first moment on, and that it keeps the laws."""

from __future__ import annotations

import random
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.apps.contracts import contract, reading
from interlock.apps.contracts.demo import agreements, papers
from interlock.apps.contracts.demo import part as contracts
from interlock.apps.contracts.fields.confidence import assess
from interlock.apps.contracts.fields.normalise import normalise
from interlock.apps.contracts.fields.vertical import shipped
from interlock.apps.contracts.ingest import stored
from interlock.apps.contracts.reading.errors import CorruptPdf, EncryptedPdf
from interlock.apps.jobs.application import application as jobs
from interlock.apps.jobs.autoapply.machine import application
from interlock.apps.jobs.claims import steps
from interlock.apps.jobs.demo import claims
from interlock.apps.sample import parcel
from interlock.apps.sessions.application import application as sessions
from interlock.config import AiSettings
from interlock.dashboard.views import View, ViewContext, view_of
from interlock.demo import MARA, Part, mark, parts, surroundings
from interlock.demo.loop import Demo
from interlock.demo.part import Pace, handler, is_played
from interlock.demo.parts import parts_of, played
from interlock.demo.past import HOURS, RECENT, Past, stories
from interlock.engine import Engine, Instance, leases
from interlock.engine.audit import checkpoints
from interlock.engine.audit.signing import Keys
from interlock.engine.unit import load
from interlock.machine import FINAL, OWNER, Actor, Application, Go, Machine, Registry, State, Transition, installed
from interlock.people import People, Role
from interlock.store import SECOND, Store, open_store, tables
from interlock.testing import broken_laws
from interlock.watch import alerts, measures, rollups, rules
from interlock.worker import Worker
from tests.support.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.soak("postgresql")]

HOUR = 3600 * SECOND
FEW = 12


@dataclass
class World:
    """A database that the demo has filled."""

    engine: Engine
    people: People

    def all(self, machine: str | None = None, state: str | None = None) -> list[Instance]:
        query = sa.select(tables.instance).order_by(tables.instance.c.id)
        for column, value in ((tables.instance.c.machine, machine), (tables.instance.c.state, state)):
            query = query.where(column == value) if value is not None else query
        return self.engine.read(lambda conn: load(conn, conn.execute(query).all()))


def filled(store: Store, *, count: int = FEW) -> World:
    registry = installed()
    mark.claim_untouched(store, registry)
    engine = Engine(store, played(registry), audit_keys=Keys([b"k" * 32]))
    people = People(engine)
    people.setup()
    made = Demo(engine, stories=count, seed=1)
    assert made.once()
    assert engine.read(mark.is_ready)
    return World(engine, people)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One for all who only look; added up, with the alerts looked at once."""
    if request.param == "sqlite":
        path = tmp_path_factory.mktemp("demo") / "interlock.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        name, url = None, f"sqlite:///{path}"
    else:
        databases, postgres = request.getfixturevalue("databases"), request.getfixturevalue("postgres")
        name = databases.take()
        url = postgres.url(name)
    with open_store(url, durability="normal", wakeup="poll") as store:
        made = filled(store)
        while made.engine.write(rollups.roll):
            pass
        made.engine.write(lambda unit: alerts.evaluate(unit, made.engine.registry, rules.built_in()))
        yield made
    if name is not None:
        databases.give_back(name)


# -- where it begins


@pytest.mark.soak("postgresql")
def test_an_untouched_database_becomes_the_demos(store: Store) -> None:
    mark.claim_untouched(store, installed())
    mark.claim_untouched(store, installed())
    assert store.read(mark.is_demo)
    assert not store.read(mark.is_ready)


def used_by_an_instance(engine: Engine) -> None:
    engine.create("job", {"board": "acme", "job_id": "1"}, by_application=True)


def used_by_a_person(engine: Engine) -> None:
    People(engine).setup()


@pytest.mark.soak("postgresql")
@pytest.mark.parametrize("use", [used_by_an_instance, used_by_a_person])
def test_a_database_that_is_somebodys_is_left_alone(store: Store, use: Callable[[Engine], None]) -> None:
    use(Engine(store, installed()))
    mark.claim_untouched(store, installed())
    assert not store.read(mark.is_demo)


@pytest.mark.soak("postgresql")
def test_where_somebody_has_another_machine_of_the_samples_name_there_is_no_demo(store: Store) -> None:
    mine = Machine(
        "parcel", initial="a", states=[State("a"), State("b", FINAL)], transitions=[Transition("a", "b", on="go")]
    )
    mark.claim_untouched(store, Registry([mine]))
    assert not store.read(mark.is_demo)


# -- who plays what


def test_work_that_nobody_does_is_played_and_every_machine_can_be_worked() -> None:
    registry = played(installed())
    assert [m.name for m in registry if registry.missing_handlers(m)] == []
    assert parcel.name in registry
    names = {part.name for part in parts_of(registry)}
    assert names == {"parcels", "contracts", "applications", "sessions", "finder", "claims"}


def test_an_application_with_handlers_of_its_own_wins() -> None:
    own = contract.with_handlers({state: lambda task: Go("failed") for state in contract.states})
    registry = played(Registry([own, jobs, sessions]))
    assert registry["contract"] is own
    assert "contracts" not in {part.name for part in parts_of(registry)}
    assert "sessions" in {part.name for part in parts_of(registry)}


def bells() -> list[Part]:
    def begin(engine: Engine, rng: random.Random, fate: str) -> UUID:
        return engine.create("bell", {}).id

    acts = {"bell": {"swinging": lambda task, rng: Go("silent")}}
    return [Part("bells", acts=acts, begin=begin, react=lambda *_: None, waiting={}, share=1000)]


bell = Machine(
    "bell",
    initial="swinging",
    states=[State("swinging"), State("silent", FINAL)],
    transitions=[Transition("swinging", "silent", on="stop")],
)


@pytest.mark.soak("postgresql")
def test_an_application_brings_its_own_part(store: Store) -> None:
    registry = Registry([Application("tower", machines=[bell], demo="tests.demo.test_demo:bells")])
    mark.claim_untouched(store, registry)
    engine = Engine(store, played(registry))
    People(engine).setup()
    assert {part.name for part in parts_of(engine.registry)} == {"parcels", "bells"}
    Demo(engine, stories=3, seed=1).once()
    assert {one.state for one in World(engine, People(engine)).all("bell")} == {"swinging", "silent"}
    assert broken_laws(engine) == []


def test_a_machine_is_the_same_version_whoever_plays_it() -> None:
    registry = played(Registry([Application("tower", machines=[bell], demo="tests.demo.test_demo:bells")]))
    assert registry["bell"].digest() == bell.digest()
    assert all(is_played(work.handler) for work in registry["bell"].handlers.values())
    assert bell.handlers == {}


def test_contracts_and_applications_are_worked_by_their_own_steps() -> None:
    registry = played(installed())
    for machine in (contract, application):
        assert registry[machine.name] is machine
        assert not any(is_played(work.handler) for work in machine.handlers.values())


def test_without_the_code_that_reads_files_there_are_no_contracts_in_the_demo() -> None:
    bare = contract.with_handlers({})
    assert bare.handlers == {}
    registry = played(Registry([Application("contracts", machines=[bare]), jobs, sessions]))
    assert "contracts" not in {part.name for part in parts_of(registry)}


def test_what_an_application_looks_after_and_shows_is_there_in_the_demo_too() -> None:
    plain = installed()
    shown = played(plain)
    assert shown.duties == plain.duties != []
    assert shown.routers == plain.routers != []
    assert shown.views["contract"] is plain.views["contract"]


def test_an_applications_own_view_wins() -> None:
    own, plain = View(), installed()
    plain.include(Registry(views={"application": own}))
    assert played(plain).views["application"] is own
    assert played(installed()).views["application"] is not own


# -- what it shows


def test_every_machine_has_instances_and_most_are_in_several_states(world: World) -> None:
    states: dict[str, set[str]] = {}
    for one in world.all():
        states.setdefault(one.machine, set()).add(one.state)
    # The finder works in the present, by its real handlers, and has begun with a company.
    assert set(states) == {m.name for m in world.engine.registry} - {"source", "listing"}
    assert {name for name, seen in states.items() if len(seen) == 1} == {"company"}


def test_the_past_goes_back_a_day_and_nothing_lies_in_the_future(world: World) -> None:
    now = world.engine.clock.now()
    at = world.engine.read(lambda conn: list(conn.execute(sa.select(tables.history.c.at)).scalars()))
    assert min(at) < now - 20 * HOUR
    assert max(at) <= now
    assert len({moment // HOUR for moment in at}) > 12
    assert min(at) >= now - (HOURS + 1) * HOUR


def test_the_past_is_signed(world: World) -> None:
    """Its rows are dated back a day, so that unsigned ones would be reported as a problem."""
    found = world.engine.read(checkpoints.coverage)
    assert found.last is not None
    assert found.waiting == 0


def test_what_the_past_left_ready_is_ready_since_two_minutes_at_most(world: World) -> None:
    """So no later story, and no worker, takes what is another story's."""
    now = world.engine.clock.now()
    ready = [one for one in world.all() if one.wake == "work"]
    assert ready
    assert all((one.due_at or 0) > now - RECENT - 60 * SECOND for one in ready)
    assert [one for one in world.all() if one.holder is not None] == []


def test_people_are_asked_about_contracts_applications_and_parcels(world: World) -> None:
    open_reviews = world.engine.reviews.waiting()
    assert {"contract", "application", "parcel"} <= {review.machine for review in open_reviews}
    due = [review for review in open_reviews if review.machine == "contract"]
    assert len(due) >= 3
    assert all((review.due_at or 0) > world.engine.clock.now() for review in due)


def template_fields(world: World, one: Instance) -> dict[str, dict[str, Any]]:
    return world.engine.read(lambda conn: stored.fields(conn, one.id, one.data))


def test_sure_contracts_pass_without_a_person_and_doubtful_ones_wait_with_the_reason(world: World) -> None:
    passed = [one for one in world.all("contract", "completed") if not one.data["needs_review"]]
    assert passed
    assert all(one.data["final_confidence"] >= 80 and not one.data["problems"] for one in passed)
    waiting = world.all("contract", "review_required")
    assert all(one.data["needs_review"] for one in waiting)
    assert all(one.data["final_confidence"] < 80 or one.data["problems"] for one in waiting)
    blanks = [one for one in waiting if any("blanks" in r or "not found" in r for r in one.data["reasons"])]
    assert blanks


def test_a_value_that_was_read_stands_in_the_text_at_its_place_and_has_a_box_on_the_page(world: World) -> None:
    one = next(i for i in world.all("contract", "review_required") if i.data["vertical"] == "commercial")
    text = world.engine.read(lambda conn: stored.document(conn, one.id, one.data))
    found = template_fields(world, one)
    assert "parties" in found
    for field in found.values():
        assert text.page(field["page"]).text[field["start"] : field["end"]] == field["quote"] != ""
        assert field["boxes"]


def test_what_people_corrected_stands_beside_what_the_machine_read(world: World) -> None:
    corrected = [one for one in world.all("contract", "completed") if one.data["decisions"]]
    for one in corrected:
        for decision in one.data["decisions"]:
            field = template_fields(world, one)[decision["field"]]
            assert field["verified"]
            assert field["human"]["by"] in {"user:mara", "user:ivo"}
        assert contracts.wrong_values(one).keys() <= {"governing_law"}


def test_two_versions_and_an_amendment_are_compared_with_what_came_before(world: World) -> None:
    by_kind = {one.data["comparison_kind"]: one for one in world.all("contract", "completed")}
    assert set(by_kind) >= {"template", "versions", "amendment"}
    later = by_kind["versions"]
    first = world.engine.get(UUID(later.data["compare_with"]))
    assert later.data["filename"] == first.data["filename"].replace(".pdf", "-version-2.pdf")
    assert "4 changed" in later.data["verdict"]


def test_files_that_cannot_be_read_were_rejected_and_one_ran_out_of_time(world: World) -> None:
    rejected = {(one.error or {}).get("type"): one for one in world.all("contract", "rejected")}
    assert set(rejected) >= {"EncryptedPdf", "CorruptPdf", "ReaderDied"}
    assert rejected["ReaderDied"].data["reject_reason"] == "retries_exhausted"
    assert rejected["CorruptPdf"].data["reject_reason"] == "not_retryable"
    assert world.all("contract", "timed_out")


def test_an_application_in_review_shows_its_posting_and_its_letter(world: World) -> None:
    one = next(i for i in world.all("application", "requires_review") if i.data["cover_letter"])
    view = view_of(world.engine.registry, "application")
    posting, letter = view.evidence(ViewContext(one, None, world.engine.artifacts(one.id)))
    assert ("company", one.data["company"], None) in posting.rows
    assert letter.artifact == "cover-letter.txt"


def test_dead_letters_of_the_applications_own_errors_are_there_at_once(world: World) -> None:
    found = Counter((letter.machine, letter.error_type) for letter in world.engine.dead_letters.find())
    assert set(found) >= {
        ("contract", "EncryptedPdf"),
        ("contract", "ReaderDied"),
        ("application", "SiteUnreachable"),
        ("loan", "AllocatorUnavailable"),
    }
    assert world.all("loan", "stuck")


def test_an_alert_opens_by_itself(world: World) -> None:
    found = world.engine.read(lambda conn: alerts.open_alerts(conn, 100))
    assert "dead_letters" in {alert.rule for alert in found}


def test_applications_are_paused_by_a_limit_and_by_a_rule_until_a_moment_that_comes(world: World) -> None:
    paused = world.all("application", "paused")
    reasons = {(one.error or {})["type"] for one in paused}
    assert reasons >= {"LimitReached", "ModelQuotaExceeded"}
    assert all(one.wake == "resume" and (one.due_at or 0) > world.engine.clock.now() for one in paused)


def test_messages_wait_for_mail_and_webhook(world: World) -> None:
    page = world.engine.outbox.page(status="waiting", limit=200)
    assert {message.channel for message in page.messages} >= {"mail", "webhook"}
    mails = [message for message in page.messages if message.channel == "mail"]
    assert all(message.recipient.endswith("@demo.invalid") for message in mails)


def test_there_are_two_schedules_and_one_of_them_is_paused(world: World) -> None:
    assert sorted(schedule.paused_at is not None for schedule in world.engine.schedules.all()) == [False, True]


def test_agents_hold_jobs_under_named_leases(world: World) -> None:
    held = world.engine.read(lambda conn: leases.active(conn, world.engine.clock.now()))
    running = {one.id: one for state in ("pending", "submitted") for one in world.all("run", state)}
    assert len(held) >= 3
    assert {lease.instance_id for lease in held} <= set(running)
    for lease in held:
        assert lease.instance_id is not None
        assert lease.holder.removeprefix("verify:") == running[lease.instance_id].key


def test_a_job_is_queued_while_its_run_goes_on_and_applied_when_it_succeeded(world: World) -> None:
    jobs = {one.id: one for one in world.all("job")}
    for one in world.all("run"):
        assert one.parent is not None
        if one.state in {"pending", "submitted"}:
            assert jobs[one.parent].state == "queued"
        if one.state == "success":
            assert jobs[one.parent].state == "applied"


def test_two_reviewers_and_a_viewer_came_without_passwords(world: World) -> None:
    found = {person.name: person for person in world.people.everyone()}
    assert {name: found[name].roles["default"] for name in ("mara", "ivo", "guest")} == {
        "mara": Role.REVIEWER,
        "ivo": Role.REVIEWER,
        "guest": Role.VIEWER,
    }
    assert not any(person.has_password for person in found.values())


def test_there_are_papers_of_every_kind_that_a_page_shows(world: World) -> None:
    kinds = world.engine.read(lambda conn: set(conn.execute(sa.select(tables.artifact_ref.c.media_type)).scalars()))
    assert kinds >= {"application/pdf", "application/json", "text/plain"}


def test_times_spent_in_states_and_what_was_finished_by_the_hour_can_be_drawn(world: World) -> None:
    engine = world.engine
    since = engine.clock.now() - 26 * HOUR
    hours = engine.read(
        lambda conn: conn.execute(
            sa.text(
                "SELECT count(DISTINCT at) FROM rollup WHERE span = 'hour' AND measure = 'finished' AND at > :since"
            ),
            {"since": since},
        ).scalar_one()
    )
    assert hours >= 6
    counts = engine.read(lambda conn: measures.counts(conn))
    assert sum(counts["contract"].values()) == len(world.all("contract"))


def test_no_law_is_broken_and_every_chain_verifies(world: World) -> None:
    assert broken_laws(world.engine) == []
    assert world.engine.verify().problems == ()


# -- the papers


def test_a_pdf_is_whole() -> None:
    made = papers.pdf(["one (1)", "two \\ 2"])
    start = int(made.split(b"startxref\n")[1].split()[0])
    assert made[start:].startswith(b"xref\n0 7\n")
    rows = made[start:].split(b"\n")[3:9]
    for number, row in enumerate(rows, 1):
        assert made[int(row[:10]) :].startswith(b"%d 0 obj" % number)
    assert rb"(one \(1\)) Tj" in made
    length = int(made.split(b"/Length ")[1].split()[0])
    assert len(made.split(b"stream\n")[1].removesuffix(b"\nend")) == length


def test_a_paper_is_read_back_as_it_was_written_over_several_pages() -> None:
    lines = [f"{number}. Über {number * 7} € (netto)" for number in range(100)]
    document = reading.read(papers.pdf(["# Preisliste", *lines]))
    assert len(document.pages) == 3
    assert [line for page in document.pages for line in page.text.splitlines()] == ["Preisliste", *lines]


def test_papers_that_are_locked_or_torn_cannot_be_opened() -> None:
    with pytest.raises(EncryptedPdf):
        reading.read(papers.pdf(["secret"], locked=True))
    with pytest.raises(CorruptPdf):
        reading.read(papers.torn(papers.pdf(["a lot"] * 90)))


@pytest.mark.parametrize("doubt", ["", *agreements.DOUBTS])
@pytest.mark.parametrize("kind", ["commercial", "Stromliefervertrag", "Electricity Supply Contract"])
def test_what_was_agreed_on_is_read_from_the_paper_unless_it_is_doubtful(kind: str, doubt: str) -> None:
    agreed = next(t for t in map(agreements.terms, range(200)) if kind in (t.vertical, t.title))
    document = reading.read(papers.pdf(agreements.written(agreed, doubt)))
    vertical = shipped()[agreed.vertical]
    assessment = assess(document, vertical, today=agreed.dated)
    values = {n: normalise(vertical.field(n).type, v, vertical.locale) for n, v in agreed.values.items()}
    read = {n: f.normalised for n, f in assessment.extraction.fields.items() if n in values}
    if not doubt:
        assert read == values
    assert assessment.needs_review == bool(doubt)
    if doubt in (agreements.MISSING, agreements.BLANK):
        assert read != values


# -- how it goes on


@pytest.mark.soak("postgresql")
def test_a_second_start_goes_on_with_the_same_world(store: Store) -> None:
    world = filled(store, count=2)
    before = {one.id for one in world.all()}
    surroundings_before = (len(world.people.everyone()), len(world.engine.schedules.all()))
    again = Demo(Engine(store, played(installed())), stories=2, seed=2)
    assert again.once()
    assert {one.id for one in world.all()} == before
    again.once()
    assert [one.parent is None for one in world.all() if one.id not in before].count(True) == 1
    assert (len(world.people.everyone()), len(world.engine.schedules.all())) == surroundings_before


@pytest.mark.soak("postgresql")
def test_a_past_written_in_part_is_completed_and_nothing_is_written_twice(store: Store) -> None:
    mark.claim_untouched(store, installed())
    engine = Engine(store, played(installed()))
    parts = parts_of(engine.registry)
    assert Past(engine, parts, 2).write_next(5)
    assert store.read(mark.stories_written) == 5
    rest = Past(engine, parts, 2)
    while rest.write_next(20):
        pass
    assert not rest.write_next()
    roots = World(engine, People(engine))
    # An application puts the job that it is for beside it, where nobody has found it yet.
    begun = [one for one in roots.all() if one.parent is None]
    rows = [one for one in begun if not engine.history(one.id)[0].actor.startswith("worker:application:")]
    assert len(rows) == len(stories(parts, 2)) == store.read(mark.stories_written)


@pytest.mark.soak("postgresql")
def test_a_fill_that_is_stopped_leaves_a_world_that_keeps_the_laws(store: Store) -> None:
    mark.claim_untouched(store, installed())
    engine = Engine(store, played(installed()))
    People(engine).setup()
    made = Demo(engine, stories=2)
    made.stop()
    made.once()
    assert not store.read(mark.is_ready)
    assert broken_laws(engine) == []


@pytest.mark.soak("postgresql")
def test_what_waits_beyond_a_few_is_decided_by_the_demos_people(store: Store) -> None:
    world = filled(store, count=0)
    for _ in range(7):
        it = world.engine.create("parcel", {"content": "a grand piano"}).id
        world.engine.force(it, "customs", actor=Actor(OWNER, "owner"), reason="to have it wait")
    again = Demo(world.engine, stories=0, seed=3)
    again.once()
    for _ in range(4):
        again.once()
    assert len(world.all("parcel", "customs")) == 4
    review = tables.review
    decided = world.engine.read(
        lambda conn: set(conn.execute(sa.select(review.c.decided_by).where(review.c.status == "decided")).scalars())
    )
    assert decided == {"user:mara", "user:ivo"}


@pytest.mark.soak("postgresql")
def test_the_lease_on_a_job_is_free_again_when_its_run_has_ended(store: Store) -> None:
    world = filled(store, count=0)
    engine, rng = world.engine, random.Random(5)
    claims.claim(engine, world.all("job", "discovered")[0], claims.AGENTS[0], "another")
    one = next(run for run in world.all("run", "pending") if run.key == "another")
    name = steps.lock_of(one)
    assert engine.leases.find(name) is not None
    while (one := engine.get(one.id)).finished_at is None:
        claims.react(engine, one, rng)
    assert engine.leases.find(name) is None


@pytest.mark.soak("postgresql")
def test_a_run_whose_lease_ran_out_is_lost_and_its_job_can_be_claimed_again(store: Store) -> None:
    world = filled(store, count=0)
    one = world.all("run", "pending")[0]
    ran_out = sa.update(tables.lease).where(tables.lease.c.name == steps.lock_of(one)).values(until=1)
    assert world.engine.store.write(lambda conn: conn.execute(ran_out).rowcount) == 1
    claims.keep_on(world.engine, random.Random(5))
    assert world.engine.get(one.id).state == "lost"
    assert one.parent is not None
    assert world.engine.get(one.parent).state == "discovered"


@pytest.mark.soak("postgresql")
def test_schedules_that_somebody_changed_stay_changed(store: Store) -> None:
    world = filled(store, count=0)
    market = surroundings.MARKET.name
    world.engine.schedules.resume(market, actor=MARA)
    surroundings.set_up(world.engine, [])
    assert world.engine.schedules.get(market).paused_at is None


@pytest.mark.soak("postgresql")
def test_in_the_present_acts_take_their_time_and_say_how_far_they_are(store: Store) -> None:
    paces = {("bell", "swinging"): Pace(0.5, 1.0, ("taking the rope", "pulling it"))}
    part = replace(bells()[0], paces=paces)
    slow = bell.with_handlers({"swinging": handler(part, "bell", "swinging")})
    engine = Engine(store, [slow])
    it = engine.create("bell", {}).id
    seen: set[str] = set()

    def is_silent() -> bool:
        said = sa.select(tables.progress.c.message).where(tables.progress.c.instance_id == it)
        seen.update(engine.read(lambda conn: list(conn.execute(said).scalars())))
        return engine.get(it).state == "silent"

    with Worker(engine, concurrency=2):
        eventually(is_silent, within=60)
    assert seen & {"taking the rope", "pulling it"}
    assert broken_laws(engine) == []


@pytest.mark.soak("postgresql")
def test_in_the_present_contracts_are_read_by_the_applications_own_steps(store: Store) -> None:
    world = filled(store, count=0)
    engine = world.engine
    made = [contracts.begin(engine, random.Random(3), fate) for fate in (contracts.SURE, agreements.BLANK)]
    states = {"completed", "review_required"}
    with Worker(engine, queues=["contract"], concurrency=4):
        eventually(lambda: all(engine.get(one).state in states for one in made), within=60)
    assert engine.get(made[1]).state == "review_required"
    contracts.react(engine, engine.get(made[1]), Kindly())
    after = engine.get(made[1])
    assert after.state == "validated"
    assert [one["action"] for one in after.data["decisions"]] == ["correct"]
    assert broken_laws(engine) == []


class Kindly(random.Random):
    """Luck that rejects nothing."""

    def random(self) -> float:
        return 0.5


@pytest.mark.soak("postgresql")
def test_before_the_service_is_ready_nothing_is_done(store: Store) -> None:
    mark.claim_untouched(store, installed())
    engine = Engine(store, played(installed()))
    People(engine).setup()
    ready = threading.Event()
    made = Demo(engine, after=ready, stories=0)
    assert made.once()
    assert World(engine, People(engine)).all() == []
    ready.set()
    made.once()
    assert World(engine, People(engine)).all() != []


def test_the_demo_has_budgets_unless_some_are_configured(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "parts_of", lambda registry: [])
    with Engine(sqlite_url, [parcel]) as engine:
        for given, names in ((AiSettings(), {"all"}), (AiSettings(budgets={"all": {"day": 1}}), {"all"})):
            engine.core.settings["ai"] = given
            parts.configure(engine)
            budgets = engine.core.settings["ai"].budgets
            assert set(budgets) == names
            assert (budgets["all"].day == 1) == bool(given.budgets)
