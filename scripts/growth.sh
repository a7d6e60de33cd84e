#!/usr/bin/env bash
# Has one thing after the other grow that a gateway works with, and prints what that costs it:
#
#   scripts/growth.sh                     all dimensions, some six minutes
#   scripts/growth.sh -rounds 9 chunks    one of them, measured more often
#   SLUICE=./sluice scripts/growth.sh     any other build
#
# On loopback only, and on Linux only: it reads the clock of the gateway's process. Tasks in Redis
# need redis-server (scripts/redis-install.sh), and are skipped without it.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [[ -z ${SLUICE:-} ]]; then
	SLUICE=$work/sluice
	go build -trimpath -o "$SLUICE" ./cmd/sluice
fi
go build -C e2e -trimpath -o "$work/growth" ./growth
flags=()
while [[ ${1:-} == -* ]]; do # a flag and its value
	flags+=("$1" "$2")
	shift 2
done
"$work/growth" "${flags[@]}" "$SLUICE" "$@"
