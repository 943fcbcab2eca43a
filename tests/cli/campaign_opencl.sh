#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The campaign script on the first OpenCL device of this computer, in short: predictions, measurements eagerly launched,
# passes over sequences. Without section calibrate, which takes minutes there.
#   campaign_opencl.sh PROGRAM CAMPAIGN_SCRIPT FOLDER
set -euo pipefail
program=$1
script=$2
folder=$3
rm -rf "$folder"
if ! "$program" list devices | grep -q 'opencl:0'; then
  echo "skipped: no OpenCL device"
  exit 0
fi
fail() {
  echo "error: $1" >&2
  cat "$folder/output" >&2
  exit 1
}
mkdir -p "$folder"
bash "$script" --device opencl --quick --program "$program" --out "$folder/out" environment build predict validate sequences \
  >"$folder/output" 2>&1 || fail "the campaign failed"
for file in predictions_validate_opencl/predictions.csv predictions_cpu_backward/predictions.csv validation/validation.json \
  validation_recording/recording.json recompute/validation.json buckets/executed.json small.tar.gz; do
  [ -e "$folder/out/$file" ] || fail "$file is missing"
done
grep -q 'opencl:0' "$folder/out/environment.txt" || fail "the environment does not name the device"
grep -q '6 compared' "$folder/out/validation.txt" || fail "not all plans were executed"
grep -q '"launch": "eager"' "$folder/out/validation_recording/spec.json" || fail "the recorded spec is not launched eagerly"
