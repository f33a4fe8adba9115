#!/bin/sh
# Do the ladder's small nets and short trainings order layers as 400 steps on the paper's anchors do? 24 layers, about six
# hours of one core; goes on where it was stopped. Two of these side by side share the work if each is given other layers.
. "$(dirname "$0")/begin.sh"

evonorm calibrate --keep runs/calibrate --only cheap
evonorm calibrate --keep runs/calibrate
