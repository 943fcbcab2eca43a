#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A rank that dies ends the run with a message that names it, and does not leave the others waiting.
#   kill_a_rank.sh <program> <spec of 2 ranks that runs for long> <folder>
set -u
program=$1
spec=$2
folder=$3
rm -rf "$folder"
mkdir -p "$folder"
"$program" execute "$spec" --device mpi --out "$folder/out" >"$folder/stdout" 2>"$folder/stderr" &
started=$!

children() { cat "/proc/$1/task/"*/children 2>/dev/null; }

# The ranks are the children of mpirun, which is the program's child.
ranks=()
for _ in $(seq 200); do
  for mpirun in $(children "$started"); do
    read -r -a ranks <<<"$(children "$mpirun")"
  done
  [ "${#ranks[@]}" -eq 2 ] && break
  sleep 0.05
done
if [ "${#ranks[@]}" -ne 2 ]; then
  echo "no two ranks were started:"
  cat "$folder/stderr"
  kill "$started"
  exit 1
fi
sleep 1 # into the training
kill -9 "${ranks[1]}"
wait "$started"
code=$?
cat "$folder/stderr"
[ "$code" -eq 1 ] || { echo "exit code $code, expected 1"; exit 1; }
grep -q 'error: rank 1 was ended by signal 9 (Killed); the other ranks were stopped' "$folder/stderr" || exit 1
[ ! -e "$folder/out" ] || { echo "a run that failed left results"; exit 1; }
