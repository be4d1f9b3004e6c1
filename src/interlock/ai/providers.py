"""Requests to a model through pydantic-ai, which is imported only if a provider is configured: it takes 620 ms."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from interlock.ai import prices
from interlock.ai.errors import ModelError, ModelQuota, ModelRefused, ModelTimeout, ModelUnavailable
from interlock.config import AiSettings
from interlock.engine.text import shortened
from interlock.machine import InterlockError

HOME = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}
"""Fixed here, so that no environment variable can send the key elsewhere."""
TOOL = "answer"
FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n\s*```\s*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of the model, and its usage."""

    text: str
    """The answer as JSON, if the model followed the schema."""
    refused: str | None
    cut: bool
    """Whether it stopped because it had no tokens left."""
    input_tokens: int | None
    output_tokens: int | None
    cost: int | None


def require() -> None:
    """Raise an error if the library is not installed."""
    if find_spec("pydantic_ai") is None:
        raise InterlockError("ai.provider needs the extra ai: pip install 'interlock[ai]'")


def load(provider: str) -> None:
    """Import what a call needs. It takes a second or two the first time, so call it where nothing waits."""
    import_module("pydantic_ai.direct")
    import_module(f"pydantic_ai.models.{provider}")


class Conversation:
    """One question, and one chance to correct the answer."""

    def __init__(self, settings: AiSettings, model: Any, name: str, most: int, parameters: Any, first: Any) -> None:
        self._settings, self._model, self._name, self._most = settings, model, name, most
        self._parameters, self._messages = parameters, [first]

    async def ask(self) -> Reply:
        """Send one request, with a time limit. Raises ModelError."""
        from pydantic_ai import ModelSettings
        from pydantic_ai.direct import model_request

        wait = self._settings.timeout
        try:
            async with asyncio.timeout(wait):
                response = await model_request(
                    self._model,
                    self._messages,
                    model_settings=ModelSettings(max_tokens=self._most, timeout=wait, max_retries=0),
                    model_request_parameters=self._parameters,
                    instrument=False,
                )
        except Exception as error:
            raise translated(error, self._name, wait) from error
        self._messages.append(response)
        return self._read(response)

    def _read(self, response: Any) -> Reply:
        from pydantic_ai.messages import TextPart, ToolCallPart

        usage = response.usage
        measured = not usage.unmeasured_requests and (usage.input_tokens or usage.output_tokens)
        words = "\n".join(part.content for part in response.parts if isinstance(part, TextPart))
        calls = [part for part in response.parts if isinstance(part, ToolCallPart) and part.tool_name == TOOL]
        found = FENCE.match(words)
        refused = response.finish_reason == "content_filter"
        return Reply(
            # Small models often write the answer as text instead of calling the tool; it is validated all the same.
            text=_arguments(calls[0].args) if calls else found[1] if found else words,
            refused=(words or str((response.provider_details or {}).get("refusal") or "")) if refused else None,
            cut=response.finish_reason == "length",
            input_tokens=usage.input_tokens if measured else None,
            output_tokens=usage.output_tokens if measured else None,
            cost=prices.cost_of(self._settings, self._name, usage) if measured else None,
        )

    def complain(self, problem: str) -> None:
        """Tell the model what was wrong with its answer."""
        from pydantic_ai.messages import ModelRequest, ToolCallPart, ToolReturnPart, UserPromptPart

        said = f"The answer does not fit: {problem}\nCall the tool `{TOOL}` once more, with all of it put right."
        called = [part for part in self._messages[-1].parts if isinstance(part, ToolCallPart)]
        parts: list[Any] = [
            ToolReturnPart(tool_name=part.tool_name, content=said, tool_call_id=part.tool_call_id, outcome="retried")
            for part in called
        ]
        self._messages.append(
            ModelRequest(parts=parts or [UserPromptPart(said)], instructions=self._messages[0].instructions)
        )


def _arguments(given: Any) -> str:
    return given if isinstance(given, str) else json.dumps(given)


@asynccontextmanager
async def conversation(
    settings: AiSettings, name: str, *, instructions: str, message: str, schema: dict[str, Any], most: int
) -> AsyncIterator[Conversation]:
    """A connection for one question. It is not shared: handlers run on several event loops, a client on one."""
    import httpx2
    from pydantic_ai import ToolDefinition
    from pydantic_ai.messages import ModelRequest, UserPromptPart
    from pydantic_ai.models import ModelRequestParameters

    tool = ToolDefinition(
        name=TOOL, parameters_json_schema=schema, description="Give the answer. Call it exactly once.", kind="output"
    )
    parameters = ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
    first = ModelRequest(parts=[UserPromptPart(message)], instructions=instructions)
    async with httpx2.AsyncClient(timeout=settings.timeout) as client:
        model = _model(settings, name, client)
        yield Conversation(settings, model, name, most, parameters, first)


def _model(settings: AiSettings, name: str, client: Any) -> Any:
    where = settings.base_url or HOME[settings.provider]
    key = settings.api_key.get_secret_value() if settings.api_key is not None else "none"
    if settings.provider == "anthropic":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        # Gateways read the key from the older header.
        headers = {"x-api-key": key} if settings.base_url is not None else None
        theirs = AsyncAnthropic(
            base_url=where,
            api_key=key,
            default_headers=headers,
            http_client=client,
            max_retries=0,
            timeout=settings.timeout,
        )
        return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=theirs))
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    ours = AsyncOpenAI(base_url=where, api_key=key, http_client=client, max_retries=0, timeout=settings.timeout)
    return OpenAIChatModel(name, provider=OpenAIProvider(openai_client=ours))


def _message(body: Any) -> str | None:
    """The message in the provider's error, in either protocol."""
    inner = body.get("error", body) if isinstance(body, dict) else None
    found = inner.get("message") if isinstance(inner, dict) else None
    return found if isinstance(found, str) else None


def translated(error: BaseException, model: str, wait: float) -> ModelError:
    """The error as a ModelError, with the provider's message and without secrets."""
    from pydantic_ai import exceptions as theirs

    asked, status = getattr(error, "retry_after", None), getattr(error, "status_code", None)
    later = timedelta(seconds=float(asked)) if asked is not None else None
    words = _message(getattr(error, "body", None)) or str(error) or type(error).__name__
    if isinstance(error, theirs.ModelConnectionError) and error.__cause__ is not None:
        deeper = error.__cause__.__cause__ or error.__cause__
        words = f"{words.rstrip('.')} ({deeper or type(deeper).__name__})"
    said = f"{model}{f' answered {status}' if status else ''}: {shortened(words, 800)}"
    match error:
        case TimeoutError() | theirs.ModelTimeoutError() | theirs.ModelRequestTimeout():
            return ModelTimeout(f"{model} gave no answer within {wait:g} s (ai.timeout)")
        case theirs.ModelRateLimitError() | theirs.ModelQuotaExceededError():
            return ModelQuota(said, retry_after=later)
        case theirs.ModelRequestRejectedError() | theirs.ContentFilterError() | theirs.UserError():
            return ModelRefused(said)
        case theirs.ModelHTTPError() if status == 408:
            return ModelTimeout(said, retry_after=later)
        case theirs.ModelHTTPError() if status == 429:
            return ModelQuota(said, retry_after=later)
        case theirs.ModelHTTPError() if status is not None and 400 <= status < 500:
            return ModelRefused(said)
    # Server errors, broken connections, and servers that do not follow the protocol.
    return ModelUnavailable(said, retry_after=later)
