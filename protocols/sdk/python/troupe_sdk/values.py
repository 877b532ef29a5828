"""JSON values from the generated dataclasses, and back."""
import keyword
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, List, Union, get_type_hints

from .types import NEEDED_NULLS

__all__ = ["from_json", "to_json"]


def to_json(value: Any) -> Any:
    """The JSON form of a dataclass, without unset fields; other values unchanged."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        members = [(field.name, getattr(value, field.name)) for field in fields(value)]
        return {
            _json_name(kind, name): to_json(item)
            for name, item in members
            if item is not None or (kind.__name__, name) in NEEDED_NULLS
        }
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    return value


def from_json(kind: Any, value: Any) -> Any:
    """A value of one of the generated dataclasses.

    What it does not know is left out or kept as JSON has it: the other side may be newer.
    """
    origin = getattr(kind, "__origin__", None)
    arguments = getattr(kind, "__args__", ())
    if value is None:
        return None
    if origin is Union:
        return from_json(next(part for part in arguments if part is not type(None)), value)
    if origin in (list, List) and isinstance(value, list):
        return [from_json(arguments[0], item) for item in value]
    if not isinstance(kind, type):
        return value
    if issubclass(kind, Enum):
        return kind(value) if any(value == known.value for known in kind) else value
    if is_dataclass(kind) and isinstance(value, dict):
        hints = get_type_hints(kind)
        return kind(
            **{
                field.name: from_json(hints[field.name], value.get(_json_name(kind, field.name)))
                for field in fields(kind)
            }
        )
    return value


def _json_name(kind: type, name: str) -> str:
    """The name of the field; a Python keyword is prefixed by the class name."""
    _, _, rest = name.partition("_")
    return rest if name.startswith(kind.__name__.lower()) and keyword.iskeyword(rest) else name
