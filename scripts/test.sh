#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the tests. Ends with one summary over all steps and fails if any test failed.
#   scripts/test.sh              all tests of the dev build: what a newcomer runs
#   scripts/test.sh all          everything that must pass before a change goes in: dev, then each public header alone,
#                                a build without the optional packages, the sanitizers
#   scripts/test.sh STEP...      steps: dev headers no-optional asan tsan
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/install_packages.sh

logs=build/logs
mkdir -p "$logs"
passed=0
failed=0
skipped=0
failures=()
table=()
reasons=$logs/skipped.txt
: >"$reasons"

count() { grep -cE "$1" "$2" || true; }

# Adds the outcome of one ctest log to the totals; the build took the seconds `built` of the step's.
tally() {
  local step=$1 log=$2 built=$3 line
  local ok bad skip
  ok=$(count '^ *[0-9]+/[0-9]+ Test .* Passed ' "$log")
  skip=$(count '^ *[0-9]+/[0-9]+ Test .*\*\*\*Skipped ' "$log")
  bad=$(($(count '^ *[0-9]+/[0-9]+ Test ' "$log") - ok - skip))
  passed=$((passed + ok))
  skipped=$((skipped + skip))
  grep '^skipped: ' "build/$step/Testing/Temporary/LastTest.log" >>"$reasons" || true
  failed=$((failed + bad))
  while read -r line; do
    failures+=("$step: $line")
  done < <(grep -E '^ *[0-9]+/[0-9]+ Test ' "$log" | grep -vE ' Passed |\*\*\*Skipped ' |
    sed -E 's/^.*Test +#[0-9]+: ([^ ]+) .*$/\1/')
  table+=("$(printf '  %-12s %4d passed %4d failed %4d skipped %5d s build %5d s tests' \
    "$step" "$ok" "$bad" "$skip" "$built" "$((SECONDS - built))")")
}

# A step without tests of its own counts as one test.
record() {
  local step=$1 outcome=$2
  if [ "$outcome" = passed ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    failures+=("$step")
  fi
  table+=("$(printf '  %-12s %-39s %5d s' "$step" "$outcome" "$SECONDS")")
}

build() {
  local options=()
  # From nothing a build is fastest with each folder of a library as one unit. A folder that is there stays as it is:
  # who edits sources compiles them one by one (cmake --preset dev).
  if [ "$1" = dev ] && [ ! -e build/dev/CMakeCache.txt ]; then
    options=(-DSCHEDLAB_UNITY_LIBRARIES=ON -DSCHEDLAB_PRECOMPILE_LIBRARIES=ON)
  fi
  cmake --preset "$1" "${options[@]}" >"$logs/$1-configure.log" 2>&1 || { cat "$logs/$1-configure.log"; return 1; }
  grep -E '^--   SCHEDLAB_' "$logs/$1-configure.log" || true
  # Hundreds of progress lines hide the errors; these are what matters.
  echo "building: minutes, without a compiler cache many; how far it is stands in $logs/$1-build.log"
  cmake --build --preset "$1" >"$logs/$1-build.log" 2>&1 || { tail -n 60 "$logs/$1-build.log"; return 1; }
}

run_preset() {
  local preset=$1 built
  SECONDS=0
  echo "== $preset"
  if ! build "$preset"; then
    record "$preset build" failed
    return
  fi
  built=$SECONDS
  ctest --preset "$preset" -j2 2>&1 | tee "$logs/$preset-test.log" || true
  if [ "$(count '^ *[0-9]+/[0-9]+ Test ' "$logs/$preset-test.log")" -eq 0 ]; then
    record "$preset tests" failed
    return
  fi
  tally "$preset" "$logs/$preset-test.log" "$built"
}

check_headers() {
  SECONDS=0
  echo "== headers (each compiles alone)"
  if build dev && scripts/check_headers.py build/dev >"$logs/headers.log" 2>&1; then
    record headers passed
  else
    tail -n 40 "$logs/headers.log"
    record headers failed
  fi
}

[ "$#" -gt 0 ] || set -- dev
[ "$*" != all ] || set -- dev headers no-optional asan tsan
for step in "$@"; do
  case $step in
    headers) check_headers ;;
    *) run_preset "$step" ;;
  esac
done

total=$((passed + failed + skipped))
echo
echo "== summary"
printf '%s\n' "${table[@]}"
if [ "$skipped" -gt 0 ]; then
  echo "$skipped tests skipped (named above). What they, and cases of others, found missing:"
  sort -u "$reasons" | sed 's/^skipped: /  /'
fi
if [ "$failed" -gt 0 ]; then
  echo "The following tests FAILED:"
  printf '  %s\n' "${failures[@]}"
fi
ran=$((passed + failed))
echo "$((ran == 0 ? 0 : 100 * passed / ran))% tests passed, $failed tests failed out of $total"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
