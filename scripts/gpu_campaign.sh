#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that is measured on a device, in one command and one folder: build, numerics, calibration, predictions
# written before anything is measured, a vendor library's own routines, every policy, comparison. docs/gpu_campaign.md
# says what comes out.
#   scripts/gpu_campaign.sh [--device cuda|cpu] [--out DIR] [--program FILE] [--tests DIR] [--minutes N]
#                           [--section-seconds N] [--products cublas|cublaslt] [--quick] [SECTION]...
#     sections, the important ones first: environment build numerics calibrate predict baseline backward validate
#     crossover sequences traces summary; without any: all that this folder does not have yet, so that a campaign that
#     was cut off goes on
#     --program FILE   a schedlab that is built already: nothing is built
#     --tests DIR      build folder whose tests labelled gpu are the numerics; by default that of the program
#     --minutes N      stop starting sections after N minutes (9); what was measured until then is there
#     --section-seconds N   interrupt a section after N seconds and start the next one; by default each has a limit of
#                      its own (limit_of, below), with --device cpu none
#     --products WORD  what multiplies matrices on a CUDA device (docs/gpu_execution.md); cublas if left out
#     --quick          few repetitions, for a look
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

device=cuda
out=
program=
tests=
minutes=9
section_seconds=
products=
quick=
sections=()
usage() { sed -n '6,18s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

while [ "$#" -gt 0 ]; do
  case $1 in
    --device | --out | --program | --tests | --minutes | --section-seconds | --products)
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
        --section-seconds) section_seconds=$2 ;;
        --products) products=$2 ;;
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
    device_arguments=(--device cuda ${products:+--products "$products"})
    crossover_arguments=("${device_arguments[@]}")
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

# Seconds that a section may take; more than it is expected to (docs/gpu_campaign.md).
limit_of() {
  if [ -n "$section_seconds" ]; then
    echo "$section_seconds"
  elif [ "$device" = cpu ]; then
    echo 86400 # nobody lends this computer by the minute
  else
    case $1 in
      build) echo 300 ;;
      calibrate | backward) echo 150 ;;
      validate | sequences) echo 120 ;;
      *) echo 60 ;;
    esac
  fi
}

# A program that hangs must not keep the rest from being run and written: it is interrupted when its section's time is
# over, or a minute after that of the campaign, and killed if it does not heed that.
bounded() {
  local left=$((limit - SECONDS + 60))
  if [ "$((section_end - SECONDS))" -lt "$left" ]; then left=$((section_end - SECONDS)); fi
  local status=0
  timeout --signal=INT --kill-after=10 "$((left > 1 ? left : 1))" "$@" || status=$?
  if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
    echo "stopped: its time was over after $((SECONDS - section_begin)) s"
  fi
  return "$status"
}

# The program opens cuBLAS, cuDNN and CUPTI by name. Where the loader does not find them they may lie in a toolkit's
# folder, or among Python's packages, as PyTorch's do.
add_library_folders() {
  local folder
  while read -r folder; do
    if compgen -G "$folder/lib*.so*" >/dev/null && [[ ":${LD_LIBRARY_PATH:-}:" != *":$folder:"* ]]; then
      LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
    fi
  done < <(
    printf '%s\n' /usr/local/cuda/lib64 /usr/local/cuda/extras/CUPTI/lib64
    python3 -c 'import glob, sys
for path in sys.path:
    for name in sorted(glob.glob(path + "/nvidia/*/lib")):
        print(name)' 2>/dev/null || true
  )
  export LD_LIBRARY_PATH
}
if [ "$device" = cuda ]; then add_library_folders; fi

# The newest file of that name in those folders or where the loader looks; "not found".
library_file() {
  local folder
  IFS=: read -ra folders <<<"${LD_LIBRARY_PATH:-}"
  for folder in "${folders[@]}"; do
    compgen -G "$folder/$1.so.*" && return
  done
  ldconfig -p 2>/dev/null | awk -v name="$1.so" 'index($1, name) == 1 { print $NF; found = 1; exit } END { exit !found }' ||
    echo "not found"
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
      for opened in libcublas libcudnn libcupti; do
        echo "$opened: $(library_file "$opened" | head -n 1)"
      done
    fi
  } | tee "$out/environment.txt"
}

section_build() {
  if [ -n "$program" ]; then
    echo "not built: $program was given"
    return
  fi
  if [ "$device" = cpu ]; then
    bounded cmake --preset release >"$out/log/configure.log" 2>&1
    bounded cmake --build --preset release >"$out/log/compile.log" 2>&1
    return
  fi
  local capability
  capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader -i 0 | tr -d '.')
  bounded cmake --preset cuda "-DSCHEDLAB_CUDA_ARCHITECTURES=${capability}-real" "-DSCHEDLAB_TEST_LABELS=gpu" \
    >"$out/log/configure.log" 2>&1
  bounded cmake --build --preset cuda >"$out/log/compile.log" 2>&1 || {
    tail -n 3 "$out/log/compile.log"
    return 1
  }
}

section_numerics() {
  local folder=${tests:-$(dirname "$program")} failed=0
  if [ "$device" = cuda ] && [ -s "$folder/CTestTestfile.cmake" ]; then
    bounded ctest --test-dir "$folder" -L gpu --output-on-failure --no-tests=error || failed=1
  elif [ "$device" = cuda ]; then
    if [ -x "$folder/cuda_device_test" ]; then # of a packed program (pack_program.sh)
      bounded "$folder/cuda_device_test" || failed=1
    fi
  fi
  # Whatever came of ours, the library's networks are worth a look.
  bounded "$program" baseline "$numerics_spec" --library "$library" --check --repetitions 1 --warm-up 0 \
    --out "$out/numerics" --overwrite || failed=1
  return "$failed"
}

section_calibrate() {
  bounded "$program" calibrate --device "$device" ${products:+--products "$products"} "${base_cpu[@]}" --out "$out/machine.json"
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
  if [ "$device" = cuda ] && python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
    bounded python3 scripts/torch_cuda_lstm.py "$backward_spec" --out "$out/torch_lstm.csv" ||
      echo "note: PyTorch's LSTM was not timed"
  fi
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
  local timeline=(execute experiments/campaign_timeline.json "${device_arguments[@]:0:2}" --out "$out/timeline" --overwrite)
  if [ "$device" = cpu ]; then
    bounded "$program" "${timeline[@]}"
    return
  fi
  timeline+=(${products:+--products "$products"})
  local failed=0
  # Without the profiler the times are those of events.
  bounded "$program" "${timeline[@]}" --profile || bounded "$program" "${timeline[@]}" || failed=1
  bounded "$program" baseline "$backward_spec" --library "$library" --profile --warm-up 1 \
    --out "$out/baseline_profile" --overwrite || failed=1
  return "$failed"
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
  section_begin=$begin
  section_end=$((begin + $(limit_of "$section")))
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
