#!/usr/bin/env bash
# Installs the Redis server and its Sentinel, against which the tests of internal/state/store/redis
# run, from Debian, if this is Debian and we are root; Valkey where Debian has it. None
# is started, and what is there already is left alone. The exit code tells whether
# Redis is there; without Valkey its tests are skipped.
set -uo pipefail

wanted=()
command -v redis-server >/dev/null || wanted+=(redis-server)
command -v redis-sentinel >/dev/null || wanted+=(redis-sentinel)
if ! command -v valkey-server >/dev/null && apt-cache show valkey-server >/dev/null 2>&1; then
	wanted+=(valkey-server)
fi
[[ ${#wanted[@]} == 0 ]] && exit

fail() { printf 'redis-install: %s\n' "$*" >&2; exit 1; }
command -v apt-get >/dev/null || fail "${wanted[*]} missing, and this is not Debian"
[[ $(id -u) == 0 ]] || fail "${wanted[*]} missing, and only root can install it: apt-get install ${wanted[*]}"
printf 'redis-install: installing %s from Debian\n' "${wanted[*]}"

# Debian would start them at once, on ports that others may use.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
	printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy"
	trap 'rm -f "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
install=(apt-get install -qq -y --no-install-recommends "${wanted[@]}")
"${install[@]}" >/dev/null || { apt-get update -qq && "${install[@]}" >/dev/null; } || fail "apt-get could not install ${wanted[*]}"
