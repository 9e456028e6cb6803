#!/usr/bin/env bash
# All experiments as a Slurm array: 64 shares that know nothing of each other, on any nodes, in any order.
#
#   sbatch examples/cluster/slurm.sh                            # the shares; run it again for those that failed
#   latentbandits reproduce --status --out "$HOME/latentbandits"   # what is missing
#   latentbandits reproduce --out "$HOME/latentbandits"            # merge, judge and write the page
#
#SBATCH --job-name=latentbandits
#SBATCH --array=1-64
#SBATCH --cpus-per-task=2
#SBATCH --time=04:00:00
set -euo pipefail

OUT=${OUT:-$HOME/latentbandits}           # a folder that all nodes see
EXPERIMENTS=${EXPERIMENTS:-}              # all if empty; "table2 --quick" for a small one
SHARES=${SLURM_ARRAY_TASK_COUNT:-64}
# machine code belongs to the node: a shared home folder would make nodes race for one cache
export LATENTBANDITS_CACHE=${LATENTBANDITS_CACHE:-${SLURM_TMPDIR:-${TMPDIR:-/tmp}}/latentbandits-$UID}
mkdir -p "$LATENTBANDITS_CACHE"

# shellcheck disable=SC2086  # several words on purpose
latentbandits reproduce $EXPERIMENTS --shard "$SLURM_ARRAY_TASK_ID/$SHARES" --workers "${SLURM_CPUS_PER_TASK:-1}" --out "$OUT"
