#!/bin/sh
# From a trained model with BatchNorm to the same with EvoNorm. Shows what is kept; FRESH=1 converts and trains anew,
# about fifteen minutes of one core, and goes on where it was stopped. With photos: run.sh --photos FOLDER
. "$(dirname "$0")/../begin.sh"

python -m studies.fine_tune.study "$@"
