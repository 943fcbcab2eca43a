#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A sweep in eight processes that share nothing but a folder and are killed at any time: merged they
# give the results of one run, byte by byte.
#   shards.sh <program> <folder>
set -u
program=$1
folder=$2
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder" || exit 1

fail() {
  echo "failed: $1"
  cat stderr 2>/dev/null
  exit 1
}

cat >spec.json <<'JSON'
{"workload": {"kind": "lstm", "pass": "backward", "layers": [2, 4, 6, 8], "steps": 40, "batch": [8, 16, 32], "hidden": 128},
 "machine": ["p100", "v100"], "policy": ["single_stream", "diagonal", "critical_first", "heft"], "baseline": "diagonal",
 "variability": {"samples": 4, "duration_cv": 0.1}}
JSON

"$program" sweep spec.json --out whole --timelines none >stdout 2>stderr || fail "the undivided sweep"

# shard NUMBER: killed after 0.01 to 0.19 s, four times at most, then to its end.
shard() {
  local try
  for try in 1 2 3 4; do
    SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_ID=$(($1 - 1)) timeout -s KILL "0.$((try % 2))$((1 + (7 * $1 + 3 * try) % 9))" \
      "$program" sweep spec.json --shard 8 --out parts --resume -j 1 >"stdout.$1" 2>"stderr.$1" && return
    echo "$1" >>killed
  done
  "$program" sweep spec.json --shard "$1/8" --out parts --resume -j 1 >"stdout.$1" 2>"stderr.$1" || touch "failed.$1"
}
for number in 1 2 3 4 5 6 7; do shard "$number" & done
wait
[ -s killed ] || fail "no process was killed"
ls failed.* >/dev/null 2>&1 && fail "a shard: $(cat stderr.*)"

"$program" merge spec.json parts --out merged --timelines none >stdout 2>stderr && fail "a merge without shard 8"
grep -q "shard 8/8 is not there" stderr || fail "the missing shard is not named"
[ ! -e merged ] || fail "a merge that was refused wrote something"

# The last one is asked to leave, as schedulers do; it may have ended before.
SGE_TASK_ID=8 SGE_TASK_FIRST=1 "$program" sweep spec.json --shard 8 --out parts -j 1 >stdout 2>stderr &
sleep 0.3
kill -USR1 $! 2>/dev/null
wait $!
code=$?
[ $code -eq 75 ] || [ $code -eq 0 ] || fail "exit code $code after SIGUSR1"
"$program" sweep spec.json --shard 8/8 --out parts --resume >stdout 2>stderr || fail "the shard that was asked to leave"

"$program" merge spec.json parts --out merged --timelines none >stdout 2>stderr || fail "the merge"
for file in results.csv comparisons.csv; do
  cmp "whole/$file" "merged/$file" || fail "$file differs"
done
left=$(find . -name '.*.lock' -o -name '.*.partial' -o -name '*.tmp' -o -name '.partial')
[ -z "$left" ] || fail "left behind: $left"

sed 's/"steps": 40/"steps": 41/' spec.json >other.json
"$program" merge other.json parts --out other >stdout 2>stderr && fail "a merge of another spec"
grep -q "results of another spec" stderr || fail "the other spec is not named"
"$program" sweep spec.json --time-limit 0.05 --out limited -j 1 >stdout 2>stderr
[ $? -eq 75 ] || fail "the time limit has no exit code of its own"
"$program" sweep spec.json --submit slurm --shards 8 --out parts >job.sh 2>stderr || fail "the batch script"
bash -n job.sh || fail "the batch script is none"
echo passed
