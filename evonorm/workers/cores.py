"""Which cores a driver's workers are pinned to: first those that no other driver on this machine has."""

import os
import socket

NAME = "evonorm core"


class Cores:
    """The cores that this process was given, `wanted` free ones first; none where the system cannot pin.

    Two commands side by side would otherwise both begin with the first core and leave the last one idle.
    """

    def __init__(self, wanted: int) -> None:
        given = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        self._claims: dict[int, socket.socket] = {}
        for core in given:
            if len(self._claims) < wanted and (claim := _claim(core)):
                self._claims[core] = claim
        self.order = sorted(given, key=lambda core: core not in self._claims)

    def release(self) -> None:
        for claim in self._claims.values():
            claim.close()
        self._claims.clear()


def _claim(core: int) -> socket.socket | None:
    """A name in Linux's abstract namespace: one process at a time can have it, and it is gone with that process."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0{NAME} {core}")
    except OSError:
        claim.close()
        return None
    return claim
