#!/bin/sh
# Are the ten best of each search still the best under fresh seeds? Shows what is kept; FRESH=1 trains, 25 minutes of two
# cores, and goes on where it was stopped.
. "$(dirname "$0")/../begin.sh"

for name in b-evolution s-evolution; do
    python -m studies.rerank.study "$name" "$@"
done
