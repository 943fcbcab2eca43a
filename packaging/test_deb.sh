#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a package that cpack made into a bare Debian 12, which has no compiler, and runs the program there. Needs root,
# debootstrap and a network; skipped (exit code 77) without.
#   packaging/test_deb.sh build/release/schedlab_0.1.0_amd64.deb FOLDER
# FOLDER: of the bare system; one that is there is used again.
set -euo pipefail
if [ "$#" -ne 2 ] || [ ! -f "$1" ]; then
  echo "usage: packaging/test_deb.sh PACKAGE.deb FOLDER" >&2
  exit 2
fi
package=$1
root=$2
skip() {
  echo "skipped: $1"
  exit 77
}
[ "$(id -u)" = 0 ] || skip "a chroot needs root"
command -v debootstrap >/dev/null || skip "no debootstrap"
if [ ! -x "$root/usr/bin/apt-get" ]; then
  debootstrap --variant=minbase bookworm "$root" >"$root.log" 2>&1 || skip "debootstrap: $(tail -1 "$root.log")"
fi
there() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
cp /etc/resolv.conf "$root/etc/resolv.conf"
cp "$package" "$root/tmp/schedlab.deb"
there apt-get update -qq || skip "no network there"
if there sh -c "command -v c++ || command -v cc"; then
  echo "failed: the bare system has a compiler" >&2
  exit 1
fi
there apt-get install -qq -y --no-install-recommends --reinstall /tmp/schedlab.deb >/dev/null
there schedlab --version
there rm -rf /tmp/one
there schedlab simulate /usr/share/doc/schedlab/experiments/quickstart_timeline.json --out /tmp/one
there schedlab sweep /usr/share/doc/schedlab/experiments/grid_theory.json --out /tmp/sweep --timelines none --overwrite
[ -s "$root/tmp/one/timeline.svg" ] && [ -s "$root/tmp/sweep/report.html" ]
[ -s "$root/usr/share/man/man1/schedlab.1" ] || [ -s "$root/usr/share/man/man1/schedlab.1.gz" ]
there apt-get remove -qq -y schedlab >/dev/null
[ ! -e "$root/usr/bin/schedlab" ]
echo "installed, run and removed: $(basename "$package")"
