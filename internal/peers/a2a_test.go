package peers

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What uses a gateway over A2A: the SDKs for Python and JavaScript.
const (
	a2aPython   = ".venv/a2a/bin/python"
	a2aJudge    = "internal/peers/testdata/a2a_judge.py"
	a2aNPM      = npmFolder + "/node_modules/@a2a-js/sdk"
	a2aNPMJudge = npmFolder + "/a2a.mjs"
	teamCard    = "/.well-known/agent-card.json"
)

// everyA2A is what each judge tries; it says so when it held.
var everyA2A = []string{"card", "send", "stream", "get", "subscribe", "cancel", "question", "extension", "refusals"}

// Both SDKs read the card, send, stream, ask for tasks, subscribe, cancel, answer a
// question, and understand refusals: in both versions, over both bindings.
func TestA2ASDKs(t *testing.T) {
	t.Parallel()
	for _, sdk := range []struct {
		name string
		args func(*testing.T) []string
		more []string
	}{
		{"python", func(t *testing.T) []string { return []string{installed(t, a2aPython), installed(t, a2aJudge)} }, []string{"poll"}},
		{"javascript", func(t *testing.T) []string {
			installed(t, a2aNPM)
			return []string{node(t), installed(t, a2aNPMJudge)}
		}, nil},
	} {
		for _, binding := range []string{"JSONRPC", "HTTP+JSON"} {
			for _, version := range []string{"1.0", "0.3"} {
				t.Run(sdk.name+" "+binding+" "+version, func(t *testing.T) {
					t.Parallel()
					args := sdk.args(t)
					g := startTeam(t, "memory")
					cmd := exec.CommandContext(t.Context(), args[0], append(args[1:], g.base, teamCard, binding, version)...)
					var out, errOut bytes.Buffer
					cmd.Stdout, cmd.Stderr = &out, &errOut
					if err := cmd.Run(); err != nil {
						t.Fatalf("the judge: %v\n%s%s", err, &out, &errOut)
					}
					if held, want := strings.Fields(out.String()), append(slices.Clone(everyA2A), sdk.more...); !slices.Equal(held, want) {
						t.Errorf("the judge tried %q, want %q", held, want)
					}
				})
			}
		}
	}
}

// startTeam starts a gateway with the team of a house, served over A2A. Its offline model
// takes a moment for each piece, so that a turn can be met under way.
func startTeam(t *testing.T, store string) *gateway {
	t.Helper()
	needPeers(t)
	file, err := os.ReadFile(filepath.Join(root, "examples/home/sluice.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(path, append(file, "\na2a: {enabled: true}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	return startGateway(t, map[string]string{"SLUICE_CONFIG": path, "SLUICE_STORE": store})
}
