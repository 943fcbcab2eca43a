#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The batch script of `sweep --submit slurm`, run by a Slurm of one node that this script starts and stops: merged, its
# shards give the results of one run. Skipped where Slurm is not installed or cannot be started (it wants root).
#   slurm.sh <program> <folder>
set -u
program=$1
folder=$2
for tool in munged slurmctld slurmd sbatch sinfo; do
  command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "skipped: a node of Slurm needs root"; exit 77; }
rm -rf "$folder"
mkdir -p "$folder/state" "$folder/spool" "$folder/bin"
cd "$folder" || exit 1
folder=$PWD
ln -s "$program" bin/schedlab
export PATH="$folder/bin:$PATH" SLURM_CONF="$folder/slurm.conf"
node=$(hostname -s)
socket=$(mktemp -d)/munge  # a socket's path must be short

cleanup() {
  local name pid
  for name in slurmd slurmctld munged; do
    [ -s "$name.pid" ] || continue
    pid=$(cat "$name.pid")
    kill "$pid" 2>/dev/null
    for _ in $(seq 50); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
  done
  rm -rf "$(dirname "$socket")"
}
trap cleanup EXIT
skip() {
  echo "skipped: $1"
  exit 77
}
fail() {
  echo "failed: $1"
  cat stderr ./*.log shards.*.out 2>/dev/null | tail -40
  exit 1
}

cat >slurm.conf <<END
ClusterName=one
SlurmctldHost=$node(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket=$socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
SlurmctldPort=26817
SlurmdPort=26818
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MpiDefault=none
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
END
head -c 1024 /dev/urandom >munge.key
chmod 400 munge.key
chmod 755 "$(dirname "$socket")"
munged --force --key-file="$folder/munge.key" --socket="$socket" --pid-file="$folder/munged.pid" \
  --seed-file="$folder/munge.seed" --log-file="$folder/munged.log" 2>stderr || skip "munged does not start: $(tail -1 stderr)"
slurmctld 2>stderr || skip "slurmctld does not start: $(tail -1 stderr)"
slurmd 2>stderr || skip "slurmd does not start: $(tail -1 stderr)"
for _ in $(seq 50); do
  sinfo -h -o %t 2>/dev/null | grep -q idle && break
  sleep 0.2
done
sinfo -h -o %t 2>/dev/null | grep -q idle || skip "the node does not come up: $(tail -1 slurmctld.log)"

cat >spec.json <<'JSON'
{"workload": {"kind": "lstm", "pass": "backward", "layers": [2, 4], "steps": 20, "batch": [8, 16, 32], "hidden": 128},
 "machine": ["p100", "v100"], "policy": ["single_stream", "diagonal", "critical_first"], "baseline": "diagonal"}
JSON
"$program" sweep spec.json --out whole --timelines none >stdout 2>stderr || fail "the undivided sweep"
"$program" sweep spec.json --submit slurm --shards 4 --print --time-limit 600 --out parts >job.sh 2>stderr || fail "--submit"
job=$(sbatch --parsable job.sh 2>stderr) || fail "sbatch"
for _ in $(seq 300); do
  [ -z "$(squeue -h -j "$job" 2>/dev/null)" ] && break
  sleep 0.2
done
[ "$(find parts -name results.sqlite | wc -l)" = 4 ] || fail "not every shard has results"
"$program" merge spec.json parts --out merged >stdout 2>stderr || fail "merge"
cmp merged/results.csv whole/results.csv || fail "merged results differ"
