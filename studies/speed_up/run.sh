#!/bin/sh
# What not training and training less are worth: a plain random search as in the paper, and the ladder with random search
# and with evolution, each with as many training steps, two seeds. Shows what is kept (not the ladder with random search:
# 4 MB); FRESH=1 searches: STEPS=6000 takes 10 to 20 minutes of one core a run.
. "$(dirname "$0")/../begin.sh"

STEPS=${STEPS:-6000}
names=""
for seed in 0 1; do
    common="--steps $STEPS --seed $seed"
    # shellcheck disable=SC2086 (words on purpose)
    search "plain-$seed" studies/first_laptop.toml $common --set search.method=random --set "fitness.ladder=[]" \
        --set search.free_checks=false --set search.depth_check=false --set search.attempts=1 \
        --set search.runs_per_function=0 \
        --set search.genotypes_per_function=0
    if [ -n "${FRESH:-}" ]; then
        # shellcheck disable=SC2086
        search "random-$seed" studies/first_laptop.toml $common --set search.method=random
        names="$names random-$seed"
    fi
    # shellcheck disable=SC2086
    search "evolution-$seed" studies/first_laptop.toml $common
    names="$names plain-$seed evolution-$seed"
done
# shellcheck disable=SC2086
python -m studies.speed_up.study $names --runs "$runs"
