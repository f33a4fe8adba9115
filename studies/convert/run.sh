#!/bin/sh
# Are positions in other people's models found and converted right? Shows what is kept; FRESH=1 converts anew, about five
# minutes of one core, and goes on where it was stopped.
. "$(dirname "$0")/../begin.sh"

python -m studies.convert.study "$@"
