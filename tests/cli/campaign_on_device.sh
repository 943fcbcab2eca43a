#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The campaign script as on a machine with a CUDA device, without one: nvidia-smi and the program are fakes. Sections
# come in their order with the device's arguments, which the real program must take; a section that hangs is ended and
# the next one starts; libraries are found among Python's packages; results are packed.
#   campaign_on_device.sh PROGRAM CAMPAIGN_SCRIPT MACHINE_FILE NVIDIA_SMI FOLDER
set -euo pipefail
program=$1
script=$2
machine=$3
smi=$4
folder=$5
rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/site/nvidia/cudnn/lib"
touch "$folder/site/nvidia/cudnn/lib/libcudnn.so.9"

fail() {
  echo "error: $1" >&2
  cat "$folder/output" "$folder/calls" 2>/dev/null >&2 || true
  exit 1
}

install -m 755 "$smi" "$folder/bin/nvidia-smi"

# Notes its call. The real program then says that there is no device (1), or makes its predictions (0); 2 would be a
# wrong argument. What a device would have left is made up.
cat >"$folder/bin/schedlab" <<'END'
#!/usr/bin/env bash
echo "$*" >>"$CALLS"
echo "$LD_LIBRARY_PATH" >"$CALLS.libraries"
if [ "$1" = "${HANGS:-}" ]; then sleep 60; fi
status=0
case $* in
  *--predict-only*gpu_backward* | *--predict-only*gpu_quoted*) ;; # as the other grid, which is smaller
  *gpu_buckets*--no-memory-time*predictions_*) ;; # takes some seconds
  *) "$REAL" "$@" || status=$? ;;
esac
[ "$status" -lt 2 ] || exit "$status"
while [ "$#" -gt 0 ]; do
  if [ "$1" = --out ] || [ "$1" = --record ]; then
    case $2 in
      *.json) cp "$MACHINE" "$2" ;;
      *) mkdir -p "$2" && touch "$2/predictions.csv" "$2/buckets.csv" ;;
    esac
  fi
  shift
done
END
chmod +x "$folder/bin/"*

campaign() {
  local expected=$1 status=0
  shift
  rm -f "$folder/calls"
  env -u LD_LIBRARY_PATH PATH="$folder/bin:$PATH" PYTHONPATH="$folder/site" REAL="$program" CALLS="$folder/calls" MACHINE="$machine" \
    HANGS="${HANGS:-}" bash "$script" --program "$folder/bin/schedlab" --tests "$folder/none" --quick \
    --out "$folder/out" "$@" >"$folder/output" 2>&1 || status=$?
  [ "$status" -eq "$expected" ] || fail "exit code $status, expected $expected: campaign $*"
}

campaign 0
sections=$(awk '/^== / { print $2 }' "$folder/output" | tr '\n' ' ')
[ "$sections" = "environment build numerics calibrate predict quoted validate traces baseline backward crossover sequences " ] ||
  fail "sections: $sections"
verbs=$(cut -d' ' -f1 "$folder/calls" | tr '\n' ' ')
# numerics, calibrate, predict (five grids and buckets), quoted (the library before and after), validate, traces (the library, a
# plan), baseline, backward, crossover, sequences
[ "$verbs" = "baseline calibrate validate validate validate validate validate buckets baseline validate validate baseline execute baseline validate validate validate buckets " ] || fail "verbs: $verbs"
# Predictions are older than measurements, of the same specs, for the same device.
for line in 3 4 5 6 7 10 11 15 16 17; do
  sed -n "${line}p" "$folder/calls" | grep -q -- '--device cuda' || fail "call $line is not of the device"
done
sed -n 3,7p "$folder/calls" | grep -c -- --predict-only | grep -qx 5 || fail "predictions are not the first"
sed -n 10,11p "$folder/calls" | grep -c -- --record | grep -qx 2 || fail "what is measured is not recorded"
sed -n 9p "$folder/calls" | grep -q gpu_quoted || fail "the quoted network is not the first"
grep -q "$folder/site/nvidia/cudnn/lib" "$folder/calls.libraries" || fail "Python's packages are not looked at for libraries"
grep -q 'libcudnn: .*/libcudnn.so' "$folder/out/environment.txt" || fail "cuDNN was not found"
[ -s "$folder/out/small.tar.gz" ] || fail "no small.tar.gz"

# All but what hangs is done.
rm -rf "$folder/out"
HANGS=calibrate campaign 1 --section-seconds 2 environment calibrate build summary
grep -q 'calibrate | failed: stopped: its time was over' "$folder/out/summary.md" ||
  fail "the summary does not say that calibrate was stopped: $(cat "$folder/out/summary.md")"
grep -q 'build | done' "$folder/out/summary.md" || fail "the next section did not run"
