#!/bin/sh
# Do small nets and short trainings order layers as 400 steps on the paper's anchors do? Shows what is kept; FRESH=1 trains
# 24 layers, about six hours of one core, and goes on where it was stopped.
. "$(dirname "$0")/../begin.sh"

if [ -n "${FRESH:-}" ]; then
    evonorm calibrate --keep "$runs" --only cheap
    evonorm calibrate --keep "$runs"
else
    python -m studies.calibration.study
fi
