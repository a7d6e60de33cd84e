#!/usr/bin/env bash
# Installs nginx and HAProxy, behind which the tests in e2e/peers put gateways,
# and OpenBSD's netcat and socat, which close their side of a connection early, from
# Debian, if this is Debian and we are root. None is started, and what is there
# already is left alone. The exit code tells whether all are there.
set -uo pipefail
PATH=$PATH:/usr/sbin

wanted=()
command -v nginx >/dev/null || wanted+=(nginx-light)
command -v haproxy >/dev/null || wanted+=(haproxy)
command -v socat >/dev/null || wanted+=(socat)
[[ $(nc -h 2>&1) == *OpenBSD* ]] || wanted+=(netcat-openbsd) # others have no -N
[[ ${#wanted[@]} == 0 ]] && exit

fail() { printf 'balancers-install: %s\n' "$*" >&2; exit 1; }
command -v apt-get >/dev/null || fail "${wanted[*]} missing, and this is not Debian"
[[ $(id -u) == 0 ]] || fail "${wanted[*]} missing, and only root can install it: apt-get install ${wanted[*]}"
printf 'balancers-install: installing %s from Debian\n' "${wanted[*]}"

# Debian would start them at once, on ports that others may use.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
	printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy"
	trap 'rm -f "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
install=(apt-get install -qq -y --no-install-recommends "${wanted[@]}")
"${install[@]}" >/dev/null || { apt-get update -qq && "${install[@]}" >/dev/null; } || fail "apt-get could not install ${wanted[*]}"
