package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the shell itself makes of the script.
func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	_, script, _ := runCommand(t, nil, "completion", "bash")
	for _, tt := range []struct {
		typed string // with a space for each word that is complete
		want  []string
	}{
		{"sluice he", []string{"healthcheck", "help"}},
		{"sluice workflow ", []string{"check", "graph", "run"}},
		{"sluice keys re", []string{"revoke"}},
		{"sluice ask --wo", []string{"--workflow"}},
		{"sluice ask hello --dr", []string{"--drafts", "--drain-timeout"}},
		{"sluice keys add --te", []string{"--tenant"}},
		{"sluice workflow run triage --approve", []string{"--approve"}},
		{"sluice --tls-c", []string{"--tls-cert"}},
		{"sluice eval router --se", []string{"--set"}},
		{"sluice keys list --ten", nil},
	} {
		words := strings.Split(tt.typed, " ")
		const ask = `
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sluice; printf '%s\n' "${COMPREPLY[@]}"`
		out, err := exec.CommandContext(t.Context(), bash, append([]string{"--norc", "-c", script + ask, "bash"}, words...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", tt.typed, err, out)
		}
		if diff := cmp.Diff(tt.want, strings.Fields(string(out)), cmp.Transformer("sized", func(l []string) []string { return append([]string{}, l...) })); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.typed, diff)
		}
	}
}

// The other shells are asked where they are installed: whether they can read the script.
func TestCompletionIsRead(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		code, script, _ := runCommand(t, nil, "completion", shell)
		if code != exitOK || !strings.Contains(script, "healthcheck") {
			t.Errorf("%s: exit code %d", shell, code)
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		cmd := exec.CommandContext(t.Context(), path, "-n")
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
}
