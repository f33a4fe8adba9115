#!/bin/sh
# Layers in a small Mask R-CNN on 80 pictures. Shows what is kept; FRESH=1 DATA=COCO trains, and goes on where it stopped.
. "$(dirname "$0")/../begin.sh"
python -m studies.objects.study ${DATA:+--data "$DATA"} "$@"
