#!/bin/sh
# How long should the steps of the stability test's ascent be? Shows what is kept; FRESH=1 computes, about an hour of one
# core, and goes on where it was stopped.
. "$(dirname "$0")/../begin.sh"

python -m studies.stability_steps.study choose
python -m studies.stability_steps.study report --seeds 2
python -m studies.stability_steps.study agree
