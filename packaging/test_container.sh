#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the image of the Dockerfile with buildah and runs the program in it. The base image is made from a bare Debian 12
# here, so no registry of images is asked. Needs root, buildah and a network; skipped (exit code 77) without.
#   packaging/test_container.sh build/release/schedlab_0.1.0_amd64.deb FOLDER
# FOLDER: the bare system that test_deb.sh made.
set -euo pipefail
if [ "$#" -ne 2 ] || [ ! -f "$1" ] || [ ! -x "$2/usr/bin/apt-get" ]; then
  echo "usage: packaging/test_container.sh PACKAGE.deb FOLDER_OF_TEST_DEB" >&2
  exit 2
fi
skip() {
  echo "skipped: $1"
  exit 77
}
[ "$(id -u)" = 0 ] || skip "needs root"
command -v buildah >/dev/null || skip "no buildah"
package=$(realpath "$1")
root=$(realpath "$2")
recipe=$(realpath "$(dirname "${BASH_SOURCE[0]}")/Dockerfile")
store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT
build() { buildah --root "$store/images" --runroot "$store/run" --storage-driver vfs "$@"; }

base=$(build from scratch)
build add -q "$base" "$root" / >/dev/null
build commit -q "$base" docker.io/library/debian:12-slim >/dev/null
build rm "$base" >/dev/null
mkdir "$store/context"
cp "$package" "$store/context/"
build bud --pull-never --isolation chroot -q -t schedlab -f "$recipe" "$store/context" >"$store/log" 2>&1 || {
  tail -n 20 "$store/log" >&2
  exit 1
}
image=$(build from --pull-never localhost/schedlab)
there() { build run --isolation chroot "$image" -- "$@"; }
there schedlab --version
there schedlab simulate /usr/share/doc/schedlab/experiments/quickstart_timeline.json --out /tmp/in_container
there sh -c 'test -s /tmp/in_container/timeline.svg && ! command -v c++'
build inspect --format '{{.OCIv1.Config.Entrypoint}}' "$image" | grep -q schedlab
echo "image built, run: $(basename "$package")"
