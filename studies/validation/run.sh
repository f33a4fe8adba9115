#!/bin/sh
# Are the layers that the searches found any good on the paper's anchors and on test pictures? Shows what is kept; FRESH=1
# trains, about six hours of two cores, and goes on where it was stopped.
. "$(dirname "$0")/../begin.sh"

python -m studies.validation.study "$@"
