#!/bin/sh
# What each part of EvoNorm-B0 is for: B0 without one of them, 400 steps on ResNet50-CIFAR, three seeds. About an hour of
# one core; goes on where it was stopped.
. "$(dirname "$0")/begin.sh"

python reproduce/structural_changes.py
