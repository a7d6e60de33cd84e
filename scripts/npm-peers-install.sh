#!/usr/bin/env bash
# Installs the MCP servers and the conformance tests from npm that e2e/peers
# runs the gateway against: into e2e/peers/npm/node_modules, at the versions of
# its lock file. Does nothing if they are there. Needs Node 20 or newer with npm; a
# newer Node, which the conformance tests need, comes with the packages (for Linux
# on x64; elsewhere Node 22 or newer must be installed).
set -euo pipefail
cd "$(dirname "$0")/../e2e/peers/npm"

# npm writes this file when it has installed everything.
[ node_modules/.package-lock.json -nt package-lock.json ] && exit 0

command -v npm >/dev/null || {
	echo "npm is missing: the tests of MCP servers from npm will be skipped" >&2
	exit 1
}
npm ci --no-progress --loglevel=error
