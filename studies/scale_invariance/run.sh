#!/bin/sh
# Which layers do not mind the scale of their input: EvoNorm-B0 exactly, EvoNorm-S0 for large inputs. Shows what is kept;
# FRESH=1 computes it again, in seconds.
. "$(dirname "$0")/../begin.sh"

python -m studies.scale_invariance.study "$@"
