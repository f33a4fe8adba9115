#!/bin/bash
# A search on whole nodes of a Slurm cluster. NOT TRIED on a real Slurm; written after Ray's own guide (`ray symmetric-run`).
# Submit with: sbatch slurm.sh; submit it again to go on.
#SBATCH --job-name=evonorm
#SBATCH --nodes=16
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=128
#SBATCH --exclusive
#SBATCH --time=2-00:00:00
set -euo pipefail

NAME=big                                         # of the run
SHARED=$HOME/evonorm-runs                        # on the shared disk: exports of the run
RUNS=${SLURM_TMPDIR:-/tmp/$USER-$SLURM_JOB_ID}   # on the head's own disk: the journal refuses network disks
export NAME SHARED RUNS
export RAY_AUTH_MODE=token                       # once before: ray get-auth-token --generate && chmod 600 ~/.ray/auth_token
export RAY_memory_monitor_refresh_ms=0           # our own limits end one worker, Ray's would end a whole host
export RAY_SYMMETRIC_RUN_CLUSTER_WAIT_TIMEOUT=600
export EVONORM_DATA=$HOME/evonorm-data           # has cifar10.bin: evonorm data cifar10
PORT=$((20000 + SLURM_JOB_ID % 10000))
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export ADDRESS=$HEAD:$PORT
mkdir -p "$SHARED"

# Runs on the head alone: takes the run up if there is one, searches until shortly before the time is up, carries it home.
search() {
  mkdir -p "$RUNS"
  local how=(search paper_b --name "$NAME" --set search.order=arrival)
  if [ -e "$SHARED/$NAME.evonorm" ]; then
    evonorm journal import "$SHARED/$NAME.evonorm" --name "$NAME" --runs "$RUNS"
    how=(resume "$NAME")
  fi
  ( while sleep 900; do evonorm journal export "$NAME" "$SHARED/$NAME.evonorm" --force --runs "$RUNS"; done ) &
  local exporter=$!
  evonorm "${how[@]}" --workers ray --address "$ADDRESS" --runs "$RUNS" --minutes $((60 * 47)) || true
  kill $exporter
  evonorm journal export "$NAME" "$SHARED/$NAME.evonorm" --force --runs "$RUNS"
}
export -f search

srun --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES" \
  ray symmetric-run --address "$ADDRESS" --min-nodes "$SLURM_JOB_NUM_NODES" \
  --num-cpus="$SLURM_CPUS_PER_TASK" --object-store-memory=300000000 -- bash -c search
