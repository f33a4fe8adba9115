#!/bin/sh
# Six layers in a small BigGAN-deep. Shows what is kept; FRESH=1 trains, 27 to 50 minutes of one core each, and goes on
# where it was stopped.
. "$(dirname "$0")/../begin.sh"
[ -z "${FRESH:-}" ] || evonorm data inception >/dev/null
python -m studies.biggan.study "$@"
