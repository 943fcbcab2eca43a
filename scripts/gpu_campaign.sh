#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that is measured on a device, in one command and one folder: build, numerics, calibration, predictions
# written before anything is measured, a vendor library's own routines, every policy, comparison. docs/gpu_campaign.md
# says what comes out.
#   scripts/gpu_campaign.sh [--device cuda|cpu] [--out DIR] [--program FILE] [--tests DIR] [--minutes N] [--quick]
#                           [SECTION]...
#     sections, the important ones first: environment build numerics calibrate predict baseline backward validate
#     crossover sequences traces summary; without any: all that this folder does not have yet, so that a campaign that
#     was cut off goes on
#     --program FILE   a schedlab that is built already: nothing is built
#     --tests DIR      build folder whose tests labelled gpu are the numerics; by default that of the program
#     --minutes N      stop starting sections after N minutes (9); what was measured until then is there
#     --quick          few repetitions, for a look
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

device=cuda
out=
program=
tests=
minutes=9
quick=
sections=()
usage() { sed -n '6,15s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

while [ "$#" -gt 0 ]; do
  case $1 in
    --device | --out | --program | --tests | --minutes)
      if [ "$#" -lt 2 ]; then
        echo "error: $1 needs a value" >&2
        exit 2
      fi
      case $1 in
        --device) device=$2 ;;
        --out) out=$2 ;;
        --program) program=$2 ;;
        --tests) tests=$2 ;;
        --minutes) minutes=$2 ;;
      esac
      shift
      ;;
    --quick) quick=1 ;;
    -h | --help)
      usage
      exit 0
      ;;
    environment | build | numerics | calibrate | predict | baseline | backward | validate | crossover | sequences | traces | summary)
      sections+=("$1")
      ;;
    *)
      echo "error: unknown argument \"$1\"" >&2
      usage >&2
      exit 2
      ;;
  esac
  shift
done

case $device in
  cuda)
    library=cudnn
    validate_spec=experiments/gpu_validate.json
    backward_spec=experiments/gpu_backward.json
    numerics_spec=experiments/gpu_numerics.json
    recompute_spec=experiments/gpu_recompute.json
    buckets_spec=experiments/gpu_buckets.json
    device_arguments=(--device cuda)
    crossover_arguments=(--device cuda)
    base_cpu=()
    ;;
  cpu)
    library=onednn
    validate_spec=experiments/validate_quick.json
    backward_spec=experiments/cpu_backward.json
    numerics_spec=experiments/cpu_backward.json
    recompute_spec=experiments/validate_recompute.json
    buckets_spec=experiments/execute_buckets.json
    device_arguments=(--device cpu --host preloaded)
    crossover_arguments=(--device cpu --host own_core) # the host's calls are what is measured
    base_cpu=(--quick)
    ;;
  *)
    echo "error: --device \"$device\": expected cuda or cpu" >&2
    exit 2
    ;;
esac

crossover_spec=experiments/host_crossover.json

if [ "$device" = cuda ] && ! nvidia-smi -L >/dev/null 2>&1; then
  echo "error: no CUDA device: nvidia-smi is missing or lists none" >&2
  echo "  run this on a machine with an NVIDIA device and its driver, or try --device cpu" >&2
  exit 1
fi

name=$device
if [ "$device" = cuda ]; then
  name=$(nvidia-smi --query-gpu=name --format=csv,noheader -i 0 | tr '[:upper:] ' '[:lower:]_' | tr -cd 'a-z0-9_')
fi
out=${out:-out/campaign_${name}_$(date -u +%F)}
mkdir -p "$out/.done" "$out/log"

repetitions=(--repetitions 15)
draws=(--draws 40)
library_repetitions=(--repetitions 30)
passes=(--repetitions 3)
if [ -n "$quick" ]; then
  repetitions=(--repetitions 5 --warm-up 1)
  draws=(--draws 10)
  library_repetitions=(--repetitions 5 --warm-up 1)
  passes=(--repetitions 1)
  if [ "$device" = cpu ]; then
    recompute_spec=experiments/recompute_quick.json
    buckets_spec=experiments/buckets_quick.json
  fi
fi

SECONDS=0
limit=$((minutes * 60))

# A program that hangs must not keep the rest from being written: it is interrupted a minute after the time is over.
bounded() {
  timeout --signal=INT --kill-after=20 "$((limit > SECONDS ? limit - SECONDS + 60 : 60))" "$@"
}

# The machine file that the predictions are made with: what was calibrated, else what the data sheet says.
machine_arguments() {
  if [ -s "$out/machine.json" ]; then
    printf '%s\n' --machine "$out/machine.json"
  fi
}

section_environment() {
  {
    echo "date: $(date -u +%FT%TZ)"
    echo "commit: $(git rev-parse HEAD 2>/dev/null || echo unknown)$(git diff --quiet 2>/dev/null || echo ' with changes')"
    echo "device: $name"
    grep -m1 'model name' /proc/cpuinfo | sed 's/.*: /processor: /' || true
    echo "cores: $(nproc)"
    echo "kernel: $(uname -r)"
    if [ "$device" = cuda ]; then
      nvidia-smi --query-gpu=name,driver_version,compute_cap,memory.total,clocks.max.sm,clocks.max.mem,power.limit \
        --format=csv
      nvcc --version 2>/dev/null | tail -n 2 || true
    fi
  } | tee "$out/environment.txt"
}

section_build() {
  if [ -n "$program" ]; then
    echo "not built: $program was given"
    return
  fi
  if [ "$device" = cpu ]; then
    cmake --preset release >"$out/log/configure.log" 2>&1
    cmake --build --preset release >"$out/log/compile.log" 2>&1
    return
  fi
  local capability
  capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader -i 0 | tr -d '.')
  cmake --preset cuda "-DSCHEDLAB_CUDA_ARCHITECTURES=${capability}-real" "-DSCHEDLAB_TEST_LABELS=gpu" \
    >"$out/log/configure.log" 2>&1
  cmake --build --preset cuda >"$out/log/compile.log" 2>&1
}

section_numerics() {
  local folder=${tests:-$(dirname "$program")}
  if [ "$device" = cuda ] && [ -s "$folder/CTestTestfile.cmake" ]; then
    bounded ctest --test-dir "$folder" -L gpu --output-on-failure --no-tests=error
  elif [ "$device" = cuda ]; then
    if [ -x "$folder/cuda_device_test" ]; then # of a packed program (pack_program.sh)
      bounded "$folder/cuda_device_test"
    fi
  fi
  bounded "$program" baseline "$numerics_spec" --library "$library" --check --repetitions 1 --warm-up 0 \
    --out "$out/numerics" --overwrite
}

section_calibrate() {
  bounded "$program" calibrate --device "$device" "${base_cpu[@]}" --out "$out/machine.json"
}

# What is in this folder is older than every measurement that it is compared with.
section_predict() {
  local machine arguments
  mapfile -t machine < <(machine_arguments)
  for spec in "$backward_spec" "$validate_spec" "$crossover_spec" "$recompute_spec"; do
    arguments=("${device_arguments[@]}")
    if [ "$spec" = "$crossover_spec" ]; then
      if [ "$device" = cuda ] && [ "${#machine[@]}" -eq 0 ]; then continue; fi # as in section crossover
      arguments=("${crossover_arguments[@]}")
    fi
    bounded "$program" validate "$spec" "${arguments[@]}" "${machine[@]}" "${draws[@]}" --predict-only \
      --out "$out/predictions_$(basename "$spec" .json)" --overwrite
  done
  (cd "$out" && date -u +%FT%TZ && sha256sum predictions_*/predictions.csv) | tee "$out/predictions.sha256"
}

section_baseline() {
  bounded "$program" baseline "$backward_spec" --library "$library" "${library_repetitions[@]}" --out "$out/baseline" --overwrite
}

# SPEC FOLDER ARGUMENT...: predicted as in section predict, measured with these arguments, recorded, compared.
measure() {
  local spec=$1 folder=$2 machine
  shift 2
  mapfile -t machine < <(machine_arguments)
  bounded "$program" validate "$spec" "${machine[@]}" "${draws[@]}" "${repetitions[@]}" \
    --kept-traces 1 --record "$out/${folder}_recording" --out "$out/$folder" --overwrite "$@" | tee "$out/$folder.txt"
}

section_backward() {
  local against=()
  if [ -s "$out/baseline/baseline.json" ]; then
    against=(--baseline "$out/baseline/baseline.json")
  fi
  measure "$backward_spec" backward "${device_arguments[@]}" "${against[@]}"
}

section_validate() {
  measure "$validate_spec" validation "${device_arguments[@]}"
}

# What loading a device graph gains over launching operator by operator, over operator sizes.
section_crossover() {
  if [ "$device" = cuda ] && [ ! -s "$out/machine.json" ]; then
    echo "error: $out/machine.json is missing: $crossover_spec describes no CUDA device; run section calibrate first" >&2
    exit 1
  fi
  measure "$crossover_spec" crossover "${crossover_arguments[@]}"
}

# Recomputation: memory that is really allocated, and time; and passes over sequences of different lengths, trained for
# real in buckets.
section_sequences() {
  local machine
  mapfile -t machine < <(machine_arguments)
  measure "$recompute_spec" recompute "${device_arguments[@]}" --allocate by_tensor
  bounded "$program" buckets "$buckets_spec" --execute "$device" "${machine[@]}" "${passes[@]}" --no-memory-time \
    --out "$out/buckets" --overwrite | tee "$out/buckets.txt"
}

# One plan as a picture and for Perfetto, and how many kernels the library has in flight; last, as the profiler costs
# time.
section_traces() {
  local profile=()
  if [ "$device" = cuda ]; then
    profile=(--profile)
    bounded "$program" baseline "$backward_spec" --library "$library" --profile --warm-up 1 \
      --out "$out/baseline_profile" --overwrite
  fi
  bounded "$program" execute "experiments/campaign_timeline.json" --device "$device" "${profile[@]}" \
    --out "$out/timeline" --overwrite
}

section_summary() {
  {
    echo "# Campaign on $name"
    echo
    sed 's/^/    /' "$out/environment.txt" 2>/dev/null || true
    echo
    echo "| section | outcome | seconds |"
    echo "|---|---|---|"
    for mark in environment build numerics calibrate predict baseline backward validate crossover sequences traces; do
      if [ -s "$out/.done/$mark" ]; then
        echo "| $mark | done | $(cat "$out/.done/$mark") |"
      elif [ -s "$out/log/$mark.failed" ]; then
        echo "| $mark | failed: $(tail -n 1 "$out/log/$mark.failed" | tr '|' ' ' | cut -c1-200) | |"
      else
        echo "| $mark | not run | |"
      fi
    done
    for text in backward validation crossover recompute buckets; do
      if [ -s "$out/$text.txt" ]; then
        echo
        echo "## $text"
        echo
        sed 's/^/    /' "$out/$text.txt"
      fi
    done
  } >"$out/summary.md"
  # Written elsewhere first: a folder must not change while it is packed.
  local packed
  packed=$(mktemp)
  tar -C "$out" -czf "$packed" --exclude=./results.tar.gz .
  mv "$packed" "$out/results.tar.gz"
  echo "$out/summary.md, $out/results.tar.gz"
}

if [ -z "$program" ]; then
  if [ "$device" = cuda ]; then program=build/cuda/schedlab; else program=build/release/schedlab; fi
elif [ ! -x "$program" ]; then
  echo "error: --program $program: no such program" >&2
  exit 2
fi

chosen=("${sections[@]}")
[ "${#sections[@]}" -gt 0 ] || chosen=(environment build numerics calibrate predict baseline backward validate crossover
                                           sequences traces summary)
failed=()
for section in "${chosen[@]}"; do
  if [ "${#sections[@]}" -eq 0 ] && [ -s "$out/.done/$section" ] && [ "$section" != summary ]; then
    echo "== $section: done before"
    continue
  fi
  if [ "$SECONDS" -ge "$limit" ] && [ "$section" != summary ]; then
    echo "== $section: no time left"
    continue
  fi
  echo "== $section"
  begin=$SECONDS
  rm -f "$out/.done/$section" "$out/log/$section.failed"
  # Each section is a process of its own, and not part of a condition, where bash would go on after an error.
  set +e
  (set -euo pipefail; "section_$section") 2>&1 | tee "$out/log/$section.log"
  status=${PIPESTATUS[0]}
  set -e
  if [ "$status" -eq 0 ]; then
    echo "$((SECONDS - begin))" >"$out/.done/$section"
  else
    failed+=("$section")
    tail -n 3 "$out/log/$section.log" >"$out/log/$section.failed"
    echo "== $section failed; $out/log/$section.log"
  fi
done

if [ "${#failed[@]}" -gt 0 ]; then
  echo "failed: ${failed[*]}; run again to try these and what is missing: scripts/gpu_campaign.sh --device $device --out $out"
  exit 1
fi
