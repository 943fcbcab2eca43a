#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what scripts/packages.txt lists, if anything is missing.
#   scripts/install_packages.sh [build|run|develop|tools|python|optional|browser]...     (no argument: all but browser)
# Going without "tools", "python", "optional" and "browser" is a notice, without any other an error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Prints the packages of one section.
section() {
  awk -v wanted="$1" '/^# section:/ { inside = ($3 == wanted); next } inside && /^[a-z0-9]/ { print $1 }' \
    scripts/packages.txt
}

missing() {
  local package
  while read -r package; do
    if ! dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed'; then
      echo "$package"
    fi
  done
}

install() {
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "error: these packages are missing and this user is not root and has no sudo: $*" >&2
      echo "  ask an administrator for: apt-get install $*" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes \
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

if ! command -v dpkg-query >/dev/null; then
  echo "note: not a Debian system; SchedLab needs what scripts/packages.txt lists, under its names here" >&2
  exit 0
fi

[ "$#" -gt 0 ] || set -- build run develop tools python optional
for name in "$@"; do
  mapfile -t wanted < <(section "$name" | missing)
  if [ "${#wanted[@]}" -eq 0 ]; then
    continue
  fi
  echo "installing ($name): ${wanted[*]}"
  if install "${wanted[@]}"; then
    continue
  elif [[ "$name" =~ ^(tools|python|optional|browser)$ ]]; then
    echo "note: going on without these packages" >&2
  else
    echo "error: the packages of section \"$name\" could not be installed" >&2
    exit 1
  fi
done
