#!/bin/sh
# Which layers do not mind the scale of their input: EvoNorm-B0 exactly, EvoNorm-S0 for large inputs. Seconds.
. "$(dirname "$0")/begin.sh"

python reproduce/scale_invariance.py --out docs/results
