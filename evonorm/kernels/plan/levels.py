"""When a value, and later its adjoint, is complete: what any device must wait for.

Level (phase, stage) of a value: a moment over the batch of something that varies opens a new phase, since all samples
must be through; a moment inside a sample opens a new stage, so that whoever runs one sample runs all its stages while
it is in cache. Adjoints mirror that rule: that of a per-channel value needs the sums of all samples (a new phase), that
of a per-sample value the sums of its sample (a new stage).
"""

from collections.abc import Sequence

from evonorm.kernels.plan.values import Kind, Value

Level = tuple[int, int]
Use = tuple[int, int]  # a value, and which of its inputs


def forward_levels(values: Sequence[Value]) -> tuple[Level, ...]:
    """When each value is complete."""
    levels: list[Level] = []
    for value in values:
        level = max((levels[i] for i in value.inputs), default=(0, 0))
        if value.op == "moment":
            source = values[value.inputs[0]]
            if value.index_set == "bwh":
                level = (level[0] + 1, 0)
            elif source.kind == Kind.FULL:
                level = (level[0], level[1] + 1)
        levels.append(level)
    return tuple(levels)


def backward_levels(values: Sequence[Value], users: Sequence[Sequence[Use]], output: int) -> dict[int, Level]:
    """When the adjoint of each value that needs one is complete."""
    levels: dict[int, Level] = {}
    for number in range(len(values) - 1, -1, -1):
        value = values[number]
        readers = [user for user, _ in users[number] if user in levels]
        if value.needs_grad and (readers or number == output):
            after = [_level_after(value.kind, values[reader].kind, levels[reader]) for reader in readers]
            levels[number] = max(after, default=(0, 0))
    return levels


def _level_after(kind: Kind, user_kind: Kind, level: Level) -> Level:
    if kind == Kind.CHANNEL and user_kind > Kind.CHANNEL:
        return (level[0] + 1, 0)
    if kind == Kind.SAMPLE and user_kind == Kind.FULL:
        return (level[0], level[1] + 1)
    return level
