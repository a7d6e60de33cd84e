#!/usr/bin/env bash
# Installs what the tests in internal/browser drive the gateway with: a browser, and
# from npm the engines that read event streams and the judges of the page. What is
# there already is left alone, so it may be called again and again. It needs the
# network when something is missing:
#
#   chromium                   from Debian, if this is Debian and we are root
#   internal/browser/npm/      node_modules, at the versions of its lock file; needs
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

browser() {
	command -v chromium >/dev/null && return
	command -v apt-get >/dev/null || { fail "chromium is missing, and this is not Debian"; return; }
	[[ $(id -u) == 0 ]] || { fail "chromium is missing, and only root can install it: apt-get install chromium"; return; }
	say "installing chromium from Debian"
	local install=(apt-get install -qq -y --no-install-recommends chromium)
	export DEBIAN_FRONTEND=noninteractive
	"${install[@]}" >/dev/null || { apt-get update -qq && "${install[@]}" >/dev/null; } || fail "apt-get could not install chromium"
}

packages() {
	cd internal/browser/npm || { failed=1; return; }
	# npm writes this file when it has installed everything.
	[[ node_modules/.package-lock.json -nt package-lock.json ]] && return
	command -v npm >/dev/null || { fail "npm is missing"; return; }
	say "installing packages from npm"
	npm ci --no-progress --loglevel=error || fail "npm could not install its packages"
}

browser
packages
exit "$failed"
