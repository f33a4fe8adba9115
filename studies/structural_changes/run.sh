#!/bin/sh
# What each part of EvoNorm-B0 is for: B0 without one of them, 400 steps on ResNet50-CIFAR, three seeds. Shows what is
# kept; FRESH=1 trains, about an hour of one core, and goes on where it was stopped.
. "$(dirname "$0")/../begin.sh"

python -m studies.structural_changes.study "$@"
