"""Other programs are read by a few lines of configuration: those of the how-to, with lines as programs print them."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.apps.sessions.agents.config import AgentConfig
from interlock.apps.sessions.agents.launching import launch_of
from interlock.apps.sessions.agents.lines import LineReader
from interlock.apps.sessions.agents.outcome import Ending, outcome_of
from interlock.apps.sessions.agents.transcript import Transcript
from interlock.apps.sessions.agents.values import AgentNotStarted, AgentOutcome, AgentRun, Line
from interlock.apps.sessions.conversation.entries import entries
from interlock.apps.sessions.conversation.messages import Message
from interlock.apps.sessions.models import Result

from .lines import spelled

HERE = Path("nowhere")
ID = UUID(int=1)
HOW_TO = Path(__file__).parents[4] / "docs" / "how-to" / "run-agent-sessions.md"


def of_the_how_to() -> Iterator[tuple[str, AgentConfig]]:
    for block in re.findall(r"```toml\n(.*?)```", HOW_TO.read_text(), re.DOTALL):
        for name, said in tomllib.loads(block).get("sessions", {}).get("agents", {}).items():
            yield name, AgentConfig.model_validate(said)


AGENTS = dict(of_the_how_to())
CODEX: list[dict[str, Any]] = [
    {"type": "thread.started", "thread_id": "t-1"},
    {"type": "item.completed", "item": {"id": "i1", "type": "command_execution", "command": "npm test"}},
    {"type": "item.completed", "item": {"id": "i2", "type": "agent_message", "text": "Done it."}},
    {"type": "turn.completed", "usage": {"input_tokens": 7, "cached_input_tokens": 0, "output_tokens": 3}},
]


def of_agent(kind: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "source": "agent", "timestamp": "2026-11-15T06:14:52", **more}


def text(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


ASKED = {**of_agent("MessageEvent"), "source": "user", "llm_message": {"role": "user", "content": text("Do it")}}
RAN = of_agent("ActionEvent", tool_name="terminal", action={"kind": "TerminalAction", "command": "npm test"})
SEEN = {
    **of_agent("ObservationEvent"),
    "source": "environment",
    "observation": {"content": text("{\n}\n--JSON Event--")},
}
SAID = of_agent("MessageEvent", llm_message={"role": "assistant", "content": text("I look.")})
FINISHED = of_agent("ActionEvent", tool_name="finish", action={"kind": "FinishAction", "message": "Done it.\n{\n}"})
BROKEN = {"kind": "ConversationErrorEvent", "source": "environment", "code": "APIError", "detail": "no quota"}


def openhands(*events: dict[str, Any]) -> bytes:
    """Each object over several lines with a line before it, and other text around all."""
    printed = [f"--JSON Event--\n{json.dumps(one, indent=2, sort_keys=True)}\n" for one in events]
    return "".join(["Initializing agent...\n", *printed, "Goodbye!\nConversation ID: 0f3a\nHint: resume it\n"]).encode()


WORKED = openhands(ASKED, SAID, RAN, SEEN, FINISHED)


def read(content: bytes, agent: AgentConfig, at_once: int = 1 << 20) -> list[Line]:
    reader = LineReader(agent.lines.separator)
    lines = [line for i in range(0, len(content), at_once) for line in reader.feed(content[i : i + at_once])]
    return [*lines, *reader.finish()]


def ended(content: bytes, name: str, exit_code: int = 0) -> AgentOutcome:
    agent = AGENTS[name]
    transcript = Transcript(agent.rules)
    for line in read(content, agent):
        transcript.read(line)
    return outcome_of(AgentRun(HERE, HERE, agent, "Do it", "c1"), transcript, Ending(exit_code))


def shown(content: bytes, name: str) -> list[tuple[str, str]]:
    """Kind and words of what a page shows."""
    pairs = [
        (Message(ID, ID, ID, one.seq, one.kind, one.text, len(one.text), None, 0), one.text)
        for one in read(content, AGENTS[name])
    ]
    found = entries(pairs, AGENTS[name].rules)
    return [(one.kind, one.body.text if one.kind == "words" and one.body else one.line) for one in found]


def test_codex_is_read_by_the_lines_of_the_how_to() -> None:
    found = ended(spelled(CODEX), "codex")
    assert (found.result, found.answer, found.conversation) == (Result.DONE, "Done it.", "t-1")
    assert (found.usage.input_tokens, found.usage.output_tokens) == (7, 3)
    failed = ended(spelled([{"type": "turn.failed", "error": {"message": "no quota"}}]), "codex", 1)
    assert (failed.result, "no quota" in failed.sentence) == (Result.FAILED, True)
    assert ended(b"", "codex").result is Result.FAILED, "it never said that it was done"
    kinds = shown(spelled(CODEX), "codex")
    assert [one for one in kinds if one[0] == "words"] == [("words", "Done it.")]
    assert ("unknown", "npm test") in kinds


def test_openhands_is_read_by_the_lines_of_the_how_to() -> None:
    found = ended(WORKED, "openhands")
    assert (found.result, found.answer, found.conversation) == (Result.DONE, "Done it.\n{\n}", "0f3a")
    failed = ended(openhands(ASKED, SAID, BROKEN), "openhands")
    assert (failed.result, failed.answer, "no quota" in failed.sentence) == (Result.FAILED, "I look.", True)
    assert ended(WORKED, "openhands", 1).result is Result.FAILED
    assert [one for one in shown(WORKED, "openhands") if one[0] == "words"] == [
        ("words", "I look."),
        ("words", "Done it.\n{\n}"),
    ]
    assert ("unknown", "npm test") in shown(WORKED, "openhands")


def test_an_object_over_several_lines_is_one_line_and_the_separator_is_none() -> None:
    lines = read(WORKED, AGENTS["openhands"])
    assert [one.data for one in lines if one.data is not None] == [ASKED, SAID, RAN, SEEN, FINISHED]
    assert [one.text for one in lines if one.data is None] == [
        *("Initializing agent...", "Goodbye!", "Conversation ID: 0f3a", "Hint: resume it"),
    ]
    assert [one.kind for one in lines][1:3] == ["MessageEvent", "MessageEvent"]


def test_an_object_that_is_broken_off_is_kept_and_the_next_one_is_read() -> None:
    begun = json.dumps(RAN, indent=2).encode().splitlines()
    broken = b"\n".join([b"--JSON Event--", *begun[:3], b"Killed", b"--JSON Event--"]) + b"\n"
    lines = read(broken + json.dumps(SAID, indent=2).encode() + b"\n--JSON Event--\n{", AGENTS["openhands"])
    assert [one.data for one in lines] == [None, None, SAID, None]
    assert lines[0].text.startswith('{"kind"')
    assert (lines[1].text, lines[3].text) == ("Killed", "{")


@given(st.integers(1, 300))
def test_objects_are_the_same_however_they_arrive(size: int) -> None:
    assert read(WORKED, AGENTS["openhands"], size) == read(WORKED, AGENTS["openhands"])


def test_an_object_beyond_the_limit_is_cut() -> None:
    reader = LineReader("---", max_line=100)
    content = b"---\n{\n" + b' "a": 1,\n' * 100 + b"}\nafter\n"
    cut, after = [*reader.feed(content), *reader.finish()]
    assert (cut.cut, len(cut.text), cut.data, after.text) == (True, 100, None, "after")


def test_a_prompt_that_no_argument_holds_is_refused_before_the_start(tmp_path: Path) -> None:
    wanted = AgentRun(tmp_path / "run", tmp_path / "home", AGENTS["openhands"], "x" * 140_000, "c1")
    with pytest.raises(AgentNotStarted, match="set prompt_on_stdin"):
        launch_of(wanted)
