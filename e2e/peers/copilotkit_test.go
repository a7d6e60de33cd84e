package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"sluice/internal/base/testnet"
	"sluice/internal/sim/geminisim"
)

// CopilotKit, a page's core in front of the runtime in front of a HttpAgent, plays every golden
// transcript as the client itself does, and has conversations with a gateway.
func TestCopilotKit(t *testing.T) {
	needPeers(t)
	turns := recordedTurns(t)
	t.Parallel()
	g := startGateway(t, byMarkerAs(t, geminisim.Config{Foreign: true}, aguiScripts).env())
	var seen struct{ Runs, Talks map[string][]aguiRun }
	runDialect(t, "copilotkit", "play.mjs", map[string]any{"tape": turns.serve(t), "runs": turns.runs(), "gateway": g.base}, &seen)
	for name, count := range turns.runs() {
		for i := range count {
			want := aguiWant(turns[name][i], map[string]bool{}).inOrder()
			if text := diff.Diff(want, seen.Runs[name][i].inOrder()); text != "" {
				t.Errorf("%s, run %d (-want +got):\n%s", name, i+1, text)
			}
		}
	}
	wantTurns(t, seen.Talks["turns"])
	page := seen.Talks["page"][0]
	if len(page.Calls) != 1 || page.Calls[0].Result != "red" || page.Text != "It is red." || page.Verdict != "success" || len(page.Complaints) > 0 {
		t.Errorf("the turn with a tool of the page's is %+v", page)
	}
}

// examples/copilotkit is a page's way to the gateway, and runs its tool.
func TestCopilotKitExample(t *testing.T) {
	t.Parallel()
	modules := installed(t, dialectsFolder+"/copilotkit/node_modules")
	dir := t.TempDir()
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"runtime.mjs", "ask.mjs", "package.json"} {
		text, err := os.ReadFile(installed(t, "examples/copilotkit/"+name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := startGateway(t, byMarkerAs(t, geminisim.Config{Foreign: true}, aguiScripts).env())
	env := with(baseEnv(), "SLUICE_URL", g.base, "PORT", "0", "COPILOTKIT_TELEMETRY_DISABLED", "true")
	runtime := start(t, command{name: dialectNode(t), args: []string{filepath.Join(dir, "runtime.mjs")}, env: env})
	var found []string
	testnet.Eventually(t, "the runtime listens", func() bool {
		found = listensOn.FindStringSubmatch(runtime.out.String())
		return found != nil
	})
	ask := exec.CommandContext(t.Context(), dialectNode(t), filepath.Join(dir, "ask.mjs"), "[page] Which color?")
	for name, value := range with(env, "RUNTIME_URL", "http://127.0.0.1:"+found[1]+"/api/copilotkit") {
		ask.Env = append(ask.Env, name+"="+value)
	}
	out, err := ask.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "It is red.\n") || !strings.Contains(string(out), "pick_color\n") {
		t.Errorf("%v: %s", err, out)
	}
}
