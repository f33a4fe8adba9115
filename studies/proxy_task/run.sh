#!/bin/sh
# The paper's proxy task on its own three anchors: which layers the rejection tests turn down, and how far BN-ReLU,
# EvoNorm-B0 and EvoNorm-S0 come in 2000 steps. Shows what is kept; FRESH=1 trains, about six hours of one core, and goes
# on where it was stopped.
. "$(dirname "$0")/../begin.sh"

python -m studies.proxy_task.study "$@"
