"""Objects in responses: dicts whose fields are attributes too."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Dict, FrozenSet, List, Mapping, Sequence, Tuple, Type, Union, cast


class Resource(Dict[str, Any]):
    """An object of the API: `thread.last_message_at` is `thread["lastMessageAt"]`.

    Attributes have the names of the fields in snake_case, followed by an underscore if the name is
    a Python keyword (`from_`). An optional field that the service omitted is None as an attribute,
    and missing from the dict.
    """

    _nested: ClassVar[Mapping[str, Kind]] = {}
    """The classes of fields that contain objects."""

    def __init__(self, *fields: Any, **more: Any) -> None:
        super().__init__(*fields, **more)
        for name, kind in self._nested.items():
            if name in self:
                self[name] = built(kind, self[name])

    # Hidden from type checkers, which report misspelled attributes.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if not name.startswith("_"):
                for key in keys_of(name):
                    if key in self:
                        return self[key]
                if name in attributes_of(type(self)):
                    return None
            raise AttributeError(
                f"{type(self).__name__} has no attribute {name!r}. It has {', '.join(names_of(self))}.",
                name=name,
                obj=self,
            )

        def __setattr__(self, name: str, value: Any) -> None:
            raise AttributeError(
                f"{type(self).__name__}.{name} cannot be set. The update methods of the client change "
                "resources; an item of the dict can be set.",
            )

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *names_of(self)]


class OneOf:
    """A union: the first class whose field has the value or, without a value, exists."""

    def __init__(self, *cases: Tuple[str, Union[str, None], Type[Resource]]) -> None:
        self._cases = cases

    def __call__(self, fields: Mapping[str, Any]) -> Resource:
        for name, value, kind in self._cases:
            if name in fields and value in (None, fields[name]):
                return kind(fields)
        # Newer services may return other kinds.
        return Resource(fields)


Kind = Union[Type[Resource], OneOf]


def built(kind: Kind, value: Any) -> Any:
    """The object with its class, or the objects of a list; other values are unchanged."""
    if isinstance(value, list):
        return [built(kind, one) for one in cast(Sequence[Any], value)]
    if not isinstance(value, dict) or (isinstance(kind, type) and isinstance(value, kind)):
        return cast(Any, value)
    return kind(cast(Dict[str, Any], value))


@lru_cache(maxsize=2048)
def keys_of(name: str) -> Tuple[str, str, str]:
    """The keys to try for an attribute. Most fields of events are snake_case on the wire, all others camelCase."""
    bare = name[:-1] if name.endswith("_") else name
    return name, bare, re.sub(r"_([a-z0-9])", lambda found: found[1].upper(), bare)


@lru_cache(maxsize=None)
def attributes_of(kind: Type[Resource]) -> FrozenSet[str]:
    """The attributes that a class declares."""
    return frozenset(
        name
        for one in kind.__mro__
        if issubclass(one, Resource)
        for name in getattr(one, "__annotations__", {})
        if not name.startswith("_")
    )


def names_of(fields: Resource) -> List[str]:
    declared = attributes_of(type(fields))
    known = {key for name in declared for key in keys_of(name)}
    return sorted({*declared, *(key for key in fields if key not in known and key.isidentifier())})
