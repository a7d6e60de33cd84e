#!/usr/bin/env bash
# A gateway whose team has an agent in Python, which it reaches over A2A. No key is needed: the
# weather is made up, and the offline demo model chooses the agent.
#
#   run.sh up     starts both, until Ctrl-C
#   run.sh demo   starts them, and shows what the agent does for a turn
#
# Needs curl, Go or the program in $SLUICE, and a Python with requirements.txt: $PYTHON.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${PORT:=8080}" "${AGENT_PORT:=9100}" "${PYTHON:=python3}"
export AGENT_PORT
gateway=http://127.0.0.1:$PORT
dir=$(mktemp -d)

finish() {
	trap - EXIT
	jobs -p | xargs -r kill 2>/dev/null || true
	wait 2>/dev/null || true
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

"$PYTHON" -c 'import a2a, starlette, uvicorn' 2>/dev/null || {
	echo "$PYTHON has no a2a-sdk: python3 -m venv .venv && .venv/bin/pip install -r examples/a2a/requirements.txt, and PYTHON=.venv/bin/python" >&2
	exit 1
}
if [ -z "${SLUICE:-}" ]; then
	SLUICE=$dir/sluice
	go build -o "$SLUICE" ./cmd/sluice
fi

# until_true COMMAND waits until it succeeds, for half a minute.
until_true() {
	for _ in $(seq 300); do
		if "$@" >/dev/null 2>&1; then return; fi
		sleep 0.1
	done
	echo "waited too long for: $*" >&2
	tail -n 5 "$dir"/*.log >&2
	exit 1
}

available() { curl -sf "$gateway/agents/weather-agent" | grep -q '"available":true'; }

"$PYTHON" examples/a2a/agent.py --port "$AGENT_PORT" >"$dir/agent.log" 2>&1 &
SLUICE_ADDR=127.0.0.1:$PORT SLUICE_STORE=memory "$SLUICE" --config examples/a2a/sluice.yaml >"$dir/gateway.log" 2>&1 &
until_true available
echo "The page is at $gateway/, the agent's card at http://127.0.0.1:$AGENT_PORT/.well-known/agent-card.json"

case ${1:-up} in
up)
	wait
	;;
demo)
	ask() { "$SLUICE" ask --url "$gateway" "$@"; }
	# say TEXT is a turn of one conversation; what it ends with.
	say() {
		curl -sN "$gateway/chat/stream" -H 'Content-Type: application/json' -d "{\"input\":\"$1\",\"conversation_id\":\"conv_demo\"}" |
			grep -A1 '^event: done' | grep -o '"final":"[^"]*"\|"finish_reason":"[^"]*"'
	}

	echo; echo "1. The router chooses the agent in Python, whose answer comes as it is written."
	ask "What is the weather like in Lisbon?" | tee "$dir/one"
	grep -q 'The weather in Lisbon: rain, 17 degrees' "$dir/one"

	echo; echo "2. Both agents answer a turn."
	ask "Turn on the kitchen lights and tell me the weather in Rome" | tee "$dir/two"
	grep -q 'The kitchen lights are on' "$dir/two" && grep -q 'The weather in Rome' "$dir/two"

	echo; echo "3. The agent asks back; the next input of the conversation goes to it."
	say "What is the weather like?" | tee "$dir/asked"
	grep -q 'input_required' "$dir/asked"
	say "Oslo" | tee "$dir/answered"
	grep -q '"stop"' "$dir/answered"

	echo; echo "4. A turn that is cancelled cancels the agent's task."
	ask --json "What is the weather like in Paris?" >"$dir/cancelled" &
	first=$!
	task_of() { grep -om1 'task_[0-9a-z]\{20,\}' "$dir/cancelled"; }
	until_true grep -q response_delta "$dir/cancelled"
	curl -sf -X POST "$gateway/tasks/$(task_of)/cancel" >/dev/null
	wait "$first" || true
	grep -o '"finish_reason":"[a-z]*"' "$dir/cancelled"
	until_true grep cancelled "$dir/agent.log"
	echo "The agent says: $(cat "$dir/agent.log")"

	echo; echo "All went as it should."
	;;
*)
	echo "usage: $0 up|demo" >&2
	exit 2
	;;
esac
