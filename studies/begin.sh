# Read by every study's run.sh: the project's root, its own environment, and where the study writes.
set -eu
study=$(basename "$(dirname "$0")")
cd "$(dirname "$0")/../.."
make --silent setup
PATH="$PWD/.venv/bin:$PATH"

# FRESH=1 begins with nothing; otherwise what is kept is shown. Nothing that git knows is written either way.
if [ -n "${FRESH:-}" ]; then
    runs=runs/studies/$study/fresh
    evonorm data cifar10 >/dev/null
else
    runs=runs/studies/$study/kept
fi

# search NAME RECIPE OPTION...: with FRESH=1 begins a run or goes on with it; otherwise unpacks the kept one.
search() {
    name=$1 recipe=$2
    shift 2
    if [ -n "${FRESH:-}" ] && [ -e "$runs/$name" ]; then
        evonorm resume "$name" --runs "$runs"
    elif [ -n "${FRESH:-}" ]; then
        evonorm search "$recipe" --name "$name" --runs "$runs" "$@"
    else
        [ -e "$runs/$name" ] || evonorm journal import "studies/$study/$name.evonorm" --name "$name" --runs "$runs" >/dev/null
        echo "$name is kept in studies/$study/$name.evonorm; nothing is searched. FRESH=1 searches anew into runs/studies/$study/fresh."
    fi
}
