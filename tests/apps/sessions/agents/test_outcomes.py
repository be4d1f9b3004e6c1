"""How a run ended, from everything that is known. The first fourteen cases were recorded of the program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.apps.sessions.agents.config import CLAUDE
from interlock.apps.sessions.agents.lines import MAX_LINE, LineReader, parse
from interlock.apps.sessions.agents.outcome import REASONS, Ending, Stop, outcome_of
from interlock.apps.sessions.agents.transcript import Transcript
from interlock.apps.sessions.agents.values import AgentOutcome, AgentRun, Line
from interlock.apps.sessions.models import Result

from .lines import DONE, SESSION, WHOLE, init, result, retried, said, spelled, text, use, used

HERE = Path("nowhere")
RUN = AgentRun(HERE, HERE, CLAUDE, "Do it", "c1")


def read(content: bytes, *, at_once: int = 1 << 20) -> list[Line]:
    reader = LineReader()
    lines = [line for i in range(0, len(content), at_once) for line in reader.feed(content[i : i + at_once])]
    return [*lines, *reader.finish()]


def ended(
    content: bytes, exit_code: int | None = 0, stop: Stop | None = None, run: AgentRun = RUN, stderr: str = ""
) -> AgentOutcome:
    transcript = Transcript()
    for line in read(content):
        transcript.read(line)
    return outcome_of(run, transcript, Ending(exit_code, stop, stderr))


DENIED = {"tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": "touch x"}}
OVERLOADED = result(error=True, result="API Error: 529 Overloaded", api_error_status=529, terminal_reason="api_error")
UNKNOWN = ["No conversation found with session ID: c1"]
DENIAL = {"type": "system", "subtype": "permission_denied", "tool_name": "Bash", "tool_use_id": "toolu_1"}
LOST_SERVER = init(mcp_servers=[{"name": "sandbox", "status": "failed"}])
PARTS = [{"type": "stream_event", "event": {"type": "content_block_delta"}, "session_id": SESSION}] * 3
SCHEMA, PASSED = {**DONE, "structured_output": {"rate": 1}}, {**DONE, "permission_denials": [DENIED]}
CASES: dict[str, tuple[list[dict[str, Any]], int | None, Stop | None, Result, str]] = {
    "text": ([init(), said(text("Hello")), DONE], 0, None, Result.DONE, "done"),
    "mcp tool": (WHOLE, 0, None, Result.DONE, "done"),
    "first prompt": ([init(), said(text("Hello")), DONE], 0, None, Result.DONE, "done"),
    "resumed": ([init(), said(text("Ann")), DONE], 0, None, Result.DONE, "done"),
    "partial messages": ([init(), *PARTS, said(text("Hello")), DONE], 0, None, Result.DONE, "done"),
    "json schema": ([init(), said(use("StructuredOutput")), used(), SCHEMA], 0, None, Result.DONE, "done"),
    "permission denied": ([init(), said(use("Bash")), DENIAL, used(), PASSED], 0, None, Result.DONE, "done"),
    "server failed": ([LOST_SERVER, said(text("I did it")), DONE], 0, None, Result.FAILED, "mcp_failed"),
    "turns": ([init(), said(use()), used(), result("error_max_turns", error=True, errors=["Reached maximum"])], 1, None,
              Result.FAILED, "max_turns"),
    "budget": ([init(), said(use()), used(), result("error_max_budget_usd", error=True, errors=["Reached"])], 1, None,
               Result.FAILED, "max_budget"),
    "overloaded": ([init(), retried(529, 1), retried(529, 2), OVERLOADED], 1, None, Result.FAILED, "api_error"),
    "key refused": ([init(), retried(401, 1)], -2, Stop.KEY_REFUSED, Result.FAILED, "key_refused"),
    "unknown conversation": ([result("error_during_execution", error=True, errors=UNKNOWN)], 1, None, Result.FAILED,
                             "bad_resume"),
    "terminated": ([init()], 143, None, Result.FAILED, "killed"),
    # and what else may happen
    "no schema": ([init(), result("error_max_structured_output_retries", error=True)], 1, None, Result.FAILED,
                  "bad_output"),
    "interrupted": ([init(), result("error_during_execution", error=True, terminal_reason="aborted_streaming")], 1,
                    Stop.CANCELLED, Result.CANCELLED, "cancelled"),
    "success, then a crash": ([init(), DONE], 1, None, Result.FAILED, "exit_code"),
    "success, then hangs": ([init(), DONE], -9, Stop.NO_EXIT, Result.DONE, "done"),
    "nothing at all": ([], 1, None, Result.FAILED, "exit_code"),
    "nothing, and zero": ([], 0, None, Result.FAILED, "exit_code"),
    "silence": ([init()], -9, Stop.SILENT, Result.FAILED, "silent"),
    "no start": ([], -9, Stop.NO_START, Result.FAILED, "no_start"),
    "too long": ([init()], -9, Stop.TIME, Result.FAILED, "time"),
    "too much": ([init()], -9, Stop.OUTPUT, Result.FAILED, "output"),
    "worker lost": ([init(), said(text("Hm"))], None, Stop.LOST, Result.UNKNOWN, "lost"),
    "worker lost after the result": (WHOLE, None, Stop.LOST, Result.DONE, "done"),
    "cancelled without a result": ([init()], -15, Stop.CANCELLED, Result.CANCELLED, "cancelled"),
    "a key refused once": ([init(), retried(401, 1), DONE], 0, None, Result.DONE, "done"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_each_case_has_the_right_outcome_in_a_sentence(case: str) -> None:
    lines, code, stop, wanted, reason = CASES[case]
    found = ended(spelled(lines), code, stop)
    assert (found.result, found.reason) == (wanted, reason), found.sentence
    assert reason in REASONS
    assert found.sentence[0].isupper()
    assert found.sentence.endswith(".")


def test_a_denied_call_is_counted_once_and_named() -> None:
    found = ended(spelled(CASES["permission denied"][0]))
    assert [one.tool for one in found.denials] == ["Bash"]
    assert found.sentence.endswith("1 tool call was denied (Bash).")


def test_tokens_of_one_answer_count_once() -> None:
    lines = [init(), said(text("I look.")), said(use()), said(text("Done."), named="msg_2")]
    assert ended(spelled(lines), None, Stop.LOST).usage.total == 240


def test_the_cost_of_a_prompt_is_the_difference() -> None:
    bare = {name: value for name, value in DONE.items() if name != "model_usage_since_last_result"}
    run = AgentRun(HERE, HERE, CLAUDE, "Do it", "c1", spent_before_usd=0.001)
    found = ended(spelled([init(), bare]), run=run)
    assert found.cost_usd == pytest.approx(0.0002)
    assert found.conversation_cost_usd == pytest.approx(0.0012)


@pytest.mark.parametrize("cost", ["free", -1, float("inf"), True, None, 1e300])
def test_a_cost_that_is_no_amount_is_unknown(cost: Any) -> None:
    bare = {**DONE, "total_cost_usd": cost, "model_usage_since_last_result": {}}
    found = ended(json.dumps(bare).encode())
    assert (found.cost_usd, found.conversation_cost_usd) == (None, None)


# -- lines that nobody foresaw


@given(st.data())
def test_a_transcript_that_is_cut_anywhere_is_never_finished_work(data: Any) -> None:
    content = spelled(WHOLE)
    cut = data.draw(st.integers(0, len(content) - len(spelled([DONE]))))
    found = ended(content[:cut], data.draw(st.sampled_from([0, 1, 143, -9, None])))
    assert found.result is not Result.DONE


@given(st.integers(1, 400))
def test_lines_are_the_same_however_they_arrive(size: int) -> None:
    content = b"\r\n \nno json {\n\xff\xfe\x00\n" + spelled(WHOLE) + b'{"type": "half'
    assert read(content, at_once=size) == read(content)


def test_lines_that_are_no_json_and_types_that_nobody_knows_are_kept() -> None:
    odd = b'Warning: no stdin\n[1,2]\n{"type": 7}\n{"no": "type"}\n{"type": "weather", "subtype": "rain"}\n{broken\n'
    lines = read(odd + spelled([init(), DONE]))
    assert [one.kind for one in lines] == [
        *("text", "text", "unknown", "unknown", "weather/rain", "text", "system/init", "result/success"),
    ]
    assert ended(odd + spelled([init(), DONE])).result is Result.DONE


def test_a_line_of_two_megabytes_is_whole_and_one_beyond_the_limit_is_cut() -> None:
    big = read(spelled([used("x" * 2_000_000)]))
    assert (len(big), big[0].cut, len(big[0].text) > 2_000_000) == (1, False, True)
    assert big[0].data is not None
    huge, after = read(b'{"a":"' + b"x" * (MAX_LINE + 10) + b'"}\n{"type":"result"}\n')
    assert (huge.cut, huge.data, len(huge.text), after.seq, after.kind) == (True, None, MAX_LINE, 2, "result")


NESTED = b'{"a":' * 5000 + b"1" + b"}" * 5000


@pytest.mark.parametrize("deep", [NESTED, b'{"a":"\\ud800"}', b'{"a":1e999}', b"{" * 100_000])
def test_json_that_breaks_readers_breaks_nothing(deep: bytes) -> None:
    line = parse(1, deep)
    assert line.text
    assert ended(deep + b"\n" + spelled(WHOLE)).result is Result.DONE


NAMES = st.sampled_from(sorted({**init(), **DONE, **said(), **used()}))
VALUES = st.none() | st.integers() | st.text() | st.lists(st.text()) | st.dictionaries(st.text(), st.text())


@given(st.dictionaries(NAMES, VALUES))
def test_fields_of_the_wrong_type_raise_nothing(fields: dict[str, Any]) -> None:
    for kind in ("system", "assistant", "user", "result"):
        found = ended(json.dumps({"type": kind, **fields}).encode(), 0)
        assert found.sentence
