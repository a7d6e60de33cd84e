#!/usr/bin/env bash
# Three ways to close a gateway to strangers, each shown from outside. No key of a model is
# needed: the offline demo model answers.
#
#   run.sh demo         shows all three
#   run.sh demo keys    API keys
#   run.sh demo oidc    tokens of an OpenID provider; needs Node 20, and npm ci in this folder
#   run.sh demo nginx   a login in front of the gateway; needs nginx and Python
#
# Needs curl, and Go or the program in $SLUICE.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD/examples/access
: "${PORT:=8080}" "${PROXY_PORT:=8090}" "${LOGIN_PORT:=9200}" "${ISSUER_PORT:=9300}" "${PYTHON:=python3}"
gateway=http://127.0.0.1:$PORT
dir=$(mktemp -d)
export SLUICE_TODO_DB=:memory: GEMINI_API_KEY=

stop() {
	jobs -p | xargs -r kill 2>/dev/null || true
	wait 2>/dev/null || true
}
finish() {
	trap - EXIT
	stop
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

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

# start ARGUMENTS starts a gateway with them.
start() {
	SLUICE_ADDR=127.0.0.1:$PORT SLUICE_AUTH=required "$SLUICE" "$@" >"$dir/gateway.log" 2>&1 &
	until_true curl -sf "$gateway/healthz"
}

# status ARGUMENTS prints the status of a request for the tools.
status() { curl -s -o /dev/null -w '%{http_code}' "$@"; }

# expect WHAT WANTED GOT fails unless they are the same.
expect() {
	echo "   $1: $3"
	[ "$2" = "$3" ] || { echo "want $2" >&2; tail -n 5 "$dir"/*.log >&2; exit 1; }
}

keys() {
	echo; echo "API keys: one for Ann, one that ends for a backend that serves its own users."
	export SLUICE_API_KEYS=$dir/keys.yaml
	ann=$("$SLUICE" keys add --user ann --note "her laptop" 2>/dev/null)
	"$SLUICE" keys add --user shop --scopes chat,act_as --expires 90d >/dev/null 2>&1
	"$SLUICE" keys list
	start
	expect "without a key" 401 "$(status "$gateway/tools")"
	expect "with a key that there is not" 401 "$(status -H "Authorization: Bearer ${ann%??????}aaaaaa" "$gateway/tools")"
	expect "with Ann's" 200 "$(status -H "Authorization: Bearer $ann" "$gateway/tools")"
	expect "as X-API-Key" 200 "$(status -H "X-API-Key: $ann" "$gateway/tools")"
	SLUICE_KEY=$ann "$SLUICE" ask --url "$gateway" "Remind me to buy eggs tomorrow at 3pm" | tee "$dir/ask"
	grep -qi eggs "$dir/ask"
	"$SLUICE" keys revoke "${ann:4:10}"
	refused() { [ "$(status -H "Authorization: Bearer $ann" "$gateway/tools")" = 401 ]; }
	until_true refused
	echo "   once it was revoked, seconds later: 401"
	unset SLUICE_API_KEYS
	stop
}

oidc() {
	echo; echo "An OpenID provider: the gateway finds its keys by discovery."
	[ -d "$here/node_modules/oidc-provider" ] || { echo "npm ci is missing: npm --prefix examples/access ci" >&2; exit 1; }
	export ISSUER=http://127.0.0.1:$ISSUER_PORT
	node "$here/provider.mjs" "$ISSUER_PORT" >"$dir/provider.log" 2>&1 &
	until_true curl -sf "$ISSUER/.well-known/openid-configuration"
	start --config "$here/oidc.yaml"
	# token SCOPE is one of the client desk.
	token() {
		curl -sf -u desk:desk-secret -d grant_type=client_credentials -d "scope=$1" "$ISSUER/token" | sed 's/.*"access_token":"\([^"]*\)".*/\1/'
	}
	chat=$(token chat)
	expect "without a token" 401 "$(status "$gateway/tools")"
	expect "with a token" 200 "$(status -H "Authorization: Bearer $chat" "$gateway/tools")"
	expect "with one that was altered" 401 "$(status -H "Authorization: Bearer ${chat}x" "$gateway/tools")"
	expect "with one for another scope" 403 "$(status -H "Authorization: Bearer $(token inspect)" "$gateway/tools")"
	echo "   who it is: $(curl -sf -H "Authorization: Bearer $chat" "$gateway/me")"
	curl -sf -H "Authorization: Bearer $chat" "$gateway/me" | grep -q '"user":"desk"'
	stop
}

nginx() {
	echo; echo "nginx: people log in there, and the gateway gets their name."
	secret=$(head -c 24 /dev/urandom | base64 | tr -d '+/=')
	printf '%s\n' "$secret" >"$dir/secret"
	sed -e "s|DIR|$dir|; s|PROXY_PORT|$PROXY_PORT|; s|LOGIN_PORT|$LOGIN_PORT|; s|PROXY_SECRET|$secret|; s|:PORT;|:$PORT;|" "$here/nginx.conf" >"$dir/nginx.conf"
	"$PYTHON" "$here/login.py" "$LOGIN_PORT" >"$dir/login.log" 2>&1 &
	until_true curl -s "http://127.0.0.1:$LOGIN_PORT/"
	PROXY_SECRET_FILE=$dir/secret start --config "$here/proxy.yaml"
	command nginx -c "$dir/nginx.conf" -g 'daemon off;' >"$dir/nginx.log" 2>&1 &
	front=http://127.0.0.1:$PROXY_PORT
	until_true curl -s "$front/"
	expect "without a login" 401 "$(status "$front/tools")"
	expect "with a wrong password" 401 "$(status -u ann:wrong "$front/tools")"
	expect "as Ann" 200 "$(status -u ann:ann-secret "$front/tools")"
	expect "past nginx, with the header but not its word" 401 "$(status -H 'X-Forwarded-User: ann' "$gateway/tools")"
	echo "   who it is: $(curl -sf -u ann:ann-secret -H 'X-Forwarded-User: bob' "$front/me")"
	curl -sf -u ann:ann-secret -H 'X-Forwarded-User: bob' "$front/me" | grep -q '"user":"ann"'
	curl -sfN -u bob:bob-secret "$front/chat/stream" -H 'Content-Type: application/json' -d '{"input":"what is on my list?"}' | grep -q '^event: done'
	echo "   a turn of Bob's ended well"
	stop
}

case ${1:-demo} in
demo)
	shift || true
	for part in ${@:-${PARTS:-keys oidc nginx}}; do
		"$part"
	done
	echo; echo "All went as it should."
	;;
*)
	echo "usage: $0 demo [keys] [oidc] [nginx]" >&2
	exit 2
	;;
esac
