#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Asks the completion for words as an interactive bash does.
#   completion.sh SCHEDLAB FOLDER
set -euo pipefail
program=$1
folder=$2
mkdir -p "$folder"
"$program" reference bash_completion --out "$folder/schedlab.bash" >/dev/null
compopt() { :; } # only works inside a completion
# shellcheck source=/dev/null
source "$folder/schedlab.bash"

# expect WORDS LINE...: the words offered after LINE
expect() {
  local wanted=$1
  shift
  COMP_WORDS=("$@")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _schedlab
  if [[ "${COMPREPLY[*]}" != "$wanted" ]]; then
    echo "after '$*': offered '${COMPREPLY[*]}', expected '$wanted'" >&2
    exit 1
  fi
}

cd "$folder"
rm -rf completed
mkdir completed
touch completed/one.json
expect "simulate" schedlab simu
expect "sweep" schedlab sw
expect "--resume" schedlab sweep spec.json --resu
expect "policies" schedlab list pol
expect "notebook" schedlab export no
expect "own_core" schedlab execute one.json --host own
expect "completed/one.json" schedlab simulate completed/on
