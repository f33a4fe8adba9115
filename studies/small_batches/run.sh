#!/bin/sh
# Does BatchNorm fall with small batches, and does EvoNorm-S0 hold? Shows what is kept; FRESH=1 trains, about an hour of
# one core, and goes on where it was stopped.
. "$(dirname "$0")/../begin.sh"

python -m studies.small_batches.study "$@"
