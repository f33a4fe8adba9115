#!/bin/sh
# What the checks that train nothing turn down, what that costs, and whom they lose. Minutes of one core; the last one
# trains 200 layers, 15 minutes, and only with FRESH=1.
. "$(dirname "$0")/../begin.sh"

python -m studies.free_checks.funnel --proposals "${PROPOSALS:-20000}"
python -m studies.free_checks.depth_signal --trained studies/calibration
if [ -n "${FRESH:-}" ]; then
    python -m studies.free_checks.false_alarms --graphs 200 --anchor resnet-nano
fi
