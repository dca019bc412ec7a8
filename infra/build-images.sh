#!/usr/bin/env bash
# Builds every target of the Dockerfile with buildah, which needs no daemon, and prints the images' sizes.
#   infra/build-images.sh [TARGET...]
# NODE_IMAGE, RUST_IMAGE: other base images, for example pinned: node:24-bookworm-slim@sha256:…
set -euo pipefail
cd "$(dirname "$0")/.."

targets=("$@")
[ $# -gt 0 ] || targets=(devnet billing gateway-portable gateway)
arguments=()
for base in NODE_IMAGE RUST_IMAGE; do
  [ -z "${!base:-}" ] || arguments+=(--build-arg "$base=${!base}")
done
for target in "${targets[@]}"; do
  # Only docker's format has health checks.
  buildah build --isolation=chroot --format docker --layers --file infra/Dockerfile --target "$target" --tag "upfront-$target" "${arguments[@]}" .
done
for target in "${targets[@]}"; do
  buildah images --format '{{.Name}}  {{.Size}}' "upfront-$target"
done
