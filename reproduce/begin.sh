# Read by every story: the project's root, its own environment, and a search that goes on where it was stopped.
set -eu
cd "$(dirname "$0")/.."
make --silent setup
PATH="$PWD/.venv/bin:$PATH"
evonorm data cifar10 >/dev/null

# search NAME RECIPE OPTION...: goes on with the run of this name, here or as it was committed, or begins it.
search() {
    name=$1 recipe=$2
    shift 2
    if [ ! -e "runs/$name" ] && [ -e "docs/results/$name.evonorm" ]; then
        evonorm journal import "docs/results/$name.evonorm"
    fi
    if [ -e "runs/$name" ]; then
        evonorm resume "$name"
    else
        evonorm search "$recipe" --name "$name" "$@"
    fi
    evonorm journal export "$name" "docs/results/$name.evonorm" --slim --force
}
