#!/usr/bin/env bash
# Installs what signs tokens for the tests in e2e/access. What is there already is left
# alone, so it may be called again and again. It needs the network when something is missing:
#
#   e2e/access/npm/node_modules   two issuers and jose, from npm, at the versions of the lock
#                                 file, and a Node that is new enough for them (for Linux on
#                                 x64; elsewhere Node 22 or newer must be installed)
#   .venv/access/                 PyJWT and joserfc, from PyPI
#
# Tests that miss something are skipped, or fail with SLUICE_REQUIRE_PEERS=1; the exit
# code tells whether everything is there.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

failed=0

say() { printf 'access-peers-install: %s\n' "$*"; }
fail() { say "$*" >&2; failed=1; }

issuers() {
	local folder=e2e/access/npm
	# npm writes this file when it has installed everything.
	[[ $folder/node_modules/.package-lock.json -nt $folder/package-lock.json ]] && return
	command -v npm >/dev/null || { fail "npm is missing"; return; }
	say "installing $folder from npm"
	npm --prefix "$folder" ci --no-progress --loglevel=error || fail "npm could not install $folder"
}

libraries() {
	local want=e2e/access/requirements.txt venv=.venv/access
	cmp -s "$want" "$venv/.peers" && "$venv/bin/python" -c '' 2>/dev/null && return
	say "installing $want into $venv"
	rm -f "$venv/.peers"
	python3 -m venv --clear "$venv" && "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r "$want" &&
		cp "$want" "$venv/.peers" || fail "the libraries that sign tokens could not be installed"
}

issuers
libraries
exit "$failed"
