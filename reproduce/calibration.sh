#!/bin/sh
# Do the ladder's small nets and short trainings order layers as 400 steps on the paper's anchors do? About three hours of
# one core; goes on where it was stopped.
. "$(dirname "$0")/begin.sh"

evonorm calibrate --keep runs/calibrate --only cheap
evonorm calibrate --keep runs/calibrate
