#!/bin/sh
# Are the layers that reproduce/search.sh found any good? The top 3 of each mode beside BN-ReLU and the paper's B0 and S0
# on the paper's anchors, on test pictures that no search has seen: 400 steps, two seeds; then 2000 steps for the best.
# S layers by the paper's S recipe (cosine), scaled to the steps. About five hours of two cores; goes on where it was stopped.
. "$(dirname "$0")/begin.sh"

found() {  # NAME NUMBER: formulas of the best functions of a run, a line each
    evonorm top "$1" -n "$2" --json |
        python -c 'import json, sys; print(*(row["formula"] for row in json.load(sys.stdin)["top"]), sep="\n")'
}

evaluate() {  # RECIPE STEPS SEEDS QUALITY RUN NUMBER LAYER...: the layers and the best of a run
    recipe=$1 steps=$2 seeds=$3 quality=$4 run=$5 number=$6
    shift 6
    [ -e "runs/$run" ] || evonorm journal import "docs/results/$run.evonorm"
    formulas=$(found "$run" "$number")
    while read -r formula; do
        set -- "$@" "$formula"
    done <<FORMULAS
$formulas
FORMULAS
    evonorm evaluate "$@" --recipe "$recipe" --set "fitness.training.steps=$steps" --set "fitness.quality.accuracy=$quality" \
        --set fitness.threads=1 --workers 2 --seeds "$seeds" --test-set --keep docs/results/validation
}

# With 400 steps nobody is turned down for learning slowly; with 2000 the paper's test is taken.
evaluate recipes/paper_b.toml 400 2 0 b-evolution 3 bn-relu evonorm-b0
evaluate recipes/paper_s.toml 400 2 0 s-evolution 3 evonorm-s0
evaluate recipes/paper_b.toml 2000 1 0.2 b-evolution 1 bn-relu evonorm-b0
evaluate recipes/paper_s.toml 2000 1 0.2 s-evolution 1
python reproduce/validation.py docs/results/validation
