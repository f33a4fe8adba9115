#!/bin/sh
# What not training and training less are worth: a plain random search as in the paper, and the ladder with random search
# and with evolution, each with as many training steps, two seeds. STEPS=6000 takes 10 to 20 minutes of one core a run.
. "$(dirname "$0")/begin.sh"

STEPS=${STEPS:-6000}
names=""
for seed in 0 1; do
    common="--steps $STEPS --seed $seed"
    # shellcheck disable=SC2086 (words on purpose)
    search "speed-plain-$seed" recipes/laptop.toml $common --set search.method=random --set "fitness.ladder=[]" \
        --set search.free_checks=false --set search.depth_check=false --set search.attempts=1 \
        --set search.runs_per_function=0 \
        --set search.genotypes_per_function=0
    # shellcheck disable=SC2086
    search "speed-random-$seed" recipes/laptop.toml $common --set search.method=random
    # shellcheck disable=SC2086
    search "speed-evolution-$seed" recipes/laptop.toml $common
    names="$names speed-plain-$seed speed-random-$seed speed-evolution-$seed"
done
# shellcheck disable=SC2086
python reproduce/speed_up.py $names
