#!/usr/bin/env bash
# Looks for secrets in the repository (gitleaks), for dangerous code (gosec), for known
# vulnerabilities in what we call (govulncheck), and for an HTTP/2 server that can be crashed in
# the binary. Versions and sums of the tools stand in go.mod and go.sum of tools/pinned, so that no
# other tool runs than the one that was looked at. One that cannot reach its database says so,
# and fails only with SLUICE_REQUIRE_DATABASES=1.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

failed=0
tool() { go tool -modfile=tools/pinned/go.mod "$@"; }
step() { printf '== %s\n' "$1"; shift; "$@" || { failed=1; printf '== failed: %s\n' "$*"; }; }

# leaks looks at the files that git knows or would add, not at what it ignores.
leaks() {
	local files
	files=$(mktemp -d) || return 1
	git ls-files -co --exclude-standard -z | tar --null -T - -cf - 2>/dev/null | tar -xf - -C "$files"
	tool gitleaks dir --no-banner --redact --log-level warn --config .gitleaks.toml "$files"
	local code=$?
	rm -rf "$files"
	return $code
}

# vulnerabilities tells a database that cannot be reached from one that has something to say.
vulnerabilities() {
	local out code
	out=$(tool govulncheck ./... 2>&1)
	code=$?
	if [[ $code != 0 ]] && grep -qiE 'fetching vulnerabilities|dial tcp|no such host|proxyconnect|forbidden|timeout|connection refused|Client\.Timeout' <<<"$out"; then
		printf 'govulncheck: NOT CHECKED, as its database (vuln.go.dev) cannot be reached: %s\n' "$(tail -n 1 <<<"$out")"
		[[ ${SLUICE_REQUIRE_DATABASES:-} != 1 ]]
		return
	fi
	printf '%s\n' "$out"
	return $code
}

linked() {
	local binary
	binary=$(mktemp) || return 1
	go build -o "$binary" ./cmd/sluice && go run ./tools/linked "$binary"
	local code=$?
	rm -f "$binary"
	return $code
}

# dangers leaves out rules that find nothing here but what is meant:
#   G104 an error that is dropped (they are dropped by name: _ =), G115 numbers that are bounded
#   elsewhere, G404 jitter, G101 names that hold "token", G204, G304, G703 programs and files that
#   the operator names, G602 pairs in a list.
# What serves tests is left out too. Anything else is annotated where it stands: #nosec, with a reason.
dangers() {
	local tests=()
	for dir in e2e tools examples internal/base/testnet internal/app/gateway/gatewaytest internal/app/gateway/wholetest internal/state/store/redis/redistest internal/sim/geminisim/simtest \
		internal/base/markdown/markdowntest internal/quality/channel/channeltest; do
		tests+=("-exclude-dir=$dir")
	done
	tool gosec -quiet -exclude-generated -exclude=G104,G115,G404,G101,G204,G304,G703,G602 "${tests[@]}" ./...
}

step gitleaks leaks
step gosec dangers
step govulncheck vulnerabilities
step "what the binary links" linked
exit "$failed"
