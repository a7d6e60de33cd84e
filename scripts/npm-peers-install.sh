#!/usr/bin/env bash
# Installs the MCP servers and the conformance tests from npm that internal/peers
# runs against the gateway: into internal/peers/npm/node_modules, at the versions of
# its lock file. Does nothing if they are there. Needs Node 20 or newer with npm; a
# newer Node, which the conformance tests need, comes with the packages (Linux on
# x64 only; elsewhere Node 22 or newer must be installed).
set -euo pipefail
cd "$(dirname "$0")/../internal/peers/npm"

# npm writes what it has installed into this file; ours remembers for what.
stamp=node_modules/.sluice-peers
if [ -f "$stamp" ] && cmp -s package-lock.json "$stamp"; then
	exit 0
fi
command -v npm >/dev/null || {
	echo "npm is not installed: the tests of MCP servers from npm will be skipped" >&2
	exit 1
}
npm ci --no-progress --loglevel=error
cp package-lock.json "$stamp"
