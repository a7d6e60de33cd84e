#!/usr/bin/env bash
# Runs a gateway under load with all that happens to one that serves, and sets what its
# clients saw against what it counted: the difference must be zero.
#
#   scripts/soak.sh                                 30 minutes with the tree's own build
#   scripts/soak.sh -length 60s -every 15s          a minute (-help shows all flags)
#   scripts/soak.sh -plain -length 10m              as many short streams as possible
#   SLUICE=./sluice scripts/soak.sh -store sqlite   any other build, with its tasks in a file
#
# On loopback only. Fails if something does not agree. -store redis needs redis-server.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [[ -z ${SLUICE:-} ]]; then
	SLUICE=$work/sluice
	go build -trimpath -o "$SLUICE" ./cmd/sluice
fi
go build -C e2e -trimpath -o "$work/soak" ./soak
"$work/soak" "$@" "$SLUICE"
