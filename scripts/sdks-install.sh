#!/usr/bin/env bash
# Installs what stands on OpenAI's SDK for Python and uses the gateway through it: LangChain,
# LiteLLM, llm and OpenAI's Agents SDK, from PyPI, into .venv/sdks, at the versions of the requirements file. What is
# there already is left alone, so it may be called again and again. It needs the network when
# something is missing, and Python 3.11 or later with venv.
#
# Tests that miss it are skipped, or fail with SLUICE_REQUIRE_PEERS=1.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

want=e2e/peers/testdata/sdks-requirements.txt venv=.venv/sdks
sum=$(cksum <"$want")
[[ -f $venv/.peers && $(<"$venv/.peers") == "$sum" ]] && "$venv/bin/python" -c '' 2>/dev/null && exit 0

printf 'sdks-install: installing %s into %s\n' "$want" "$venv"
rm -f "$venv/.peers"
install=(-m pip install -q --disable-pip-version-check)
uv=.venv/bin/uv # which takes seconds where pip takes a minute
if python3 -m venv --clear "$venv"; then
	if [[ -x $uv ]]; then
		UV_CACHE_DIR=.venv/uv "$uv" pip install -q --python "$venv/bin/python" --no-deps -r "$want"
	else
		"$venv/bin/python" "${install[@]}" --no-deps -r "$want"
	fi && printf '%s\n' "$sum" >"$venv/.peers" && exit 0
fi
printf 'sdks-install: what stands on OpenAI's SDK could not be installed\n' >&2
exit 1
