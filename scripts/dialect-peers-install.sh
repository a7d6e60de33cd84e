#!/usr/bin/env bash
# Installs the clients of the protocols in docs/dialects.md that e2e/peers and
# e2e/browser point at the gateway. What is there already is left alone, so it may be
# called again and again. It needs the network when something is missing:
#
#   e2e/peers/npm/dialects/*/     node_modules, from npm, at the versions of the folder's lock
#                                 file; needs Node 20 or newer with npm. A newer Node,
#                                 which some clients need, is one of them (for Linux on x64;
#                                 elsewhere Node 22 or newer must be installed)
#   examples/access/              the same, for the OpenID provider of that example
#   .venv/ag-ui/                  AG-UI's models for Python, from PyPI
#
# Another set of clients from npm is another such folder, with package.json,
# package-lock.json and .npmrc; of what comes from elsewhere each has a function here.
#
# Tests that miss something are skipped, or fail with SLUICE_REQUIRE_PEERS=1; the exit
# code tells whether everything is there.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

failed=0

say() { printf 'dialect-peers-install: %s\n' "$*"; }
fail() { say "$*" >&2; failed=1; }

# npm_set FOLDER installs what the folder's lock file has.
npm_set() {
	# npm writes this file when it has installed everything.
	[[ $1/node_modules/.package-lock.json -nt $1/package-lock.json ]] && return
	command -v npm >/dev/null || { fail "npm is missing"; return; }
	say "installing $1 from npm"
	npm --prefix "$1" ci --no-progress --loglevel=error || fail "npm could not install $1"
}

# ag_ui installs the judge of AG-UI's events.
ag_ui() {
	local want=e2e/peers/testdata/agui-requirements.txt venv=.venv/ag-ui
	cmp -s "$want" "$venv/.peers" && "$venv/bin/python" -c '' 2>/dev/null && return
	say "installing $want into $venv"
	rm -f "$venv/.peers"
	python3 -m venv --clear "$venv" && "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r "$want" &&
		cp "$want" "$venv/.peers" || fail "AG-UI's models for Python could not be installed"
}

for set in e2e/peers/npm/dialects/*/ examples/access/; do
	[[ -f $set/package-lock.json ]] && npm_set "${set%/}"
done
ag_ui
exit "$failed"
