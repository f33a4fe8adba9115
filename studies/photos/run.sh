#!/bin/sh
# Layers in MobileNetV2 on photos, and with small batches. Shows what is kept; FRESH=1 DATA=FOLDER trains, and goes on
# where it was stopped.
. "$(dirname "$0")/../begin.sh"
for table in layers batch-sizes; do
    python -m studies.photos.study "$table" ${DATA:+--data "$DATA"} "$@"
done
