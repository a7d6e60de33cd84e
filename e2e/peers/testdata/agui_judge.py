"""Reads AG-UI frames with the protocol's own models for Python (ag-ui-protocol).

    python agui_judge.py < frames

Standard input is what a stream consists of, one after the other. Each frame must be an event of
the models without coercion, and without a member that they do not know. Writes how many there
were of each type, as JSON.
"""

import json
import sys
from collections import Counter

from ag_ui.core import Event
from pydantic import BaseModel, TypeAdapter

events = TypeAdapter(Event)


def unknown(value, at=""):
    """Yields the members that no model knows; a value that is anything may hold what it likes."""
    if isinstance(value, BaseModel):
        for name in value.model_extra or {}:
            yield f"{at}/{name}"
        for name in type(value).model_fields:
            yield from unknown(getattr(value, name), f"{at}/{name}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from unknown(item, f"{at}/{i}")


seen = Counter()
for frame in sys.stdin.read().removesuffix("\n\n").split("\n\n"):
    text = frame.removeprefix("data: ")
    try:
        event = events.validate_json(text, strict=True)
    except ValueError as error:
        sys.exit(f"{error}\n{frame}")
    if extra := list(unknown(event)):
        sys.exit(f"no model knows {extra}\n{frame}")
    seen[json.loads(text)["type"]] += 1
print(json.dumps(seen))
