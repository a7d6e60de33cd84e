#!/usr/bin/env bash
# Asks one question with curl and prints the answer as it arrives; needs jq:
#
#   chat.sh "What is on my list?"
#
# GATEWAY is http://localhost:8080 unless the environment says otherwise. Exit code 0:
# answered; 1: the turn failed, and the gateway has said why; 2: the gateway did not
# run it; 3: the connection broke, and what the turn did is unknown. curl's own code
# does not tell that: some proxies make a broken stream look like a whole one.
set -uo pipefail

[[ $# == 1 ]] || { echo 'usage: chat.sh TEXT' >&2; exit 2; }
body=$(jq -n --arg input "$1" '{$input, accumulated: false}') || exit 2
key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n') # 32 hex digits

curl -sSN --fail-with-body "${GATEWAY:-http://localhost:8080}/chat/stream" \
	-H 'Content-Type: application/json' -H "Idempotency-Key: $key" --data-binary @- <<<"$body" | {
	event=
	while IFS= read -r line || [[ -n $line ]]; do
		case $line in
		'event: '*) event=${line#event: } ;;
		'data: '*) data=${line#data: } ;;
		'') # the event is whole
			case $event in
			response_delta) jq -j .delta <<<"$data" ;;
			response_reset) jq -j '"\n[begins again]\n\(.accumulated)"' <<<"$data" ;; # a terminal takes nothing back
			tool_call) jq -r '"\(.tool_name): \(.status)"' <<<"$data" >&2 ;;
			error) jq -r '"\(.error_type): \(.message)"' <<<"$data" >&2 ;;
			done)
				echo
				[[ $(jq .success <<<"$data") == true ]] && exit 0
				exit 1
				;;
			esac
			event= # a blank line may also end a comment
			;;
		'{'*) jq -r .detail <<<"$line" >&2 ;; # a refusal
		esac
	done
	exit 3 # no done
}
codes=("${PIPESTATUS[@]}")
case ${codes[0]} in
7 | 22) exit 2 ;; # nobody listens, or a status of 400 and above
*) exit "${codes[1]}" ;;
esac
