#!/bin/sh
# The paper's proxy task on its own three anchors: which layers the rejection tests turn down, how far BN-ReLU, EvoNorm-B0
# and EvoNorm-S0 come in 2000 steps, and how long the steps of the stability test's ascent should be.
# About seven hours of one core; every part goes on where it was stopped.
. "$(dirname "$0")/begin.sh"

evonorm evaluate --verdicts --recipe recipes/paper_b.toml --keep runs/verdicts

evonorm evaluate bn-relu evonorm-b0 evonorm-s0 --recipe recipes/paper_b.toml --test-set --keep runs/paper_b \
    --out docs/results/paper_b

for what in choose report agree; do
    python -m studies.stability_steps.study "$what" --seeds 2 --keep runs/stability_steps
done
