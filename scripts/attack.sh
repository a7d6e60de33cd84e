#!/usr/bin/env bash
# Does to a built gateway what has once broken it, and prints what it measured:
#
#   scripts/attack.sh [BINARY [ROW...]]
#
# Without BINARY the tree's own is built. Takes three minutes or so, on loopback only,
# and fails if a row is broken. CPU, memory and limits of descriptors need Linux.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [[ $# -eq 0 ]]; then
	go build -C "$root" -o "$work/sluice" ./cmd/sluice
	set -- "$work/sluice"
fi
go build -C "$root/e2e" -o "$work/attack" ./attack
"$work/attack" "$@"
