#!/bin/sh
. "$(dirname "$0")/../begin.sh"
python -m studies.proof.study "$@"
