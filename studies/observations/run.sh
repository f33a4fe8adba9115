#!/bin/sh
# The paper's two observations on its search space: of 5000 random layers next to none is good (the paper: none beats
# BN-ReLU), and what is good on one net need not be on another. Shows what is kept; FRESH=1 searches, 40 minutes of two
# cores, and goes on where it was stopped.
. "$(dirname "$0")/../begin.sh"

search random-study recipes/random_study.toml --proposals 5000
# The same layers, the MobileNet asked first: who learns there but not on the ResNet?
search random-study-reversed recipes/random_study.toml --proposals 2500 \
    --set 'fitness.anchors=["mobilenet-nano", "resnet-nano", "efficientnet-nano"]'
evonorm top random-study --runs "$runs"
evonorm status random-study --runs "$runs"
python -m studies.observations.study random-study --runs "$runs" --out "$runs/figures"
python -m studies.search.journal_stories random-study random-study-reversed --runs "$runs"
