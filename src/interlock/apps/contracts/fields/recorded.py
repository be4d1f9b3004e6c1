"""A model's answers from a file, so that what it brings can be measured without asking it again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from interlock.apps.contracts.fields.errors import BadLabels
from interlock.apps.contracts.fields.evaluate import SecondReader
from interlock.apps.contracts.fields.extract.candidate import Candidate
from interlock.apps.contracts.fields.model_reader import Answers, agreed
from interlock.apps.contracts.fields.vertical import Vertical
from interlock.apps.contracts.reading import Document

_FILE: TypeAdapter[dict[str, list[Answers] | Answers]] = TypeAdapter(dict[str, list[Answers] | Answers])
MOST_BYTES = 200_000_000


def recorded(path: Path) -> SecondReader:
    """A second reader that says what the file has: `{"a.pdf": {"answers": [...]}}`, or a list of samples a file."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BadLabels(f"{path} has more than {MOST_BYTES:,} bytes; divide it")
        said = _FILE.validate_python(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, ValidationError) as error:
        raise BadLabels(f"{path} cannot be read as a model's answers: {error}") from error

    def read(name: str, document: Document, vertical: Vertical) -> Mapping[str, Sequence[Candidate]]:
        samples = said.get(name, [])
        given = samples if isinstance(samples, list) else [samples]
        return {field.name: agreed(document, vertical, field, given) for field in vertical.fields}

    return read
