#!/bin/sh
# The search itself: evolution, then random search with as many training steps, each with the ladder.
#     studies/search/run.sh b        layers that may use the batch (the EvoNorm-B series)
#     studies/search/run.sh s        layers that may not (the EvoNorm-S series)
# Shows what is kept; FRESH=1 searches and goes on where it was stopped: STEPS=40000 (each) takes about 100 minutes of two
# cores in all.
. "$(dirname "$0")/../begin.sh"

STEPS=${STEPS:-40000}
case "${1:-}" in
b) references='["bn-relu", "evonorm-b0"]' batch_ops=true ;;
s) references='["gn-silu", "evonorm-s0"]' batch_ops=false ;;
*) echo "usage: studies/search/run.sh b|s" >&2; exit 2 ;;
esac
for method in evolution random; do
    search "$1-$method" studies/first_laptop.toml --steps "$STEPS" --set "search.method=$method" \
        --set "references=$references" --set "search.batch_ops=$batch_ops"
done
evonorm top "$1-evolution" --runs "$runs"
evonorm status "$1-evolution" --runs "$runs"
evonorm report "$1-evolution" --against "$1-random" --runs "$runs" --out "$runs/$1-report"
python -m studies.observations.study "$1-random" --survivors --runs "$runs" --out "$runs/$1-survivors"
python -m studies.search.journal_stories "$1-evolution" "$1-random" --runs "$runs"
