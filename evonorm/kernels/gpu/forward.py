"""The kernels of forward: passes that find moments or write y, and in between those that merge what passes found."""

from evonorm.kernels.gpu.rows import RawRow, Rows, quantities_of
from evonorm.kernels.gpu.scope import Scope
from evonorm.kernels.gpu.text import CHANNELS, PASS, ROWS, KernelText, kernel_text
from evonorm.kernels.plan.levels import Level
from evonorm.kernels.plan.values import Kind

OVER = {"wh": "{0}", "whcg": "total({0}, in_channels, 1)", "whc": "over_sample({0}, in_channels)"}


class Forward:
    """Builds the kernels in the order in which they run."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.plan = rows, rows.plan
        self.levels = self.plan.forward_levels

    def kernels(self) -> list[KernelText]:
        found: list[KernelText | None] = []
        for phase in range(1 + max(level[0] for level in self.levels)):
            found.append(self._channels(phase))
            last = max((level[1] for level in self.levels if level[0] == phase), default=0)
            for stage in range(last + 1):
                found += [self._rows((phase, stage)), self._pass((phase, stage))]
        found.append(self._constants())
        return [each for each in found if each is not None]

    def _pass(self, level: Level) -> KernelText | None:
        """Moments of what is complete here, for each slice; or the output."""
        sources = [source for source in self.plan.moment_sources if self.levels[source] == level]
        writes = self.levels[self.plan.output] == level
        if not sources and not writes:
            return None
        scope = Scope(self.rows, inside=Kind.FULL)
        for source in sources:
            find_moments(scope, source, quantities_of(self.plan, source))
        if writes:
            y = scope.value(self.plan.output)
            scope.each.append(f"tl.store({scope.pointer('y')} + at, {y}, mask=valid)")
        what = " and ".join(["moments of each slice"] * bool(sources) + ["y"] * writes)
        return kernel_text(scope, f"forward_pass_{level[0]}_{level[1]}", PASS, f"Writes {what}.")

    def _rows(self, level: Level) -> KernelText | None:
        """Moments inside a sample: slices merged, then the channels of a group."""
        moments = self._moments_at(level, Kind.SAMPLE)
        if not moments:
            return None
        scope = Scope(self.rows, inside=None)
        merge_partials(scope, moments)
        for number in moments:
            self._sample_moment(scope, number)
        ties = frozenset(self.plan.values[number].index_set for number in moments)
        return kernel_text(scope, f"forward_rows_{level[0]}_{level[1]}", ROWS, "Moments inside each sample.", ties=ties)

    def _moments_at(self, level: Level, kind: Kind) -> list[int]:
        values = self.plan.values
        return [n for n, v in enumerate(values) if v.op == "moment" and v.kind == kind and self.levels[n] == level]

    def _sample_moment(self, scope: Scope, number: int) -> None:
        value = self.plan.values[number]
        source, index_set = value.inputs[0], value.index_set
        over = OVER[index_set].format
        channels = {"wh": "1", "whcg": "CPG", "whc": "C"}[index_set]
        for key in self.rows.raw(number):
            if key in scope.names:
                continue
            mean = scope.names.get((source, index_set, "mean"), "")
            text = over(self._term(scope, key, mean))
            text = text if index_set == "wh" else f"per({text}, {channels})"
            name = scope.define(key, f"{key[2]}{source}_{index_set}", text, value.kind)
            row = self.rows.kept[Kind.SAMPLE].of(key)
            wide = f"tl.broadcast_to({name}, (BLOCK_SPANS, BLOCK_SPAN))"
            scope.once.append(scope.store("kept_samples", Kind.SAMPLE, row, wide))

    def _term(self, scope: Scope, key: RawRow, mean: str) -> str:
        """What a channel brings to a moment of its span; `mean` is that of the span."""
        source, index_set, quantity = key
        if not self.plan.is_full(source):
            t = scope.value(source)
            return {"mean": t, "square": f"{t} * {t}", "variance": squared(f"{t} - {mean}")}[quantity]
        if quantity == "square":
            return f"per(square{source}, P)"
        own = scope.define(("own", source), f"own{source}", f"per(sum{source}, P)", Kind.SAMPLE)
        if quantity == "mean":
            return own
        inside = f"per(m2_{source}, P)"
        return inside if index_set == "wh" else f"{inside} + {squared(f'{own} - {mean}')}"

    def _channels(self, phase: int) -> KernelText | None:
        """Moments over the batch, from all slices of all samples."""
        moments = self._moments_at((phase, 0), Kind.CHANNEL)
        if not moments:
            return None
        scope = Scope(self.rows, inside=Kind.SAMPLE)
        merge_partials(scope, moments)
        for source in dict.fromkeys(self.plan.values[number].inputs[0] for number in moments):
            if not self.plan.is_full(source):
                find_moments_of_rows(scope, source, quantities_of(self.plan, source))
        scope.leave_loop()
        for key in dict.fromkeys(key for number in moments for key in self.rows.raw(number)):
            name = {"mean": "sum", "square": "square", "variance": "m2_"}[key[2]] + str(key[0])
            row = self.rows.kept[Kind.CHANNEL].of(key)
            scope.after.append(scope.store("kept_channels", Kind.CHANNEL, row, f"per({name}, tl.maximum(B * P, 1))"))
        scope.after.append(f"tl.store({scope.pointer('count')}, tl.full((), 1.0, tl.float32) * B * P)")
        keys = dict.fromkeys(self.rows.raw(number) for number in moments)
        exchange = tuple(tuple(self.rows.kept[Kind.CHANNEL].of(key) for key in each) for each in keys)
        return kernel_text(scope, f"forward_channels_{phase}", CHANNELS, "Moments over the batch.", exchange=exchange)

    def _constants(self) -> KernelText | None:
        """Reports of what does not vary over the batch: v, v squared, 0.

        Last, and by themselves: v may depend on moments that other ranks, or other threads, had a share in.
        """
        constants = [(place, export) for place, export in enumerate(self.plan.exports) if export.of_constant]
        if not constants:
            return None
        scope = Scope(self.rows, inside=None)
        for place, export in constants:
            value = scope.value(export.source)
            raw = {"mean": value, "rms": f"{value} * {value}", "std": "0.0"}[export.moment]
            wide = f"tl.zeros((1, BLOCK_C), tl.float32) + {raw}"
            scope.once.append(scope.store("kept_channels", Kind.CHANNEL, self.rows.export(place), wide))
        return kernel_text(scope, "forward_constants", CHANNELS, "Moments of what does not vary over the batch.")


def squared(text: str) -> str:
    return f"({text}) * ({text})"


def find_moments(scope: Scope, source: int, quantities: tuple[str, ...]) -> None:
    """Sums over the elements of a slice, and what the pass leaves of them."""
    t, place = scope.value(source), scope.rows.forward_partials.of
    results = {}
    if "variance" in quantities:
        sums = f"{scope.sum(f'sum{source}')}, {scope.sum(f'm2_{source}')}"
        scope.each.append(f"{sums} = add_elements({sums}, seen, {t}, valid, size)")
        results["variance"] = f"m2_{source}"
    elif "mean" in quantities:
        scope.each.append(f"{scope.sum(f'sum{source}')} += total({t}, valid, 1)")
    if "mean" in quantities:
        results["mean"] = f"per(sum{source}, last - first)"
    if "square" in quantities:
        scope.each.append(f"{scope.sum(f'square{source}')} += total({t} * {t}, valid, 1)")
        results["square"] = f"per(square{source}, last - first)"
    for quantity, text in results.items():
        store_partial(scope, place((source, quantity)), text)


def store_partial(scope: Scope, row: int, text: str) -> None:
    sample = f"({row} * B + sample)" if row else "sample"
    at = f"{scope.pointer('partials')} + ({sample} * S + first // SLICE) * C + channel"
    scope.after.append(f"tl.store({at}, {text}, mask=in_channels)")


def load_partial(scope: Scope, row: int) -> str:
    at = f"{row} * stride + at" if row else "at"
    return f"tl.load({scope.pointer('partials')} + {at}, mask=valid, other=0.0)"


def merge_partials(scope: Scope, moments: list[int]) -> None:
    """From slices to a row of a sample (in a kernel of rows) or to one of all samples (in a kernel of channels)."""
    plan, place = scope.plan, scope.rows.forward_partials.of
    by_channels = scope.inside == Kind.SAMPLE
    for source in dict.fromkeys(plan.values[number].inputs[0] for number in moments):
        if not plan.is_full(source):
            continue
        quantities = quantities_of(plan, source)
        for quantity in quantities:
            name = {"variance": "m2"}.get(quantity, quantity)
            scope.splits.append(f"{name} = {load_partial(scope, place((source, quantity)))}")
            if quantity == "square" or (quantity == "mean" and "variance" not in quantities):
                name = scope.sum(("sum" if quantity == "mean" else "square") + str(source))
                new = f"total({quantity} * size, valid, 0)" if by_channels else f"{quantity} * size"
                scope.splits.append(f"{name} += {new}")
        if "variance" in quantities:
            sums = f"{scope.sum(f'sum{source}')}, {scope.sum(f'm2_{source}')}"
            new = "mean, m2, size, valid" if by_channels else "mean * size, m2, size"
            scope.splits.append(f"{sums} = {'add_rows' if by_channels else 'merge'}({sums}, seen, {new})")


def find_moments_of_rows(scope: Scope, source: int, quantities: tuple[str, ...]) -> None:
    """Sums over all samples of a value that is the same all over a sample's plane."""
    t = scope.value(source)
    if "variance" in quantities:
        sums = f"{scope.sum(f'sum{source}')}, {scope.sum(f'm2_{source}')}"
        scope.each.append(f"{sums} = add_rows({sums}, seen, {t}, 0.0, size, present)")
    elif "mean" in quantities:
        scope.each.append(f"{scope.sum(f'sum{source}')} += total({t} * size, present, 0)")
    if "square" in quantities:
        scope.each.append(f"{scope.sum(f'square{source}')} += total({t} * {t} * size, present, 0)")
