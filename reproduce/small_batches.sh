#!/bin/sh
# Does BatchNorm fall with small batches, and does EvoNorm-S0 hold? Goes on where it was stopped.
. "$(dirname "$0")/begin.sh"

python reproduce/small_batches.py --out docs/results
