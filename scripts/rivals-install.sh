#!/usr/bin/env bash
# Installs what BenchmarkRow of internal/app/gateway runs beside our workflows, see
# e2e/rivals: LangGraph from PyPI into .venv/langgraph, and a program over ADK for Go,
# whose modules come from the Go proxy, into dist. No test needs them. What is there already
# is left alone.
set -euo pipefail
cd "$(dirname "$0")/.."

want=e2e/rivals/langgraph/requirements.txt venv=.venv/langgraph
if [[ ! -f $venv/.rivals || $(<"$venv/.rivals") != "$(cksum <"$want")" ]]; then
	printf 'rivals-install: installing %s into %s\n' "$want" "$venv"
	rm -f "$venv/.rivals"
	python3 -m venv --clear "$venv"
	"$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r "$want"
	cksum <"$want" >"$venv/.rivals"
fi
printf 'rivals-install: building dist/rival-adk\n'
mkdir -p dist
(cd e2e/rivals/adk && go build -o ../../../dist/rival-adk .)
