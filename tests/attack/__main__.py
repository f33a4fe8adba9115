"""`python -m tests.attack --minutes 30`: attacks for that long, prints the table, and fails where something broke."""

import argparse
import os
import platform
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from tests.attack.files import FILES
from tests.attack.frame import go_on, table
from tests.attack.kernel import KERNEL
from tests.attack.kills import KILLS
from tests.attack.languages import LANGUAGES
from tests.attack.pages import PAGES

ATTACKS = [*LANGUAGES, *FILES, *PAGES, *KERNEL, *KILLS]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", help="names of attacks")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    attacks = [attack for attack in ATTACKS if chosen.only is None or attack.name in chosen.only]
    with tempfile.TemporaryDirectory(prefix="evonorm-attack-") as folder:
        os.environ["XDG_STATE_HOME"] = folder
        counts = go_on(attacks, Path(folder), chosen.minutes, chosen.seed)
    sys.stdout.write(f"{platform.processor() or platform.machine()}, Python {platform.python_version()},")
    sys.stdout.write(
        f" {time.strftime('%Y-%m-%d')}, {chosen.minutes:g} minutes, seed {chosen.seed}\n\n{table(counts)}\n\n"
    )
    for name, count in counts.items():
        ends = Counter({end: number for end, number in count.ends.items() if end not in ("refused",)})
        sys.stdout.write(f"{name}: {dict(ends)}\n")
        for fault in count.faults[:5]:
            sys.stdout.write(f"  {fault}\n")
    sys.exit(any(count.broken for count in counts.values()))


if __name__ == "__main__":
    main()
