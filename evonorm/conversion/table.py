"""What was found about a model's normalizations, and what becomes of each: values to read, print and keep."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import overload

CONVERT, AFFINE, KEEP, LEAVE = "layer", "layer without activation", "keep", "leave alone"


@dataclass(frozen=True)
class Position:
    """A normalization of a model.

    Attributes:
        name: of the module, as in `model.named_modules()`.
        norm: what it is, such as `BatchNorm2d(64)`.
        channels: how many it normalizes; 0 if that is not known.
        activation: what stands behind it, such as `relu`; empty if nothing does.
        where: how the activation was found: as a module, as a call in some code, inside the normalization.
        action: `layer`, `layer without activation`, `keep` or `leave alone`.
        why: for what is kept or left alone.
    """

    name: str
    norm: str
    channels: int
    activation: str
    where: str
    action: str
    why: str = ""


class Positions(Sequence[Position]):
    """Every normalization of a model, in the order in which they run. Prints as a table."""

    def __init__(self, rows: Sequence[Position], remarks: Sequence[str] = ()) -> None:
        self.rows, self.remarks = tuple(rows), tuple(remarks)

    @overload
    def __getitem__(self, index: int) -> Position: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Position, ...]: ...

    def __getitem__(self, index: int | slice) -> Position | tuple[Position, ...]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Position]:
        return iter(self.rows)

    def with_action(self, *actions: str) -> tuple[Position, ...]:
        return tuple(row for row in self.rows if row.action in actions)

    @property
    def summary(self) -> str:
        """How many there are of each action."""
        counts = [(len(self.with_action(action)), action) for action in (CONVERT, AFFINE, KEEP, LEAVE)]
        return f"{len(self.rows)} normalizations: " + ", ".join(f"{n} x {action}" for n, action in counts if n)

    def as_dicts(self) -> list[dict[str, str | int]]:
        """The rows as plain data, for JSON."""
        return [asdict(row) for row in self.rows]

    def _cells(self) -> list[tuple[str, ...]]:
        head = ("name", "normalization", "activation", "found", "becomes")
        return [
            head,
            *(
                (
                    row.name,
                    row.norm,
                    row.activation or "-",
                    row.where,
                    f"{row.action}: {row.why}" if row.why else row.action,
                )
                for row in self.rows
            ),
        ]

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([*lines, self.summary, *self.remarks])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head, *body = self._cells()
        top = "".join(f"<th style='text-align:left'>{escape(cell)}</th>" for cell in head)
        rows = "".join(
            "<tr>" + "".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in line) + "</tr>"
            for line in body
        )
        below = "".join(f"<p>{escape(text)}</p>" for text in (self.summary, *self.remarks))
        return f"<table><thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table>{below}"
