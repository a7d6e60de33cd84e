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
	a2aJudge    = "e2e/peers/testdata/a2a_judge.py"
	a2aNPM      = npmFolder + "/node_modules/@a2a-js/sdk"
	a2aNPMJudge = npmFolder + "/a2a.mjs"
	// The same, where they are asked before tools run.
	a2aApprovals    = "e2e/peers/testdata/a2a_approvals.py"
	a2aNPMApprovals = npmFolder + "/a2a_approvals.mjs"

	teamCard = "/.well-known/agent-card.json"
)

// everyA2A is what each judge tries; it says so when it held.
var everyA2A = []string{"card", "send", "stream", "get", "subscribe", "cancel", "question", "extension", "refusals"}

// sdks returns the command lines of both judges, without their arguments.
func sdks(t *testing.T) map[string]func() []string {
	return map[string]func() []string{
		"python": func() []string { return []string{installed(t, a2aPython), installed(t, a2aJudge)} },
		"javascript": func() []string {
			installed(t, a2aNPM)
			return []string{node(t), installed(t, a2aNPMJudge)}
		},
	}
}

// judge runs the judge that an SDK is made into against a gateway; other is one that
// shares its store, or empty.
func judge(t *testing.T, sdk, base, binding, version, other string) {
	t.Helper()
	args := append(sdks(t)[sdk](), base, teamCard, binding, version)
	if other != "" {
		args = append(args, other)
	}
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("the judge: %v\n%s%s", err, &out, &errOut)
	}
	want := slices.Clone(everyA2A)
	if sdk == "python" {
		want = append(want, "poll")
	}
	if held := strings.Fields(out.String()); !slices.Equal(held, want) {
		t.Errorf("the judge tried %q, want %q", held, want)
	}
}

// Both SDKs read the card, send, stream, ask for tasks, subscribe, cancel, answer a
// question, and understand refusals: in both versions, over both bindings.
func TestA2ASDKs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ sdk, binding, version string }{
		{"python", "JSONRPC", "1.0"}, {"python", "HTTP+JSON", "0.3"}, {"javascript", "JSONRPC", "0.3"}, {"javascript", "HTTP+JSON", "1.0"},
	} {
		t.Run(tt.sdk+" "+tt.binding+" "+tt.version, func(t *testing.T) {
			t.Parallel()
			sdks(t)[tt.sdk]()
			judge(t, tt.sdk, startTeam(t, "memory").base, tt.binding, tt.version, "")
		})
	}
}

// Both SDKs are asked before a tool runs, and answer: with a word, and with a data part.
func TestA2AApprovalsWithSDKs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ sdk, binding, version string }{
		{"python", "JSONRPC", "1.0"}, {"python", "HTTP+JSON", "1.0"}, {"python", "JSONRPC", "0.3"}, {"python", "HTTP+JSON", "0.3"},
		{"javascript", "JSONRPC", "1.0"}, {"javascript", "HTTP+JSON", "1.0"}, {"javascript", "JSONRPC", "0.3"}, {"javascript", "HTTP+JSON", "0.3"},
	} {
		t.Run(tt.sdk+" "+tt.binding+" "+tt.version, func(t *testing.T) {
			t.Parallel()
			args := sdks(t)[tt.sdk]()
			args[1] = installed(t, map[string]string{"python": a2aApprovals, "javascript": a2aNPMApprovals}[tt.sdk])
			path := filepath.Join(t.TempDir(), "sluice.yaml")
			if err := os.WriteFile(path, []byte("a2a: {enabled: true}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			base := startGateway(t, map[string]string{"SLUICE_CONFIG": path, "SLUICE_STORE": "memory", "SLUICE_CONFIRM": "writes"}).base
			cmd := exec.CommandContext(t.Context(), args[0], append(args[1:], base, teamCard, tt.binding, tt.version)...)
			out, err := cmd.CombinedOutput()
			if want := []string{"asked", "shown", "refused", "approve", "once", "reject", "modify"}; err != nil || !slices.Equal(strings.Fields(string(out)), want) {
				t.Errorf("the judge: %v, want %q\n%s", err, want, out)
			}
		})
	}
}

// startTeam starts a gateway with the team of a house, served over A2A. Its offline model
// takes a moment for each piece, so that a turn can be met under way.
func startTeam(t *testing.T, store string, env ...string) *gateway {
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
	return startGateway(t, with(map[string]string{"SLUICE_CONFIG": path, "SLUICE_STORE": store}, env...))
}
