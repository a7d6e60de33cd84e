#!/usr/bin/env bash
# Measures what the gateway does under overload, on this machine: the peak, that is
# the most turns a second that a closed loop gets out of it, and then an open loop of
# FACTOR times as many, in its steady state, from 5 s after it began. Turns have a tool
# call and 40 chunks, without a pause if none is set. Prints a table; asserts nothing.
#
#   scripts/overload.sh              adaptive and count, GET over connections that are kept
#   ADMISSION=adaptive METHOD=POST FACTOR=5 SECONDS_EACH=15 CLIENTS=64 scripts/overload.sh
#   PIN=1 scripts/overload.sh        the gateway alone on the last core, all else on the first
#   SLUICE=path/to/sluice scripts/overload.sh     that binary as the gateway
#   FIRST=300ms PAUSE=20ms CLIENTS=1500 PIN=1 scripts/overload.sh     turns that take as long as real ones: before
#                                                 each answer, and before each chunk; it takes more clients to find the peak
#
# The model and its tools are those of e2e/compare, which cost less than the gateway: with one that
# costs more, the model is what is overloaded.
#
# p50_ms and p99_ms are of the first text, from when the turn was due: they hold the
# delay of a generator that is short of CPU itself. "own_p99<" is by the gateway's
# clock, from when its handler ran, in buckets of a factor 2, warm-up included.
#
# The load comes from the same machine. So "generator" is what it took of the cores,
# and the simulator takes about as much: where the sum reaches all cores, a refusal
# costs the gateway what the generator spends on it.
set -euo pipefail
cd "$(dirname "$0")/.."

admissions=${ADMISSION:-adaptive count}
method=${METHOD:-GET}
factor=${FACTOR:-5}
seconds=${SECONDS_EACH:-15}
clients=${CLIENTS:-64}
pin=${PIN:-}
port=${PORT_BASE:-28600}
dir=$(mktemp -d)
pids=()
trap 'for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done; wait; rm -rf "$dir"' EXIT
ulimit -n "$(ulimit -Hn)"

go build -o "$dir/sluice" ./cmd/sluice
go build -C e2e -o "$dir/upstream" ./compare
gateway=${SLUICE:-$dir/sluice}
on() { # CORE CMD...
	if [ -n "$pin" ]; then taskset -c "$1" "${@:2}"; else "${@:2}"; fi
}
await() { # PORT
	for _ in $(seq 200); do
		(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return 0
		sleep 0.05
	done
	echo "nothing listens on port $1" >&2
	cat "$dir"/*.log >&2
	return 1
}
load() { # NAME FLAGS...
	metrics "$dir/before"
	on 0 "$dir/sluice" loadtest --url "http://127.0.0.1:$port" --method "$method" --timeout 30s --pid "$server" \
		"${@:2}" >"$dir/$1" 2>>"$dir/progress.log" || true # refusals are no success
	metrics "$dir/after.metrics"
}
good() { # FILE: where all turns are good, the throughput is the goodput
	awk '/throughput/ {n = $2} /goodput/ {n = $2} END {print n}' "$1"
}
# metrics writes the gateway's own histogram of the time to the first text.
metrics() { # FILE
	exec 4<>"/dev/tcp/127.0.0.1/$port"
	printf 'GET /metrics HTTP/1.0\r\n\r\n' >&4
	grep -a '^sluice_first_delta_seconds_bucket' <&4 >"$1" || true
	exec 4>&-
}
# own says below which of its buckets 99 % of the first texts were, in ms.
own() { # BEFORE AFTER
	awk -F'"|} ' 'NR == FNR {before[$2] = $NF; next} {n = $NF - before[$2]; bound[++rows] = $2; count[rows] = n}
		END {for (i = 1; i <= rows; i++) if (count[i] >= 0.99 * count[rows]) {print (bound[i] == "+Inf") ? "more" : bound[i] * 1000; exit}}' "$1" "$2"
}
row() { # NAME LABEL
	local f=$dir/$1 p50 p99
	read -r p50 p99 < <(awk '/first text/ {print $3, $5}' "$f")
	printf '%-26s %9s %9s %9s %9s %8s %8s %8s %8s %10s\n' "$2" "$(awk '/started/ {print $2}' "$f")" "$(awk '/refused/ {print $2; exit}' "$f")" \
		"$(awk '/^  (failed|broken|unreconciled|dropped)/ {n += $2} END {print n + 0}' "$f")" "$(good "$f")" "$p50" "$p99" \
		"$(own "$dir/before" "$dir/after.metrics")" "$(awk '/^  server/ {print $(NF - 3)}' "$f")" "$(awk '/^  generator/ {print $2}' "$f")"
}

mkfifo "$dir/alive"
sleep infinity >"$dir/alive" & # the upstream ends with its input
pids+=($!)
on 0 "$dir/upstream" -upstream -chunks 40 <"$dir/alive" >"$dir/urls" 2>"$dir/upstream.log" &
pids+=($!)
for _ in $(seq 100); do [ -s "$dir/urls" ] && break || sleep 0.05; done
read -r model tools pace <"$dir/urls"
hostport=${pace#http://}
exec 5<>"/dev/tcp/${hostport%:*}/${hostport#*:}"
printf 'GET /?first=%s&pause=%s HTTP/1.0\r\n\r\n' "${FIRST:-}" "${PAUSE:-}" >&5
grep -q ' 200 ' <&5
exec 5>&-
last=0
[ -z "$pin" ] || last=$(($(nproc) - 1))
printf '%-26s %9s %9s %9s %9s %8s %8s %8s %8s %10s\n' "$(nproc) cores, $method" turns refused lost good/s p50_ms p99_ms "own_p99<" gateway generator
for admission in $admissions; do
	env SLUICE_ADDR="127.0.0.1:$port" SLUICE_ADMISSION="$admission" MCP_SERVER_URL="$tools" GEMINI_API_KEY=simulated \
		GEMINI_BASE_URL="$model" $([ -z "$pin" ] || echo taskset -c "$last") "$gateway" >"$dir/gateway.log" 2>&1 &
	server=$!
	pids+=("$server")
	await "$port"
	load peak --clients "$clients" --warmup 3s --duration 8s
	row peak "$admission, $clients clients"
	peak=$(good "$dir/peak")
	rate=$(awk -v p="$peak" -v f="$factor" 'BEGIN {print int(p * f)}')
	load over --rate "$rate" --warmup 5s --duration "${seconds}s" --max-in-flight 8000
	row over "$admission, $rate/s offered"
	load after --clients "$clients" --warmup 1s --duration 4s
	row after "$admission, $clients clients after"
	kill "$server"
	wait "$server" || true
done
