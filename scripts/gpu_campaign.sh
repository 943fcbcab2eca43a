#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that is measured on a device, in one command and one folder: build, numerics, calibration, predictions
# written before anything is measured, a vendor library's own routines, every policy, comparison. docs/gpu_campaign.md
# says what comes out.
#   scripts/gpu_campaign.sh [--device cuda|cpu|opencl] [--out DIR] [--archive-to DIR] [--program FILE] [--tests DIR]
#                           [--minutes N] [--part 1|2|3] [--resume ARCHIVE] [--section-seconds N]
#                           [--products cublas|cublaslt] [--connections N] [--base MACHINE] [--quick] [SECTION]...
#     sections, the important ones first: environment build numerics calibrate predict quoted validate traces baseline
#     backward crossover sequences summary; without any: all that this folder does not have yet, so that a campaign that
#     was cut off goes on
#     --archive-to DIR summary.md, small.tar.gz (below 5 MB) and pieces of 15 MB of what is large, at most 8 files,
#                      after every section; the folder of --out if left out
#     --program FILE   a schedlab that is built already: nothing is built
#     --tests DIR      build folder whose tests labelled gpu are the numerics; by default that of the program
#     --minutes N      everything ends after N minutes (8), without the build; below 8 the sections' limits shrink, too
#     --part N         the sections of parts 1 to N that are missing: 1 ends with validate, 2 with backward, 3 with
#                      sequences; each part fits in 8 minutes
#     --resume ARCHIVE goes on from a small.tar.gz, or the folder that it is in, on another machine of the same device
#     --section-seconds N   interrupt a section after N seconds and start the next one; by default each has a limit of
#                      its own (limit_of, below), with --device cpu or opencl none
#     --products WORD  what multiplies matrices on a CUDA device (docs/gpu_execution.md); cublas if left out
#     --connections N  hardware connections of a CUDA device, 1 to 32; CUDA's own choice (8) if left out
#     --base MACHINE   what an OpenCL device resembles, whose numbers stay where nothing is measured; manycore_cpu if left out
#     --quick          few repetitions, for a look
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

device=cuda
out=
archive_to=
program=
tests=
minutes=8
part=
resume=
section_seconds=
products=
connections=
base=manycore_cpu
quick=
sections=()
usage() { sed -n '6,28s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
fail() {
  printf 'error: %s\n' "$@" >&2
  exit 2
}

while [ "$#" -gt 0 ]; do
  case $1 in
    --device | --out | --archive-to | --program | --tests | --minutes | --part | --resume | --section-seconds | --products | --connections | --base)
      if [ "$#" -lt 2 ]; then
        fail "$1 needs a value"
      fi
      case $1 in
        --device) device=$2 ;;
        --out) out=$2 ;;
        --archive-to) archive_to=$2 ;;
        --program) program=$2 ;;
        --tests) tests=$2 ;;
        --minutes) minutes=$2 ;;
        --part) part=$2 ;;
        --resume) resume=$2 ;;
        --section-seconds) section_seconds=$2 ;;
        --products) products=$2 ;;
        --connections) connections=$2 ;;
        --base) base=$2 ;;
      esac
      shift
      ;;
    --quick) quick=1 ;;
    -h | --help)
      usage
      exit 0
      ;;
    environment | build | numerics | calibrate | predict | quoted | validate | traces | baseline | backward | crossover | sequences | summary)
      sections+=("$1")
      ;;
    *)
      usage >&2
      fail "unknown argument \"$1\""
      ;;
  esac
  shift
done
for number in "${section_seconds:-1}" "${connections:-1}"; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || fail "\"$number\": --section-seconds and --connections expect a whole number, 1 or more"
done
[[ $minutes =~ ^[0-9]+([.][0-9]+)?$ ]] || fail "--minutes \"$minutes\": expected a number"

all_sections=(environment build numerics calibrate predict quoted validate traces baseline backward crossover sequences)
planned=("${all_sections[@]}")
case $part in
  '' | 3) ;;
  1) planned=("${all_sections[@]:0:7}") ;;
  2) planned=("${all_sections[@]:0:10}") ;;
  *) fail "--part \"$part\": expected 1, 2 or 3" ;;
esac

case $device in
  cuda)
    library=cudnn
    quoted_spec=experiments/gpu_quoted.json
    validate_spec=experiments/gpu_validate.json
    backward_spec=experiments/gpu_backward.json
    numerics_spec=experiments/gpu_numerics.json
    recompute_spec=experiments/gpu_recompute.json
    buckets_spec=experiments/gpu_buckets.json
    device_arguments=(--device cuda ${products:+--products "$products"} ${connections:+--connections "$connections"})
    crossover_arguments=("${device_arguments[@]}")
    ;;
  cpu)
    library=onednn
    quoted_spec=experiments/cpu_backward.json
    validate_spec=experiments/validate_quick.json
    backward_spec= # all of it is quoted
    numerics_spec=experiments/cpu_backward.json
    recompute_spec=experiments/validate_recompute.json
    buckets_spec=experiments/execute_buckets.json
    device_arguments=(--device cpu --host preloaded)
    crossover_arguments=(--device cpu --host own_core) # the host's calls are what is measured
    ;;
  opencl)
    library=clblast
    quoted_spec=experiments/cpu_backward.json
    validate_spec=experiments/validate_opencl.json
    backward_spec= # as of the cores
    numerics_spec=experiments/cpu_backward.json
    recompute_spec=experiments/validate_recompute.json
    buckets_spec=experiments/execute_buckets.json
    device_arguments=(--device opencl --launch eager) # no device graphs with products
    crossover_arguments=(--device opencl)
    ;;
  *) fail "--device \"$device\": expected cuda, cpu or opencl" ;;
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
if [ -z "$program" ]; then
  if [ "$device" = cuda ]; then program=build/cuda/schedlab; else program=build/release/schedlab; fi
  program_given=
elif [ ! -x "$program" ]; then
  fail "--program $program: no such program"
else
  program_given=1
fi
out=${out:-out/campaign_${name}_$(date -u +%F)}
archive_to=${archive_to:-$out}
mkdir -p "$out" "$archive_to"
if [ -n "$resume" ]; then
  if [ -d "$resume" ]; then resume=$resume/small.tar.gz; fi
  [ -s "$resume" ] || fail "--resume $resume: no such archive; expected a small.tar.gz of a campaign, or its folder"
  [ ! -e "$out/.done" ] || fail "--resume: $out has a campaign already, which goes on without it; use another --out"
  tar -xzf "$resume" -C "$out"
  if [ -s "$out/archives.txt" ]; then sed -i 's/^of /before: of /' "$out/archives.txt"; fi
fi
before=$(sed -n "s/^device: //p" "$out/environment.txt" 2>/dev/null | head -n 1 || true)
if [ -n "$before" ] && [ "$before" != "$name" ]; then
  fail "$out has a campaign on $before, and this is $name: what was calibrated there does not hold here; use another --out"
fi
mkdir -p "$out/.done" "$out/log"
# What a further call needs as well.
given="${program_given:+ --program $program}${tests:+ --tests $tests}${products:+ --products $products}"
given+="${connections:+ --connections $connections}${quick:+ --quick}"
if [ "$device" = opencl ]; then given+=" --base $base"; fi
rm -f "$out/.stopped"

repetitions=(--repetitions 15)
draws=(--draws 40)
library_repetitions=(--repetitions 30)
passes=(--repetitions 3)
turns=(--turns 50)
if [ -n "$quick" ]; then
  repetitions=(--repetitions 5 --warm-up 1)
  draws=(--draws 10)
  library_repetitions=(--repetitions 5 --warm-up 1)
  passes=(--repetitions 1)
  turns=(--turns 5)
  if [ "$device" != cuda ]; then
    recompute_spec=experiments/recompute_quick.json
    buckets_spec=experiments/buckets_quick.json
  fi
fi

SECONDS=0
limit=$(awk -v minutes="$minutes" 'BEGIN { print int(60 * minutes) }')
usual_limit=480

# Seconds that a section may take of eight minutes; more than it is expected to (docs/gpu_campaign.md). With fewer minutes
# all shrink but that of the quoted network, which matters most.
limit_of() {
  local seconds=90
  case $1 in
    environment) seconds=30 ;;
    build) seconds=3600 ;;
    crossover) seconds=60 ;;
    quoted | backward) seconds=140 ;;
    sequences) seconds=120 ;;
  esac
  if [ -n "$section_seconds" ]; then
    seconds=$section_seconds
  elif [ "$device" != cuda ]; then
    seconds=$limit # no limit on this computer's time
  elif [ "$limit" -lt "$usual_limit" ] && [ "$1" != build ] && [ "$1" != quoted ]; then
    seconds=$((seconds * limit / usual_limit))
  fi
  echo "$seconds"
}

# Seconds that are left to a program of the present section.
left() {
  local end=$section_end
  if [ "$limit" -lt "$end" ]; then end=$limit; fi
  echo "$((end - SECONDS))"
}

# bounded COMMAND..., within SECONDS COMMAND...: a program that hangs must not keep the rest from being run and written.
# It is interrupted when the time of its section, of the campaign, or those seconds are over, and killed if it does not
# heed that. It has a process group of its own: an interrupt of the script reaches it once, through the trap.
bounded() { within "$(left)" "$@"; }
within() {
  local seconds status=0 program_id
  seconds=$(left)
  if [ "$1" -lt "$seconds" ]; then seconds=$1; fi
  shift
  if [ -e "$out/.stopped" ]; then return 130; fi
  if [ "$seconds" -lt 1 ]; then
    echo "stopped: no time left for: $*"
    return 124
  fi
  timeout --signal=INT --kill-after=10 "$seconds" "$@" &
  program_id=$!
  echo "$program_id" >"$out/.running"
  wait "$program_id" || status=$?
  rm -f "$out/.running"
  if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
    echo "stopped: its time was over after $((SECONDS - section_begin)) s"
  fi
  return "$status"
}

# The program opens cuBLAS, cuDNN and CUPTI by name. Where the loader does not find them they may lie in a toolkit's
# folder, or among Python's packages, as PyTorch's do.
image_libraries=${LD_LIBRARY_PATH:-}
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
if [ "$device" = cuda ]; then
  add_library_folders
  if [ -n "$connections" ]; then export CUDA_DEVICE_MAX_CONNECTIONS=$connections; fi # of the library, too
fi

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

# The first call of a library reads it from disk, a gigabyte in all: meanwhile.
read_libraries() {
  local folder
  IFS=: read -ra folders <<<"${LD_LIBRARY_PATH:-}"
  for folder in "${folders[@]}"; do
    timeout 60 cat "$folder"/lib{cublas,cudnn}*.so.{[0-9],[0-9][0-9]} >/dev/null 2>&1 || true
  done
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
    if git rev-parse HEAD >/dev/null 2>&1; then
      echo "commit: $(git rev-parse HEAD)$(git diff --quiet || echo ' with changes')"
    fi
    if [ -s "$(dirname "$program")/commit.txt" ]; then echo "program packed from: $(cat "$(dirname "$program")/commit.txt")"; fi
    echo "device: $name"
    grep -m1 'model name' /proc/cpuinfo | sed 's/.*: /processor: /' || true
    echo "cores: $(nproc)"
    echo "kernel: $(uname -r)"
    if [ "$device" = opencl ]; then "$program" list devices | grep opencl: || true; fi
    if [ "$device" = cuda ]; then
      echo "connections: ${connections:-"what CUDA takes"}"
      nvidia-smi --query-gpu=name,driver_version,compute_cap,memory.total,clocks.max.sm,clocks.max.mem,power.limit \
        --format=csv
      nvcc --version 2>/dev/null | tail -n 2 || true
      for opened in libcublas libcudnn libcupti; do
        echo "$opened: $(library_file "$opened" | head -n 1)"
      done
    fi
  } | tee -a "$out/environment.txt" # of each part
  if [ "$device" = cuda ]; then nvidia-smi -q >"$out/nvidia_smi.txt" 2>&1 || true; fi
}

section_build() {
  if [ -n "$program_given" ]; then
    echo "not built: $program was given"
    return
  fi
  if [ "$device" != cuda ]; then
    bounded cmake --preset release >"$out/log/configure.log" 2>&1
    bounded cmake --build --preset release >"$out/log/compile.log" 2>&1
    return
  fi
  local capability
  capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader -i 0 | tr -d '.')
  bounded cmake --preset cuda "-DSCHEDLAB_CUDA_ARCHITECTURES=${capability}-real" "-DSCHEDLAB_TEST_LABELS=gpu" \
    >"$out/log/configure.log" 2>&1 || {
    tail -n 3 "$out/log/configure.log"
    return 1
  }
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
      within "$(($(left) * 2 / 3))" "$folder/cuda_device_test" || failed=1
    fi
  fi
  # Whatever came of ours, the library's networks are worth a look.
  bounded "$program" baseline "$numerics_spec" --library "$library" --check --repetitions 1 --warm-up 0 \
    --out "$out/numerics" --overwrite || failed=1
  return "$failed"
}

# In less than eight minutes half of the shapes must do; they are better than none, too.
section_calibrate() {
  local calibrate=("$program" calibrate --device "$device")
  if [ "$device" = cuda ]; then calibrate+=("${device_arguments[@]:2}"); fi
  if [ "$device" = opencl ]; then calibrate+=(--base "$base"); fi
  calibrate+=(--out "$out/machine.json")
  if [ -z "$quick" ] && [ "$device" != cuda ]; then
    bounded "${calibrate[@]}"
    return
  elif [ -z "$quick" ] && [ "$limit" -ge "$usual_limit" ]; then
    within "$(($(left) * 2 / 3))" "${calibrate[@]}" && return
  fi
  bounded "${calibrate[@]}" --quick
}

# What is in this folder is older than every measurement that it is compared with.
section_predict() {
  local machine arguments folder
  mapfile -t machine < <(machine_arguments)
  rm -f "$out/predictions.sha256"
  for spec in "$quoted_spec" "$validate_spec" ${backward_spec:+"$backward_spec"} "$crossover_spec" "$recompute_spec"; do
    arguments=("${device_arguments[@]}")
    if [ "$spec" = "$crossover_spec" ]; then
      if [ "$device" = cuda ] && [ "${#machine[@]}" -eq 0 ]; then continue; fi # as in section crossover
      arguments=("${crossover_arguments[@]}")
    fi
    bounded "$program" validate "$spec" "${arguments[@]}" "${machine[@]}" "${draws[@]}" --predict-only \
      --out "$out/predictions_$(basename "$spec" .json)" --overwrite
    (cd "$out" && date -u +%FT%TZ && sha256sum "predictions_$(basename "$spec" .json)/predictions.csv") |
      tee -a "$out/predictions.sha256"
  done
  folder=predictions_$(basename "$buckets_spec" .json)
  bounded "$program" buckets "$buckets_spec" "${machine[@]}" --no-memory-time --out "$out/$folder" --overwrite
  (cd "$out" && date -u +%FT%TZ && sha256sum "$folder/buckets.csv") | tee -a "$out/predictions.sha256"
}

# SECONDS SPEC FOLDER
time_library() {
  local machine=()
  if [ "$library" = clblast ]; then mapfile -t machine < <(machine_arguments); fi # its parameters
  within "$1" "$program" baseline "$2" --library "$library" "${machine[@]}" "${library_repetitions[@]}" \
    --out "$out/$3" --overwrite
}

# SPEC FILE: with the libraries that the image has for PyTorch, not with those that we look for.
time_torch() {
  local torch=(env "LD_LIBRARY_PATH=$image_libraries" python3)
  if [ "$device" = cuda ] && within 20 "${torch[@]}" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
    within 40 "${torch[@]}" scripts/torch_cuda_lstm.py "$1" --out "$out/$2" || echo "note: PyTorch's LSTM was not timed"
  fi
}

# SPEC FOLDER ARGUMENT...: predicted as in section predict, measured with these arguments, compared.
measure() {
  local spec=$1 folder=$2 machine
  shift 2
  mapfile -t machine < <(machine_arguments)
  bounded "$program" validate "$spec" "${machine[@]}" "${draws[@]}" "${repetitions[@]}" \
    --kept-traces 1 --out "$out/$folder" --overwrite "$@" | tee "$out/$folder.txt"
}

# FOLDER: the library's fastest backward call on each network, in microseconds.
fastest_backward() {
  awk -F, '$(NF - 4) == "backward" {
    network = $0
    sub(/.*layers=/, "layers=", network)
    sub(/".*/, "", network)
    gsub(" ", "", network)
    if (!(network in best) || $(NF - 3) + 0 < best[network]) best[network] = $(NF - 3) + 0
  } END { for (network in best) print network, best[network] }' "$out/$1/baseline.csv" | sort
}

# The one network whose ratio to the library is quoted: the library before and after, so that a drift shows.
section_quoted() {
  local against=() failed=0
  rm -rf "$out/quoted_baseline" # of an earlier try
  time_library "$(($(left) * 2 / 5))" "$quoted_spec" quoted_baseline || failed=1
  if [ -s "$out/quoted_baseline/baseline.json" ]; then
    against=(--baseline "$out/quoted_baseline/baseline.json")
    # The figure to quote, where the program can take it: the fastest plan and the library in turns.
    if [ "$device" = cuda ] && [[ $("$program" validate --help) == *' --turns '* ]]; then against+=("${turns[@]}"); fi
  fi
  measure "$quoted_spec" quoted "${device_arguments[@]}" "${against[@]}" --record "$out/quoted_recording" || failed=1
  if [ "${#against[@]}" -gt 0 ] && time_library "$(left)" "$quoted_spec" quoted_baseline_after; then
    echo "$library's fastest backward call, us: before, after" | tee -a "$out/quoted.txt"
    join <(fastest_backward quoted_baseline) <(fastest_backward quoted_baseline_after) | tee -a "$out/quoted.txt"
  fi
  time_torch "$quoted_spec" torch_lstm_quoted.csv
  return "$failed"
}

# Networks that neither calibrate nor anybody has measured: how good predictions are.
section_validate() {
  measure "$validate_spec" validation "${device_arguments[@]}" --record "$out/validation_recording"
}

# One plan as a picture and for Perfetto, and how many kernels the library has in flight on the quoted network.
section_traces() {
  local timeline=(execute experiments/campaign_timeline.json --out "$out/timeline" --overwrite)
  case $device in
    cpu) timeline+=(--device cpu) ;; # its host is no preloaded one
    *) timeline+=("${device_arguments[@]}") ;;
  esac
  if [ "$device" != cuda ]; then
    bounded "$program" "${timeline[@]}"
    return
  fi
  local failed=0
  within "$(($(left) * 2 / 3))" "$program" baseline "$quoted_spec" --library "$library" --profile --warm-up 1 \
    --out "$out/baseline_profile" --overwrite || failed=1
  # Without the profiler the times are those of events.
  bounded "$program" "${timeline[@]}" --profile || bounded "$program" "${timeline[@]}" || failed=1
  return "$failed"
}

section_baseline() {
  if [ -z "$backward_spec" ]; then
    echo "no more networks than section quoted has"
    return
  fi
  time_library "$(left)" "$backward_spec" baseline
  time_torch "$backward_spec" torch_lstm.csv
}

section_backward() {
  local against=()
  if [ -z "$backward_spec" ]; then
    echo "no more networks than section quoted has"
    return
  fi
  if [ -s "$out/baseline/baseline.json" ]; then
    against=(--baseline "$out/baseline/baseline.json")
  fi
  measure "$backward_spec" backward "${device_arguments[@]}" "${against[@]}"
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

section_summary() { echo "written after every section: summary.md, small.tar.gz, large_*.tar.gz.*"; }

# shellcheck disable=SC1091 # not followed
. scripts/campaign_results.sh

now() { date '+%Y/%m/%d %H:%M:%S.%3N'; } # as nvidia-smi writes it

# Interrupted or told to end: so is the program that runs; what there is is written.
stop() {
  touch "$out/.stopped"
  kill -INT "$(cat "$out/.running" 2>/dev/null)" 2>/dev/null || true
}

clocks=
finish() { if [ -n "$clocks" ]; then kill "$clocks" 2>/dev/null || true; fi; }
trap finish EXIT
trap stop INT TERM HUP
if [ "$device" = cuda ]; then
  log_clocks &
  clocks=$!
  if [ -z "$quick" ]; then read_libraries >/dev/null 2>&1 & fi
fi

chosen=("${sections[@]}")
[ "${#sections[@]}" -gt 0 ] || chosen=("${planned[@]}")
failed=()
skipped=()
for section in "${chosen[@]}"; do
  if [ -e "$out/.stopped" ]; then break; fi
  if [ "${#sections[@]}" -eq 0 ] && [ -s "$out/.done/$section" ] && [ "$section" != environment ]; then
    echo "== $section: done before"
    continue
  fi
  if [ "$((limit - SECONDS))" -lt 10 ] && [ "$section" != environment ] && [ "$section" != summary ]; then
    echo "== $section: no time left"
    skipped+=("$section")
    continue
  fi
  echo "== $section"
  section_begin=$SECONDS
  section_end=$((section_begin + $(limit_of "$section")))
  began=$(now)
  rm -f "$out/.done/$section" "$out/log/$section.failed"
  touch "$out/.begun"
  write_summary
  # Each section is a process of its own, and not part of a condition, where bash would go on after an error. It does not
  # get the terminal's interrupts: stop passes them on to the program.
  { (set -euo pipefail; "section_$section") 2>&1 | tee "$out/log/$section.log"; exit "${PIPESTATUS[0]}"; } &
  child=$!
  status=0
  wait "$child" || status=$?
  while kill -0 "$child" 2>/dev/null; do # a signal has ended the waiting
    status=0
    wait "$child" || status=$?
  done
  if [ "$section" != summary ]; then echo "$section,$began,$(now)" >>"$out/sections.csv"; fi
  if [ "$status" -eq 0 ]; then
    echo "$((SECONDS - section_begin))" >"$out/.done/$section"
  else
    failed+=("$section")
    tail -n 3 "$out/log/$section.log" >"$out/log/$section.failed"
    echo "== $section failed; $out/log/$section.log"
  fi
  if [ "$section" = build ]; then SECONDS=$section_begin; fi # the time of a build is not that of the device
  bring_home
done
section=
write_summary
du -h "$archive_to"/summary.md "$archive_to"/*.tar.gz*

if [ "${#skipped[@]}" -gt 0 ]; then echo "no time was left for: ${skipped[*]}"; fi
if [ "${#failed[@]}" -gt 0 ] || [ "${#skipped[@]}" -gt 0 ] || [ -e "$out/.stopped" ]; then
  echo "what is missing, here: scripts/gpu_campaign.sh --device $device --out $out$given"
  echo "elsewhere: the same with another --out and --resume $archive_to/small.tar.gz"
fi
if [ "${#failed[@]}" -gt 0 ] || [ -e "$out/.stopped" ]; then
  if [ "${#failed[@]}" -gt 0 ]; then echo "failed: ${failed[*]}"; fi
  exit 1
fi
