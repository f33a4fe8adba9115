#!/bin/sh
# Are the layers that reproduce/search.sh found any good? The top 10 of each mode are judged again under fresh seeds; the
# top 3 of these stand beside BN-ReLU and the paper's B0 and S0 on the paper's anchors, on test pictures that no search
# has seen: 400 steps, two seeds; then 2000 steps for the best of each. S layers by the paper's S recipe (cosine),
# scaled to the steps. About six hours of two cores; goes on where it was stopped.
. "$(dirname "$0")/begin.sh"

evaluate() {  # RECIPE STEPS OPTION... -- LAYER...: with two workers, one core each
    recipe=$1 steps=$2
    shift 2
    evonorm evaluate --recipe "$recipe" --set "fitness.training.steps=$steps" --set fitness.threads=1 --workers 2 \
        --test-set --keep docs/results/validation "$@"
}

best_three() {  # RUN RECIPE LAYER...: judges the run's best again, then evaluates the best three of these and the layers
    run=$1 recipe=$2
    shift 2
    [ -e "runs/$run" ] || evonorm journal import "docs/results/$run.evonorm"
    python reproduce/rerank.py "$run"
    formulas=$(python reproduce/rerank.py "$run" --formulas 3)
    while read -r formula; do
        set -- "$@" "$formula"
    done <<FORMULAS
$formulas
FORMULAS
    # Nobody is turned down for learning slowly, and what costs time but says nothing here is short.
    evaluate "$recipe" 400 --seeds 2 --set fitness.quality.accuracy=0 --set fitness.stability.steps=10 \
        --set fitness.validation_images=2000 -- "$@"
}

best() {  # SCHEDULE: the best found layer of the evaluations with 400 steps
    python reproduce/validation.py docs/results/validation --best "400 steps, $1"
}

best_three b-evolution recipes/paper_b.toml bn-relu evonorm-b0
best_three s-evolution recipes/paper_s.toml evonorm-s0
best_b=$(best constant) best_s=$(best cosine)
evaluate recipes/paper_b.toml 2000 --seeds 2 --out docs/results/validation_b -- bn-relu "$best_b" evonorm-b0
evaluate recipes/paper_s.toml 2000 --out docs/results/validation_s -- "$best_s"
python reproduce/validation.py docs/results/validation
