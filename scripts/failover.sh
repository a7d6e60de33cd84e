#!/usr/bin/env bash
# Kills gateways and their Redis while they work, and prints what was lost: nothing.
#
#   scripts/failover.sh                                   the tree's own build, some six minutes
#   scripts/failover.sh -load 100000 reconciled           100,000 turns (-help shows all flags)
#   SLUICE=./sluice scripts/failover.sh "killed in turns" one row of any other build
#
# Needs redis-server and haproxy (scripts/redis-install.sh, scripts/balancers-install.sh);
# rows that lack one are skipped. On loopback only. Fails if a row is broken.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [[ -z ${SLUICE:-} ]]; then
	SLUICE=$work/sluice
	go build -o "$SLUICE" ./cmd/sluice
fi
go build -C e2e -o "$work/failover" ./failover
flags=()
while [[ ${1:-} == -* ]]; do # a flag and its value
	flags+=("$1")
	if [[ $1 != -keep && $1 != -help && $1 != *=* ]]; then
		flags+=("$2")
		shift
	fi
	shift
done
"$work/failover" "${flags[@]}" "$SLUICE" "$@"
