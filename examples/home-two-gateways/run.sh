#!/usr/bin/env bash
# Two gateways with one Redis, behind the HAProxy of deploy/. No key is needed: a slow
# simulator answers.
#
#   run.sh up     starts it all, until Ctrl-C
#   run.sh demo   starts it, and shows what two gateways do for a turn
#
# Needs redis-server, haproxy, curl, and Go or the program in $SLUICE.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${PORT:=8080}" "${PORT_A:=8081}" "${PORT_B:=8082}" "${PORT_MODEL:=8090}" "${PACE:=400ms}"
balancer=http://127.0.0.1:$PORT
dir=$(mktemp -d)

finish() {
	trap - EXIT
	jobs -p | xargs -r kill 2>/dev/null || true
	wait 2>/dev/null || true
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

for program in redis-server haproxy curl; do
	command -v "$program" >/dev/null || { echo "$program is missing" >&2; exit 1; }
done
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

# gateway NAME PORT starts one; its process is in $started.
gateway() {
	SLUICE_ADDR=127.0.0.1:$2 SLUICE_STORE=unix://$dir/redis GEMINI_BASE_URL=http://127.0.0.1:$PORT_MODEL \
		"$SLUICE" --config examples/home/sluice.yaml >"$dir/$1.log" 2>&1 &
	started=$!
	until_true curl -sf "http://127.0.0.1:$2/healthz"
}

redis-server --port 0 --unixsocket "$dir/redis" --dir "$dir" --save '' --appendonly yes --loglevel warning >"$dir/redis.log" 2>&1 &
SLUICE_ADDR=127.0.0.1:$PORT_MODEL "$SLUICE" gemini-sim --pace "$PACE" >"$dir/model.log" 2>&1 &
until_true test -S "$dir/redis"
gateway a "$PORT_A" && a=$started
gateway b "$PORT_B" && b=$started
sed -e "s/bind :8080/bind 127.0.0.1:$PORT/" -e "s/:8081/:$PORT_A/" -e "s/:8082/:$PORT_B/" -e '/server c /d' deploy/haproxy.cfg >"$dir/haproxy.cfg"
haproxy -db -f "$dir/haproxy.cfg" >"$dir/haproxy.log" 2>&1 &
until_true curl -sf "$balancer/readyz"
echo "The page is at $balancer/, gateway a at port $PORT_A, gateway b at port $PORT_B."

case ${1:-up} in
up)
	echo "kill -9 $a ends a, kill -9 $b ends b; Ctrl-C ends all."
	wait
	;;
demo)
	question="Turn on the kitchen lights, play some jazz and set the living room to 21 degrees"
	# task_of FILE is the task that ask has named in its output.
	task_of() { grep -om1 'task_[0-9a-z]*' "$dir/$1"; }
	state_of() { curl -s "http://127.0.0.1:$PORT_B/tasks/$1" | grep -o '"state":"[a-z-]*"'; }

	echo; echo "1. A turn of gateway a is watched through gateway b."
	"$SLUICE" ask --url "http://127.0.0.1:$PORT_A" "$question" >"$dir/one" 2>&1 &
	first=$!
	until_true task_of one
	"$SLUICE" ask --url "http://127.0.0.1:$PORT_B" --resume "$(task_of one)" 2>&1 | tee "$dir/two"
	wait "$first"
	cmp "$dir/one" "$dir/two" && echo "Both have read the same."

	echo; echo "2. Another turn of gateway a is cancelled through gateway b."
	"$SLUICE" ask --url "http://127.0.0.1:$PORT_A" "$question" >"$dir/cancelled" 2>&1 &
	first=$!
	until_true task_of cancelled
	curl -sf -X POST "http://127.0.0.1:$PORT_B/tasks/$(task_of cancelled)/cancel" >/dev/null
	wait "$first" || true
	tail -n 1 "$dir/cancelled"
	until_true grep -q cancelled "$dir/cancelled"

	echo; echo "3. Gateway a is killed in the middle of a turn. Gateway b goes on with it, within 21 s: who reads it through HAProxy has the whole answer."
	"$SLUICE" ask --url "http://127.0.0.1:$PORT_A" "$question" >"$dir/killed" 2>&1 &
	first=$!
	until_true task_of killed
	"$SLUICE" ask --url "$balancer" --resume "$(task_of killed)" >"$dir/read" 2>&1 &
	reader=$!
	until_true grep -q started "$dir/read"
	{ kill -9 "$a" && wait "$a"; } 2>/dev/null || true
	wait "$reader"
	tail -n 3 "$dir/read"
	grep -q 'Now playing' "$dir/read"
	kill "$first" 2>/dev/null || true
	echo "Its task says $(state_of "$(task_of killed)")."

	echo; echo "4. The next turn is answered by gateway b."
	"$SLUICE" ask --url "$balancer" "Play some jazz" | tee "$dir/next"
	grep -q 'Now playing' "$dir/next"
	echo; echo "All went as it should."
	;;
*)
	echo "usage: $0 up|demo" >&2
	exit 2
	;;
esac
