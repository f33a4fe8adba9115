"""Ray nodes on one machine, on loopback, for tests and trials: started, killed, frozen and joined at will."""

import contextlib
import ipaddress
import os
import signal
import tempfile
import time
from pathlib import Path

# Before ray is imported. Meant for other systems; on Linux it keeps everything on 127.0.0.1.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
os.environ["RAY_memory_monitor_refresh_ms"] = "0"  # noqa: SIM112 (this is its name)
os.environ["RAY_raylet_start_wait_time_s"] = "300"  # noqa: SIM112 (on a crowded machine 30 are not enough)
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

LOOPBACK = ("127.", "::1", "[::1]")
SMALL = {"object_store_memory": 80_000_000}


class Nodes:
    """A head without cores, and nodes of two; a node that a test spent is replaced when another asks for two."""

    def __init__(self, folder, nodes=2):
        from ray._common.utils import get_default_ray_temp_dir
        from ray.cluster_utils import Cluster

        # whatever its own folder is, Ray writes the address there too, and does not make it
        Path(get_default_ray_temp_dir()).mkdir(parents=True, exist_ok=True)
        head = {**SMALL, "num_cpus": 0, "include_dashboard": False, "temp_dir": str(folder)}
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self.address = self._cluster.address
        self.nodes = [self.add() for _ in range(nodes)]

    def add(self, cores=2):
        return self._cluster.add_node(num_cpus=cores, **SMALL)

    def whole(self, number=2):
        """So many living nodes."""
        while len(self.nodes) < number:
            self.nodes.append(self.add())
        return self

    def kill(self, node):
        """Like a machine whose power was cut: raylet and all that it started are gone without a word."""
        self.nodes.remove(node)
        self._cluster.remove_node(node, allow_graceful=False)

    def leave(self, node):
        self.nodes.remove(node)
        self._cluster.remove_node(node)

    def close(self):
        self._cluster.shutdown()


@contextlib.contextmanager
def new_nodes(number=2):
    """A cluster of its own, in a folder whose name is short: a socket's whole path must stay below 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="en", dir="/tmp", ignore_cleanup_errors=True) as folder:
        nodes = Nodes(folder, number)
        try:
            yield nodes
        finally:
            nodes.close()


def descendants(pid):
    """Every process below this one."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError):
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *descendants(child)]
    return found


def left_alive(pid, seconds=30.0):
    """What is still below this process after a while."""
    deadline = time.monotonic() + seconds
    names = {}
    while time.monotonic() < deadline:
        names = {}
        for each in descendants(pid):
            with contextlib.suppress(OSError):
                line = Path(f"/proc/{each}/cmdline").read_bytes()
                if b"ray" in line:
                    names[each] = line
        if not names:
            break
        time.sleep(0.2)
    return names


def listeners(pids):
    """Local addresses on which these processes listen, as (pid, address)."""
    sockets = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == "0A":
                sockets[rest[5]] = _readable(local.partition(":")[0])
    found = []
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            with contextlib.suppress(OSError):
                target = str(link.readlink())
                if target.startswith("socket:[") and target[8:-1] in sockets:
                    found.append((pid, sockets[target[8:-1]]))
    return found


def _readable(hexadecimal):
    words = [bytes.fromhex(hexadecimal[i : i + 8])[::-1] for i in range(0, len(hexadecimal), 8)]
    address = ipaddress.ip_address(b"".join(words))
    return str(getattr(address, "ipv4_mapped", None) or address)


@contextlib.contextmanager
def frozen(pid):
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
