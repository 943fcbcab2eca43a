#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What only a whole process shows: inputs that are no files, outputs that are full, interrupts, and
# several processes on one folder.
#   files.sh <program> <spec of a sweep> <folder>
set -u
program=$1
sweep=$2
folder=$3
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder" || exit 1

fail() {
  echo "failed: $1"
  cat stderr 2>/dev/null
  exit 1
}
# expect CODE TEXT COMMAND...: the exit code, and a text on standard error.
expect() {
  local code=$1 text=$2
  shift 2
  timeout 60 "$@" >stdout 2>stderr
  local got=$?
  [ "$got" -eq "$code" ] || fail "exit code $got, expected $code: $*"
  [ -z "$text" ] || grep -qF -- "$text" stderr || fail "no \"$text\" in what $* says"
}
nothing_left() {
  local left
  left=$(find . -name '.*.lock' -o -name '.*.partial' -o -name '*.tmp' -o -name .partial -o -name '*.partial-*')
  [ -z "$left" ] || fail "left behind by $1: $left"
}

echo 'digraph { a [duration_us=5]; b [duration_us=3]; a -> b }' >graph.dot
cat >one.json <<'JSON'
{"schedlab": "spec", "version": 1, "workload": {"kind": "lstm", "layers": 2, "steps": 3}, "machine": "v100", "policy": "heft"}
JSON
cat >long.json <<'JSON'
{"workload": {"kind": "lstm", "layers": 64, "steps": 3125, "batch": 8, "hidden": 64, "granularity": "fine"},
 "machine": "v100", "policy": "critical_first"}
JSON

# Pipes: every verb that reads, also those that look at a file before they read it.
expect 0 '' "$program" simulate <(cat one.json) --out simulated
expect 0 '' "$program" graph <(cat graph.dot)
grep -q '2 tasks, 1 dependencies' stdout || fail 'graph of a pipe'
expect 0 '' "$program" graph <(gzip -c graph.dot)
expect 0 '' "$program" graph <(cat one.json)
expect 0 '' bash -c "cat simulated/trace.json | $program import /dev/stdin"
expect 0 '' "$program" explain <(cat simulated/trace.json)
expect 0 '' "$program" plot <(cat simulated/trace.json) --out piped.svg
expect 0 '' "$program" sweep <(cat one.json) --out swept_pipe
mkfifo fifo
(cat graph.dot >fifo &)
expect 0 '' "$program" graph fifo
expect 2 'found a pipe without a writer' "$program" graph fifo

# Devices and sizes.
for verb in graph import explain; do
  expect 2 '/dev/zero: found a device, expected a file or a pipe' "$program" $verb /dev/zero
done
for verb in simulate sweep partition buckets; do
  expect 2 '/dev/urandom: found a device' "$program" $verb /dev/urandom --out none
done
truncate -s 100G huge.json
expect 2 'set the environment variable SCHEDLAB_MAX_INPUT_BYTES to more' "$program" graph huge.json
expect 2 'found more than 10 bytes' env SCHEDLAB_MAX_INPUT_BYTES=10 "$program" graph graph.dot
expect 2 'found more than 1000000 bytes' env SCHEDLAB_MAX_INPUT_BYTES=1000000 "$program" graph <(cat /dev/zero)
expect 2 'SCHEDLAB_MAX_INPUT_BYTES: found "many", expected a number of bytes' \
  env SCHEDLAB_MAX_INPUT_BYTES=many "$program" graph graph.dot
head -c 100M /dev/zero | gzip -c >bomb.json.gz
expect 2 'a gzip file that grows to more than 400 times its size' "$program" graph bomb.json.gz
rm -f huge.json bomb.json.gz

# A place that is full.
for arguments in 'graph graph.dot' 'graph graph.dot --to json' 'list' 'schema spec' '--help'; do
  # shellcheck disable=SC2086
  "$program" $arguments >/dev/full 2>stderr
  code=$?
  [ "$code" -eq 1 ] || fail "exit code $code for $arguments on a full device"
  grep -qF 'standard output: cannot be written' stderr || fail "$arguments on a full device"
done
for verb in simulate sweep; do
  (ulimit -f 4 && "$program" $verb one.json --out limited >stdout 2>stderr)
  code=$?
  [ "$code" -eq 1 ] || fail "exit code $code of $verb beyond ulimit -f"
  rm -rf limited
  nothing_left "$verb beyond ulimit -f"
done

# The first interrupt ends a verb that has nothing to keep, wherever it is.
for pause in 0.3 1; do
  "$program" simulate long.json --out interrupted >stdout 2>stderr &
  process=$!
  sleep $pause
  kill -INT $process
  begun=$SECONDS
  wait $process
  code=$?
  [ "$code" -eq 1 ] || fail "exit code $code of an interrupted simulate"
  [ $((SECONDS - begun)) -lt 20 ] || fail 'an interrupt that takes long'
  grep -qi 'interrupted' stderr || fail 'no word about the interrupt'
  [ ! -e interrupted ] || fail 'an interrupted simulate left its folder'
  nothing_left 'an interrupted simulate'
done

# Several processes, one folder.
processes=()
for i in 1 2 3 4; do
  "$program" simulate one.json --out together >stdout.$i 2>stderr.$i &
  processes+=($!)
done
done_well=0
for i in 1 2 3 4; do
  wait "${processes[$((i - 1))]}"
  code=$?
  if [ $code -eq 0 ]; then
    done_well=$((done_well + 1))
  else
    [ $code -eq 2 ] || fail "exit code $code beside others"
    grep -qE 'another schedlab is writing|in use' "stderr.$i" || fail 'no word about the others'
  fi
done
[ $done_well -eq 1 ] || fail "$done_well of four simulates say that the folder is theirs"
nothing_left 'four simulates'
"$program" sweep "$sweep" --out contested -j1 --timelines none >stdout 2>stderr &
process=$!
for _ in $(seq 100); do
  [ -e contested/results.sqlite ] && break
  sleep 0.02
done
if kill -0 $process 2>/dev/null; then
  "$program" sweep one.json --out contested --overwrite >stdout.2 2>stderr.2
  code=$?
  if kill -0 $process 2>/dev/null; then
    [ $code -eq 2 ] || fail 'a sweep into the folder of another'
    grep -qF 'another schedlab is writing' stderr.2 || fail 'no word about the other sweep'
  fi
fi
wait $process || fail 'the sweep that was first'

# Nothing of somebody else is lost.
expect 0 '' "$program" export notebook simulated
expect 0 '' "$program" export notebook simulated
sed -i 's/kernelspec/kernelspec /' simulated/notebook.ipynb
expect 2 'notebook.ipynb: found a notebook that was changed since it was exported' \
  "$program" export notebook simulated
expect 2 'notebook.ipynb (changed since it was written)' "$program" simulate one.json --out simulated --overwrite
expect 0 '' "$program" export notebook simulated --overwrite
expect 0 '' "$program" simulate one.json --out simulated --overwrite --no-trace
[ ! -e simulated/trace.json ] || fail 'a trace in spite of --no-trace'
mkdir -p foreign/precious
echo x >foreign/precious/thesis.tex
touch foreign/metrics.json foreign/trace.json
expect 2 'foreign: found a folder that schedlab has not made' "$program" simulate one.json --out foreign --overwrite
[ -e foreign/precious/thesis.tex ] || fail 'the thesis'
nothing_left 'all of them'

# Messages.
printf '\0\0a' >zeros.txt
expect 2 '\x00' "$program" graph zeros.txt
expect 2 'found the unknown machine "nope"' "$program" graph one.json --machine nope
echo 'digraph { a [duration=3] }' >unit.dot
expect 2 'duration_us is in microseconds' "$program" graph unit.dot
expect 2 'expected no value: it is a flag' "$program" graph graph.dot --json=maybe
cat >times.json <<'JSON'
{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": "never", "dur": 1, "args": {"stream": 7}},
                 {"ph": "X", "cat": "cpu_op", "name": "op", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]}
JSON
expect 2 'no activity of a device that can be used (event_without_time: 1' "$program" replay times.json
: >empty.json
expect 2 'found an empty file' "$program" plot empty.json --out none.svg
expect 0 '' "$program" plot swept_pipe/../together --out pictures/
[ -e pictures/timeline.svg ] || fail 'plot into a folder'
expect 0 '' "$program" plot swept_pipe/../together swept_pipe/../together --out both.html
[ "$(grep -c 'id="runs"' both.html)" = 1 ] || fail 'plot of two runs to explore'
exit 0
