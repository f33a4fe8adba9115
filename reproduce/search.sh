#!/bin/sh
# The search itself: evolution, then random search with as many training steps, each with the ladder.
#     reproduce/search.sh b        layers that may use the batch (the EvoNorm-B series)
#     reproduce/search.sh s        layers that may not (the EvoNorm-S series)
# STEPS=40000 (each) takes about 100 minutes of two cores in all.
. "$(dirname "$0")/begin.sh"

STEPS=${STEPS:-40000}
case "${1:-}" in
b) references='["bn-relu", "evonorm-b0"]' batch_ops=true ;;
s) references='["gn-silu", "evonorm-s0"]' batch_ops=false ;;
*) echo "usage: reproduce/search.sh b|s" >&2; exit 2 ;;
esac
for method in evolution random; do
    search "$1-$method" recipes/laptop.toml --steps "$STEPS" --set "search.method=$method" \
        --set "references=$references" --set "search.batch_ops=$batch_ops"
done
evonorm top "$1-evolution"
evonorm status "$1-evolution"
evonorm report "$1-evolution" --against "$1-random" --out "docs/results/$1-search"
python reproduce/observations.py "$1-random" --survivors --out "docs/results/$1-search/survivors"
python reproduce/journal_stories.py "$1-evolution" "$1-random"
