#!/usr/bin/env bash
# Installs the judges that the tests in e2e/wire and e2e/faults ask: sslscan, testssl.sh,
# slowhttptest, h2load, curl, openssl and ip from Debian, if this is Debian and we are root, and
# h2spec, by the version and sums in tools/, into .judges. nginx, HAProxy and nc are
# balancers-install.sh's. What is there already is left alone. The exit code
# tells whether all are there.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

failed=0
fail() { printf 'judges-install: %s\n' "$*" >&2; failed=1; }

wanted=()
command -v sslscan >/dev/null || wanted+=(sslscan)
command -v testssl >/dev/null || command -v testssl.sh >/dev/null || wanted+=(testssl.sh)
command -v slowhttptest >/dev/null || wanted+=(slowhttptest)
command -v h2load >/dev/null || wanted+=(nghttp2-client)
command -v curl >/dev/null || wanted+=(curl)
command -v openssl >/dev/null || wanted+=(openssl)
command -v ip >/dev/null || wanted+=(iproute2)

debian() {
	command -v apt-get >/dev/null || { fail "$* missing, and this is not Debian"; return; }
	[[ $(id -u) == 0 ]] || { fail "$* missing, and only root can install it: apt-get install $*"; return; }
	printf 'judges-install: installing %s from Debian\n' "$*"
	local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@")
	"${install[@]}" >/dev/null || { apt-get update -qq && "${install[@]}" >/dev/null; } || fail "apt-get could not install $*"
}
[[ ${#wanted[@]} == 0 ]] || debian "${wanted[@]}"

if [[ ! -x .judges/h2spec || tools/go.sum -nt .judges/h2spec ]]; then
	mkdir -p .judges && go build -modfile=tools/pinned/go.mod -o .judges/h2spec github.com/summerwind/h2spec/cmd/h2spec && touch .judges/h2spec ||
		fail "h2spec could not be built"
fi
exit "$failed"
