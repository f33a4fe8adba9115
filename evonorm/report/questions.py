"""SQL questions to a journal, each one short transaction: a reader never holds up the search that writes."""

from typing import Any

from evonorm.journal import Reader, explained


def ask(reader: Reader, question: str, values: tuple[Any, ...] = ()) -> list[Any]:
    with explained(reader.path):
        return reader.connection.execute(question, values).fetchall()
