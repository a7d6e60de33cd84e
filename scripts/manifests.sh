#!/usr/bin/env bash
# Renders deploy/kubernetes and its overlays with kustomize, and deploy/helm/sluice with helm.
# kubeconform checks each document strictly against the schemas of the oldest and of the newest
# Kubernetes that they are meant for. Asks no network: scripts/release-install.sh has installed
# all of it.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

bin=.artifacts/bin
schemas=.venv/release/schemas
failed=0
for needed in "$bin/kustomize" "$bin/helm" "$bin/kubeconform" "$schemas"; do
	[[ -e $needed ]] || { printf 'manifests: %s is missing: scripts/release-install.sh installs it\n' "$needed" >&2; exit 1; }
done
# conform NAME: checks the documents on its input.
conform() {
	local rendered version
	rendered=$(cat)
	for version in "$schemas"/v*; do
		printf '%s, Kubernetes %s: ' "$1" "${version##*/v}"
		"$bin/kubeconform" -strict -summary -kubernetes-version "${version##*/v}" \
			-schema-location "$schemas/{{ .NormalizedKubernetesVersion }}/{{ .ResourceKind }}{{ .KindSuffix }}.json" <<<"$rendered" || return 1
	done
}
# chart OPTIONS...: renders the chart.
chart() { "$bin/helm" template sluice deploy/helm/sluice --namespace sluice --kube-version 1.30.0 "$@"; }

for folder in deploy/kubernetes deploy/kubernetes/overlays/*; do
	"$bin/kustomize" build "$folder" | conform "$folder" || failed=1
done
chart | conform deploy/helm/sluice || failed=1
chart --set-file config=deploy/kubernetes/overlays/redis/sluice.yaml --set sharedSecret=sluice-shared,keysSecret=sluice-keys,autoscaling.streams= |
	conform "deploy/helm/sluice with a configuration file" || failed=1
exit "$failed"
