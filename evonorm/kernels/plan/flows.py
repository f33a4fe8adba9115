"""Which adjoints a pass over the elements needs: the part of backward that no device decides."""

from collections.abc import Iterable

from evonorm.kernels.plan.levels import Level, Use
from evonorm.kernels.plan.plan import Plan


def summed_uses(plan: Plan, level: Level) -> set[Use]:
    """Where full values complete at this level read small ones: what flows there is summed over the elements."""
    return {
        (number, position)
        for number, complete in plan.backward_levels.items()
        if complete == level and plan.is_full(number)
        for position, i in enumerate(plan.values[number].inputs)
        if not plan.is_full(i) and i in plan.backward_levels
    }


def with_full_users(plan: Plan, starts: Iterable[int]) -> set[int]:
    """These full values and all that read them, up to the output: whose adjoints are needed for theirs."""
    found: set[int] = set()
    stack = list(starts)
    while stack:
        number = stack.pop()
        if number not in found:
            found.add(number)
            stack += [user for user, _ in plan.users[number] if plan.is_full(user) and user in plan.backward_levels]
    return found
