"""Tables written as classes, as the ORM has them, and nothing else of the ORM.

We ask for rows and never map them, and mappers for twenty tables are a sixth of the server's
start. So the type checker sees SQLAlchemy's own declarations, and what runs is this: each class has
its columns as attributes, and stands for its table in a statement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import sqlalchemy as sa

from modeldyno.store.columns import Moment

__all__ = ("Declared", "Mapped", "mapped_column")

if TYPE_CHECKING:
    from sqlalchemy.orm import Mapped, mapped_column
else:

    class Mapped:
        """Only written, as ``name: Mapped[str | None]``; the annotation is read as text."""

    @dataclass(frozen=True)
    class mapped_column:
        """What the type alone does not say. Each table makes a column of its own from it."""

        args: tuple
        more: dict

        def __init__(self, *args: Any, **more: Any) -> None:
            object.__setattr__(self, "args", args)
            object.__setattr__(self, "more", more)


TYPES: dict[str, Any] = {
    "int": sa.Integer(),
    "str": sa.Text(),
    "bool": sa.Boolean(),
    "float": sa.Float(53),
    "datetime": Moment(),
    "Json": sa.JSON(none_as_null=True),
    "list[Json]": sa.JSON(none_as_null=True),
}


class Declared:
    """The base of a table's class; what it inherits beside it are columns that several share."""

    metadata: ClassVar[sa.MetaData]
    __tablename__: ClassVar[str]
    __table_args__: ClassVar[tuple[Any, ...]] = ()
    __table__: ClassVar[sa.Table]

    def __init_subclass__(cls) -> None:
        if "__tablename__" not in vars(cls):
            return
        said = {name: text for one in reversed(cls.__mro__) for name, text in _mapped(one).items()}
        columns = [_column(name, text, getattr(cls, name, None)) for name, text in said.items()]
        options = [one for one in cls.__table_args__ if isinstance(one, dict)]
        parts = [one for one in cls.__table_args__ if not isinstance(one, dict)]
        merged = {name: value for one in options for name, value in one.items()}
        cls.__table__ = sa.Table(cls.__tablename__, cls.metadata, *columns, *parts, **merged)
        for column in cls.__table__.c:
            setattr(cls, column.name, column)

    @classmethod
    def __clause_element__(cls) -> sa.Table:
        """What SQLAlchemy takes the class for."""
        return cls.__table__


def _mapped(cls: type) -> dict[str, str]:
    """Annotations of columns, by name: ``"str | None"``."""
    found = vars(cls).get("__annotations__", {})
    return {name: text[7:-1] for name, text in found.items() if text.startswith("Mapped[")}


def _column(name: str, text: str, given: Any) -> sa.Column[Any]:
    args, more = (given.args, given.more) if given is not None else ((), {})
    plain = text.removesuffix(" | None")
    is_typed = any(isinstance(one, sa.types.TypeEngine) for one in args)
    kind = () if is_typed else (TYPES[plain],)
    nullable = more.get("nullable", text != plain)
    return sa.Column(name, *kind, *map(_own, args), **{**more, "nullable": nullable})


def _own(part: Any) -> Any:
    """A reference belongs to one column, and what is shared becomes a column of several tables."""
    if isinstance(part, sa.ForeignKey):
        return sa.ForeignKey(part.target_fullname, ondelete=part.ondelete)
    return part
