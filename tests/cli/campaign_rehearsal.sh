#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Dress rehearsal of a campaign on a borrowed machine, which is taken away at any time and keeps nothing: nvidia-smi is a
# fake, and so is the device, whose place this computer's cores take with a small network; predictions, measurements,
# recordings, reports are real. Killed at random moments (all processes, SIGKILL), a campaign must leave a summary and
# archives that can be read and are small enough to come back, and from them must go on to its end on a bare machine.
# SCHEDLAB_REHEARSAL_KILLS: how often it is killed (3).
#   campaign_rehearsal.sh PROGRAM CAMPAIGN_SCRIPT MACHINE_FILE NVIDIA_SMI FOLDER
set -euo pipefail
program=$1
script=$2
machine=$3
smi=$4
folder=$5
kills=${SCHEDLAB_REHEARSAL_KILLS:-3}
RANDOM=29
rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/home"
install -m 755 "$smi" "$folder/bin/nvidia-smi"
export SMALL=$folder/small.json ONE=$folder/one.json REAL=$program MACHINE=$machine

fail() {
  echo "error: $1" >&2
  tail -n 40 "$folder/output" >&2 || true
  exit 1
}

cat >"$SMALL" <<'END'
{
  "workload": {"kind": "lstm", "pass": "backward", "layers": 2, "hidden": 16, "batch": 4, "steps": 3,
               "data_type": "fp32"},
  "machine": "manycore_cpu", "launch": "graph_launch", "policy": ["single_stream", "critical_first"]
}
END
sed 's/"policy": .*/"policy": "single_stream"}/; $d' "$SMALL" >"$ONE"

# The small network on this computer's cores, whatever the spec and the device.
cat >"$folder/bin/schedlab" <<'END'
#!/usr/bin/env bash
set -euo pipefail
if [ "$2" = --help ]; then exec "$REAL" "$@"; fi
verb=$1
all="$*"
arguments=("$verb" "$SMALL")
out=
shift 2
while [ "$#" -gt 0 ]; do
  case $1 in
    --out) out=$2 ;;
  esac
  case $1 in
    --device) arguments+=(--device cpu --host preloaded) && shift ;;
    --machine | --library | --allocate | --turns | --products | --connections) shift ;;
    --repetitions | --warm-up) arguments+=("$1" 2) && shift ;;
    --draws) arguments+=(--draws 2) && shift ;;
    --profile | --check | --no-memory-time) ;;
    *) arguments+=("$1") ;;
  esac
  shift
done
case $all in
  calibrate*)
    sleep 0.3
    cp "$MACHINE" "$out"
    ;;
  *--predict-only*) "$REAL" "${arguments[@]}" ;;
  *baseline*--profile*) # a long recording
    mkdir -p "$out"
    head -c 20000000 /dev/urandom >"$out/kineto.json.gz"
    ;;
  baseline*)
    "$REAL" "${arguments[@]}" --library onednn || {
      echo "without oneDNN"
      mkdir -p "$out"
      echo 'workload,library,algorithm,launch,call,median_us,min_us,max_us,runs' >"$out/baseline.csv"
    }
    ;;
  execute*) "$REAL" execute "$ONE" --device cpu --repetitions 1 --out "$out" --overwrite ;;
  buckets*)
    mkdir -p "$out" && sleep 0.3 && echo "{}" >"$out/executed.json"
    echo "rule,buckets,epoch_s" >"$out/buckets.csv"
    ;;
  *) "$REAL" "${arguments[@]}" ;;
esac
END
chmod +x "$folder/bin/"*

# OUT ARGUMENT...: in a session of its own, so that all of it can be killed; $! is its leader.
start() {
  local out=$1
  shift
  PATH="$folder/bin:$PATH" setsid bash "$script" --program "$folder/bin/schedlab" --tests "$folder/none" --quick \
    --out "$out" --archive-to "$folder/home" "$@" </dev/null >"$folder/output" 2>&1 &
}

# What is in home/ can be read, and a machine that keeps eight files of 16 MiB would let it go.
check_home() {
  local file list
  [ "$(find "$folder/home" -type f | wc -l)" -le 8 ] || fail "more than 8 files: $(ls "$folder/home")"
  [ -z "$(find "$folder/home" -type f -size +16383k)" ] || fail "a file of more than 16 MiB: $(ls -l "$folder/home")"
  head -n 1 "$folder/home/summary.md" | grep -q '^# Campaign on nvidia_h200' || fail "no summary"
  [ "$(wc -c <"$folder/home/small.tar.gz")" -lt 5000000 ] || fail "small.tar.gz is not small"
  list=$(tar -tzf "$folder/home/small.tar.gz") || fail "small.tar.gz cannot be read"
  for file in ./summary.md ./environment.txt ./.done/environment; do
    grep -qxF "$file" <<<"$list" || fail "small.tar.gz has no $file: $list"
  done
  while read -r file; do # "cat large_x.tar.gz.* | tar -xz"
    cat "$folder/home/large_$file.tar.gz."* | tar -tz >/dev/null || fail "large_$file.tar.gz cannot be read"
  done < <(sed -n 's/^\* of \([a-z]*\): cat.*/\1/p' "$folder/home/summary.md")
}

# What the next machine, a bare one, has from the one before.
resume=()
take_home() {
  rm -rf "$folder/back"
  mv "$folder/home" "$folder/back"
  mkdir "$folder/home"
  resume=(--resume "$folder/back")
}

for kill in $(seq "$kills"); do
  start "$folder/out_$kill" "${resume[@]}"
  leader=$!
  sleep "$((2 + RANDOM % 10)).$((RANDOM % 10))"
  { pkill -KILL -s "$leader" || true; wait "$leader" || true; } 2>/dev/null
  if [ -s "$folder/home/small.tar.gz" ]; then
    check_home
    echo "killed $kill: $(tar -tzf "$folder/home/small.tar.gz" | grep -c '^./.done/') sections are home"
    take_home
    if ! grep -q '| not run |' "$folder/back/summary.md"; then resume=(); fi # at its end: from the start again
  fi
done
for part in 1 2 3; do
  start "$folder/part_$part" --part "$part" "${resume[@]}"
  wait "$!" || fail "part $part does not come to its end"
  check_home
  done_sections=$(grep -c ' | done | ' "$folder/home/summary.md")
  echo "part $part: $done_sections sections are done"
  [ "$done_sections" -ge "$((part == 1 ? 7 : part == 2 ? 10 : 12))" ] || fail "part $part: too few are done"
  if [ "$part" -lt 3 ]; then take_home; fi
done
# Grids and buckets: what was predicted is from before, and whole.
tar -xzf "$folder/home/small.tar.gz" -C "$folder/part_3" --wildcards '*/predictions.sha256' '*/predictions_*' || fail "no predictions"
[ "$(grep -c ' predictions_' "$folder/part_3/predictions.sha256")" -eq 6 ] || fail "not all is predicted"
(cd "$folder/part_3" && grep ' predictions_' predictions.sha256 | sha256sum --check --quiet) || fail "predictions have changed"
grep -q '^== environment' "$folder/output" || fail "no environment of the last machine"
grep -q '^| quoted | [0-9]* | 1785 | .* | power cap ([0-9]* %) |$' "$folder/home/summary.md" || fail "no clocks in the summary"

# Told to end: what runs is interrupted, the rest is written.
rm -rf "${folder:?}/home"
start "$folder/out_stopped"
leader=$!
until [ -e "$folder/out_stopped/.done/predict" ] && [ -e "$folder/out_stopped/.running" ]; do
  kill -0 "$leader" || fail "it ended before"
  sleep 0.1
done
kill -TERM "$leader"
status=0
wait "$leader" || status=$?
[ "$status" -eq 1 ] || fail "exit code $status after a request to end"
check_home
grep -q '| validate | not run |' "$folder/home/summary.md" || fail "it went on"
sleep 0.5
! pgrep -r D,R,S -s "$leader" >/dev/null || fail "processes are left: $(pgrep -a -s "$leader")"

# Too little time: what is left out is named. An archive of another device is refused, and one of nothing.
start "$folder/out_short" --minutes 0.1 --resume "$folder/home"
wait "$!" || fail "a campaign that has too little time failed"
grep -q '| sequences | not run: no time left |' "$folder/home/summary.md" || fail "what is left out is not named"
grep -q '^no time was left for: .*sequences' "$folder/output" || fail "what is left out is not said"
export FAKE_DEVICE="NVIDIA H100"
start "$folder/out_other" --resume "$folder/home"
! wait "$!" || fail "the archive of an H200 goes on on an H100"
grep -q 'has a campaign on nvidia_h200, and this is nvidia_h100' "$folder/output" || fail "no reason"
start "$folder/out_none" --resume "$folder/none"
! wait "$!" || fail "an archive that is not there is taken"
