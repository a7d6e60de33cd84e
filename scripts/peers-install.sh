#!/usr/bin/env bash
# Installs the MCP servers and the database that the tests in internal/peers run
# the gateway against, and what those in internal/browser drive it with. What is
# there already is left alone, so it may be called again and again. It needs the
# network when something is missing:
#
#   PostgreSQL and python3-venv   from Debian, if this is Debian and we are root
#   .venv/                        examples/fastmcp-todo/requirements.txt and uv, from
#                                 PyPI, and once more as a cache for uvx
#   .venv/chatkit/                the types of ChatKit's Python package, from PyPI
#   internal/peers/npm/           see npm-peers-install.sh
#   nginx, HAProxy, nc and socat  see balancers-install.sh
#   Redis, for store/redis        see redis-install.sh
#   internal/browser/npm/         see browser-install.sh, which also installs Chromium
#
# Tests whose peer could not be installed are skipped, or fail with
# SLUICE_REQUIRE_PEERS=1; the exit code tells whether everything is there.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

uv=uv==0.13.9 # pinned like the requirements
failed=0

say() { printf 'peers-install: %s\n' "$*"; }
fail() { say "$*" >&2; failed=1; }

has_postgres() { command -v psql >/dev/null && { command -v initdb || find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null | grep .; } >/dev/null; }
has_venv() { python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

debian() {
	command -v apt-get >/dev/null || { fail "$* missing, and this is not Debian"; return; }
	[[ $(id -u) == 0 ]] || { fail "$* missing, and only root can install it: apt-get install $*"; return; }
	say "installing $* from Debian"
	# Debian would start a cluster for everybody; the tests make their own.
	local no_cluster=/etc/postgresql-common/createcluster.d/sluice-peers.conf
	mkdir -p "${no_cluster%/*}" && echo 'create_main_cluster = false' >"$no_cluster"
	DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >/dev/null ||
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >/dev/null; } ||
		fail "apt-get could not install $*"
	rm -f "$no_cluster"
}

# unchanged STAMP FILE...: the stamp was written for the files as they are now.
unchanged() { [[ -f $1 && $(<"$1") == "$(sum "${@:2}")" ]]; }
sum() { { printf '%s\n' "$uv"; cat "$@"; } | cksum; }

python() {
	local want=examples/fastmcp-todo/requirements.txt stamp=.venv/.peers
	unchanged "$stamp" "$want" && .venv/bin/python -c '' 2>/dev/null && return
	has_venv || { fail "python3 of 3.11 or later with venv is missing"; return; }
	say "installing $want and $uv into .venv"
	rm -f "$stamp"
	python3 -m venv --clear .venv && .venv/bin/python -m pip install -q --disable-pip-version-check -r "$want" "$uv" &&
		sum "$want" >"$stamp" || fail "the Python packages could not be installed"
}

# uvx_cache lets uvx download what it needs now, so that the tests need no network.
uvx_cache() {
	local want=examples/fastmcp-todo/requirements.txt stamp=.venv/uv/.peers
	[[ -x .venv/bin/uvx ]] || return
	unchanged "$stamp" "$want" && return
	say "letting uvx download $want"
	UV_COMPILE_BYTECODE=1 UV_CACHE_DIR=.venv/uv .venv/bin/uvx -q --python .venv/bin/python --with-requirements "$want" fastmcp version >/dev/null &&
		sum "$want" >"$stamp" || fail "uvx could not download its packages"
}

# chatkit installs the judge of POST /chatkit. It has a place of its own, as its
# versions are not those of the others.
chatkit() {
	local want=internal/peers/testdata/chatkit-requirements.txt venv=.venv/chatkit
	unchanged "$venv/.peers" "$want" && "$venv/bin/python" -c '' 2>/dev/null && return
	has_venv || { fail "python3 of 3.11 or later with venv is missing"; return; }
	say "installing $want into $venv"
	rm -f "$venv/.peers"
	python3 -m venv --clear "$venv" && "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r "$want" &&
		sum "$want" >"$venv/.peers" || fail "the Python types of ChatKit could not be installed"
}

has_postgres || debian postgresql
has_venv || [[ -f .venv/.peers ]] || debian python3-venv
python
uvx_cache
chatkit
scripts/npm-peers-install.sh || failed=1
scripts/balancers-install.sh || failed=1
scripts/redis-install.sh || failed=1
scripts/browser-install.sh || failed=1
[[ $failed == 0 ]] && say "everything is there"
exit "$failed"
