"""The kernels of backward: everything is computed again from x, gy and the kept moments; grad_x is written once.

Passes sum what flows into small values, slice by slice; kernels of rows and of channels add the slices up and send
adjoints on among small values. The adjoint of a moment is stored for its whole set, and who reads it divides: with
moments over all ranks the sums of all ranks are added in between.
"""

from evonorm.kernels.gpu.forward import OVER, load_partial, store_partial
from evonorm.kernels.gpu.rows import Rows
from evonorm.kernels.gpu.scope import SUFFIX, Scope
from evonorm.kernels.gpu.text import CHANNELS, PASS, ROWS, KernelText, kernel_text
from evonorm.kernels.plan.flows import summed_uses, with_full_users
from evonorm.kernels.plan.levels import Level, Use
from evonorm.kernels.plan.values import PARAMETERS, Kind


class Backward:
    """Builds the kernels in the order in which they run."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.plan = rows, rows.plan
        self.levels = self.plan.backward_levels
        self.partials: dict[int, list[int]] = {}  # small value -> the rows that passes have left for it

    def kernels(self) -> list[KernelText]:
        stages: dict[int, int] = {}
        for phase, stage in [*self.levels.values(), (0, 0)]:
            stages[phase] = max(stages.get(phase, 0), stage)
        found: list[KernelText | None] = []
        for phase in range(max(stages) + 1):
            found.append(self._small(Kind.CHANNEL, (phase, 0)))
            for stage in range(stages.get(phase, 0) + 1):
                found += [self._small(Kind.SAMPLE, (phase, stage)), self._pass((phase, stage))]
        return [each for each in found if each is not None]

    def _pass(self, level: Level) -> KernelText | None:
        """What flows into small values, summed over each slice; and grad_x where it is complete."""
        summed = summed_uses(self.plan, level)
        x = self.plan.x if self.plan.x is not None and self.levels.get(self.plan.x) == level else None
        if not summed and x is None:
            return None
        into_x = [] if x is None else [use for use in self.plan.users[x] if use[0] in self.levels]
        starts = [number for number, _ in [*summed, *into_x] if self.plan.is_full(number)]
        scope = Scope(self.rows, inside=Kind.FULL)
        for number in sorted(with_full_users(self.plan, starts), reverse=True):
            self._full_adjoint(scope, number)
            self._sum_flows(scope, number, summed, level)
        if x is not None:
            gx = " + ".join([scope.flow(*use) for use in into_x])
            scope.each.append(f"tl.store({scope.pointer('gx')} + at, {gx}, mask=valid)")
        what = " and ".join(["sums of what flows into small values"] * bool(summed) + ["grad_x"] * (x is not None))
        return kernel_text(scope, f"backward_pass_{level[0]}_{level[1]}", PASS, f"Writes {what}.")

    def _full_adjoint(self, scope: Scope, number: int) -> None:
        """All that flows into a full value; its users have theirs already."""
        if number == self.plan.output:
            text = f"tl.load({scope.pointer('gy')} + at, mask=valid, other=0.0).to(tl.float32)"
        else:
            uses = [use for use in self.plan.users[number] if use[0] in self.levels]
            text = " + ".join([scope.flow(*use) for use in uses])
        scope.define(("adjoint", number), f"g{number}", text, Kind.FULL)

    def _sum_flows(self, scope: Scope, number: int, summed: set[Use], level: Level) -> None:
        for position, i in enumerate(self.plan.values[number].inputs):
            if (number, position) not in summed:
                continue
            name = scope.sum(f"sum{i}")
            scope.each.append(f"{name} += total({scope.flow(number, position)}, valid, 1)")
            if (level, i) not in self.rows.backward_partials:
                row = self.rows.backward_partials.of((level, i))
                self.partials.setdefault(i, []).append(row)
                store_partial(scope, row, name)

    def _small(self, kind: Kind, level: Level) -> KernelText | None:
        """Adjoints of the small values of a kind that are complete here, and what follows from them."""
        numbers = [n for n in sorted(self.levels, reverse=True) if self._is_at(n, kind, level)]
        if not numbers:
            return None
        by_channels = kind == Kind.CHANNEL
        scope = Scope(self.rows, inside=Kind.SAMPLE if by_channels else None)
        for number in numbers:
            self._sum_partials(scope, number, by_channels)
            if by_channels:
                self._sum_samples(scope, number)
        scope.leave_loop()
        for number in numbers:
            self._small_adjoint(scope, number, kind)
        moments = [n for n in numbers if self.plan.values[n].op == "moment"]
        if by_channels:
            rows = tuple((self.rows.adjoints[kind].of(n),) for n in moments if self._is_read_elsewhere(n))
            return kernel_text(
                scope, f"backward_channels_{level[0]}", CHANNELS, "Adjoints over the batch.", exchange=rows
            )
        ties = frozenset(self.plan.values[n].index_set for n in moments)
        return kernel_text(scope, f"backward_rows_{level[0]}_{level[1]}", ROWS, "Adjoints of each sample.", ties=ties)

    def _is_at(self, number: int, kind: Kind, level: Level) -> bool:
        at = self.levels[number]
        same = at[0] == level[0] if kind == Kind.CHANNEL else at == level
        return same and self.plan.values[number].kind == kind

    def _sum_partials(self, scope: Scope, number: int, by_channels: bool) -> None:
        for row in self.partials.get(number, []):
            part = load_partial(scope, row)
            new = f"total({part}, valid, 0)" if by_channels else part
            scope.splits.append(f"{scope.sum(f'sum{number}')} += {new}")

    def _sum_samples(self, scope: Scope, number: int) -> None:
        """What flows into a value of a channel from those of each sample."""
        for use in self.plan.users[number]:
            if use[0] in self.levels and self.plan.values[use[0]].kind == Kind.SAMPLE:
                scope.each.append(f"{scope.sum(f'sum{number}')} += total({scope.flow(*use)}, present, 0)")

    def _small_adjoint(self, scope: Scope, number: int, kind: Kind) -> None:
        value = self.plan.values[number]
        uses = [use for use in self.plan.users[number] if use[0] in self.levels and self._is_row_use(use[0], kind)]
        terms = [f"sum{number}"] if f"sum{number}" in scope.sums else []
        terms += [scope.flow(*use) for use in uses]
        shape = "(1, BLOCK_C)" if kind == Kind.CHANNEL else "(BLOCK_SPANS, BLOCK_SPAN)"
        text = " + ".join(terms) or f"tl.zeros({shape}, tl.float32)"
        if value.op == "moment" and kind == Kind.SAMPLE:
            text = OVER[value.index_set].format(text)
        g = scope.define(("adjoint", number), f"g{number}", text, kind)
        wide = f"tl.broadcast_to({g}, {shape})"
        if value.op in PARAMETERS:
            scope.after.append(scope.store(f"grad_{value.op}", kind, None, wide))
        elif self._is_read_elsewhere(number):
            row = self.rows.adjoints[kind].of(number)
            scope.after.append(scope.store(f"adjoint_{SUFFIX[kind]}", kind, row, wide))

    def _is_row_use(self, user: int, kind: Kind) -> bool:
        """Whether a use is neither a sum over elements nor, for a value of a channel, one over samples."""
        user_kind = self.plan.values[user].kind
        return user_kind < Kind.FULL and not (kind == Kind.CHANNEL and user_kind == Kind.SAMPLE)

    def _is_read_elsewhere(self, number: int) -> bool:
        """Whether another kernel needs this adjoint: a pass, or the kernel of an input that is complete later."""
        value, values = self.plan.values[number], self.plan.values
        inputs = [i for i in value.inputs if i in self.levels]
        return any(values[i].kind != value.kind or self.levels[i] != self.levels[number] for i in inputs)
