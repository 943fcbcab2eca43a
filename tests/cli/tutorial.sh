#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Does what docs/tutorial.md says: writes its files, runs its commands in their order, in a folder that looks like a clone with
# its build. A block of text below a command is part of what it prints. Two things differ: the commands that build are not run
# again here (they must be those of scripts/quickstart.sh, which continuous integration runs in a fresh clone), and calibrate
# measures as briefly as it can instead of half a minute.
#   tutorial.sh SOURCE BUILD FOLDER
set -euo pipefail
source=$1
build=$2
folder=$3
rm -rf "$folder"
mkdir -p "$folder/build"
ln -s "$build" "$folder/build/release"
for each in docs experiments hw_models scripts; do ln -s "$source/$each" "$folder/$each"; done
cd "$folder"

# One file per block: blocks/NN.sh is run, blocks/NN.text is in what the one before printed, any other is saved under the path
# in blocks/NN.path.
awk '
  /^```/ && inside { inside = 0; close(file); path = ""; next }
  /^```/ {
    inside = 1
    number++
    kind = substr($0, 4)
    file = sprintf("blocks/%02d.%s", number, kind)
    if (kind != "sh") print path > sprintf("blocks/%02d.path", number)
    next
  }
  inside { print > file; next }
  match($0, /[Ss]ave as `[^`]*`/) { path = substr($0, RSTART + 9, RLENGTH - 10) }
' <(mkdir -p blocks && cat docs/tutorial.md)

ran=0
saved=0
for block in $(find blocks -type f ! -name '*.path' | sort); do
  if [[ $block == *.sh ]] && grep -q install_packages "$block"; then
    while read -r line; do
      if ! grep -qxF "$line" scripts/quickstart.sh; then
        echo "the tutorial builds with '$line', scripts/quickstart.sh does not" >&2
        exit 1
      fi
    done <"$block"
  elif [[ $block == *.sh ]]; then
    sed -i 's/ calibrate --quick / calibrate --quick --seconds 3 /' "$block"
    echo "== $(cat "$block")"
    bash -euo pipefail "$block" 2>&1 | tee printed
    ran=$((ran + 1))
  elif [[ $block == *.text ]]; then
    while IFS= read -r line; do
      if ! grep -qxF -- "$line" printed; then
        echo "the tutorial shows this line, which the command above it does not print (any more): $line" >&2
        exit 1
      fi
    done <"$block"
  else
    path=$(cat "${block%.*}.path")
    if [[ -z $path ]]; then
      echo "a block of the tutorial is no command and has no name: $block" >&2
      exit 1
    fi
    mkdir -p "$(dirname "$path")"
    cp "$block" "$path"
    saved=$((saved + 1))
  fi
done

# What the text promises.
for file in first/timeline.svg first/trace.json sweep/report.html sweep/results.csv sweep/results.sqlite cards/report.html \
  validation/report.html validation/notebook.ipynb; do
  [[ -s out/tutorial/$file ]] || { echo "the tutorial did not write out/tutorial/$file" >&2; exit 1; }
done
for link in $(grep -o '](\([a-z_/]*\.md\))' docs/tutorial.md | tr -d '()]'); do
  [[ -e docs/$link ]] || { echo "the tutorial refers to docs/$link, which is not there" >&2; exit 1; }
done
out/tutorial/my_policy/build/my_policy >policy.csv
[[ $(head -1 policy.csv) == layers,streams,longest_first_us,heft_us,findings ]]
[[ $(wc -l <policy.csv) == 10 ]]
if grep -v findings policy.csv | grep -qv ',0$'; then
  echo "the plan checker objects to the policy of the tutorial:" >&2
  cat policy.csv >&2
  exit 1
fi
lines=$(awk '/^class LongestFirst/ { inside = 1 } inside && NF { count++ } END { print count }' out/tutorial/my_policy/main.cpp)
((lines <= 30)) || { echo "the policy and its sweep have $lines lines" >&2; exit 1; }
echo "$ran blocks of commands ran, $saved files were saved"
