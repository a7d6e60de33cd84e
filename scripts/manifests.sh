#!/usr/bin/env bash
# Renders deploy/kubernetes and its overlays with kustomize, and checks each document with
# kubeconform, strictly, against the schemas of the oldest and of the newest Kubernetes that
# they are meant for. Asks no network: scripts/release-install.sh has installed all of it.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

bin=.artifacts/bin
schemas=.venv/release/schemas
failed=0
for needed in "$bin/kustomize" "$bin/kubeconform" "$schemas"; do
	[[ -e $needed ]] || { printf 'manifests: %s is missing: scripts/release-install.sh installs it\n' "$needed" >&2; exit 1; }
done
for folder in deploy/kubernetes deploy/kubernetes/overlays/*; do
	rendered=$("$bin/kustomize" build "$folder") || { failed=1; continue; }
	for version in "$schemas"/v*; do
		printf '%s, Kubernetes %s: ' "$folder" "${version##*/v}"
		"$bin/kubeconform" -strict -summary -kubernetes-version "${version##*/v}" \
			-schema-location "$schemas/{{ .NormalizedKubernetesVersion }}/{{ .ResourceKind }}{{ .KindSuffix }}.json" <<<"$rendered" || failed=1
	done
done
exit "$failed"
