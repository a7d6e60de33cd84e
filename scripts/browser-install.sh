#!/usr/bin/env bash
# Installs what the tests in e2e/browser use the gateway with: a browser, what
# the example clients need, and from npm the engines that read event streams and the
# judges of the page. What is there already is left alone, so it may be called again
# and again. It needs the network when something is missing:
#
#   chromium, curl, jq         from Debian, if this is Debian and we are root
#   e2e/browser/npm/      node_modules, at the versions of its lock file; needs
#                              Node 20 or newer with npm. Playwright comes without
#                              its own browsers
#
# Tests that miss something are skipped, or fail with SLUICE_REQUIRE_PEERS=1; the exit
# code tells whether everything is there.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

failed=0

say() { printf 'browser-install: %s\n' "$*"; }
fail() { say "$*" >&2; failed=1; }

programs() {
	local program missing=()
	for program in chromium curl jq; do # they are packages of the same names
		command -v "$program" >/dev/null || missing+=("$program")
	done
	[[ ${#missing[@]} == 0 ]] && return
	command -v apt-get >/dev/null || { fail "${missing[*]} missing, and this is not Debian"; return; }
	[[ $(id -u) == 0 ]] || { fail "${missing[*]} missing, and only root can install it: apt-get install ${missing[*]}"; return; }
	say "installing ${missing[*]} from Debian"
	export DEBIAN_FRONTEND=noninteractive
	local install=(apt-get install -qq -y --no-install-recommends "${missing[@]}")
	"${install[@]}" >/dev/null || { apt-get update -qq && "${install[@]}" >/dev/null; } ||
		fail "apt-get could not install ${missing[*]}"
}

packages() {
	cd e2e/browser/npm || { failed=1; return; }
	# npm writes this file when it has installed everything.
	[[ node_modules/.package-lock.json -nt package-lock.json ]] && return
	command -v npm >/dev/null || { fail "npm is missing"; return; }
	say "installing packages from npm"
	npm ci --no-progress --loglevel=error || fail "npm could not install its packages"
}

programs
packages
exit "$failed"
