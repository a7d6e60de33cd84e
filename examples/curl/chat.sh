#!/usr/bin/env bash
# Asks one question with curl and prints the answer as it arrives; needs jq:
#
#   chat.sh "What is on my list?"
#
# GATEWAY is http://localhost:8080 unless the environment says otherwise. Exit code 0:
# answered; 1: the turn failed, and the gateway has said why; 2: the gateway did not
# run it; 3: the connection broke, and what the turn did is unknown. curl's own code
# does not tell that: some proxies make a broken stream look like a whole one.
#
# If the gateway keeps turns (SLUICE_STORE), the rest of one whose connection breaks is
# asked for, and comes from whichever gateway goes on with it.
set -uo pipefail

[[ $# == 1 ]] || { echo 'usage: chat.sh TEXT' >&2; exit 2; }
body=$(jq -n --arg input "$1" '{$input, accumulated: false}') || exit 2
key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n') # 32 hex digits

stream=${GATEWAY:-http://localhost:8080}/chat/stream
place=$(mktemp) || exit 3 # has the id of the last event
trap 'rm -f "$place"' EXIT

# show prints the events of one reply. It returns 3 if there was no done.
show() {
	local line event='' data
	while IFS= read -r line || [[ -n $line ]]; do
		case $line in
		'id: '*) id=${line#id: } ;;
		'event: '*) event=${line#event: } ;;
		'data: '*) data=${line#data: } ;;
		'') # the event is whole
			[[ -z $event ]] || echo "$id" >"$place"
			case $event in
			response_delta) jq -j .delta <<<"$data" ;;
			response_reset) jq -j '"\n[begins again]\n\(.accumulated)"' <<<"$data" ;; # a terminal takes nothing back
			tool_call) jq -r '"\(.tool_name): \(.status)"' <<<"$data" >&2 ;;
			error) jq -r '"\(.error_type): \(.message)"' <<<"$data" >&2 ;;
			done)
				echo
				[[ $(jq .success <<<"$data") == true ]] && return 0
				return 1
				;;
			esac
			event= # a blank line may also end a comment
			;;
		'{'*) jq -r .detail <<<"$line" >&2 ;; # a refusal
		esac
	done
	return 3
}

curl -sSN --fail-with-body "$stream" \
	-H 'Content-Type: application/json' -H "Idempotency-Key: $key" --data-binary @- <<<"$body" | show
codes=("${PIPESTATUS[@]}")
case ${codes[0]} in
7 | 22) exit 2 ;; # nobody listens, or a status of 400 and above
esac
code=${codes[1]}
# Another gateway goes on within 21 seconds with the turns of one that died.
for ((tries = 0; code == 3 && tries < 30; tries++)); do
	last=$(<"$place")
	[[ $last == turn_* ]] || break
	sleep 1
	curl -sSN --fail "$stream" -H "Last-Event-ID: $last" | show
	code=${PIPESTATUS[1]}
	[[ $(<"$place") == "$last" ]] || tries=0
done
exit "$code"
