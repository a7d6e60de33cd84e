package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What uses a gateway as OpenAI's clients do: its SDK for Python.
const (
	openAIPython  = ".venv/openai/bin/python"
	openAIJudge   = "e2e/peers/testdata/openai_judge.py"
	openAIExample = "examples/openai/ask.py"
)

// OpenAI's SDK gets the same text as a native client, its own exceptions, and calls of its tools.
func TestOpenAISDK(t *testing.T) {
	t.Parallel()
	python := installed(t, openAIPython)
	g := startGateway(t, nil)
	native := g.ask(t, "Show my todos").done().FinalOutput
	out, err := exec.CommandContext(t.Context(), python, installed(t, openAIJudge), g.base, native).CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if diff := cmp.Diff("models\ndocument\nstream\nrefusals\ntools\n", string(out)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOpenAIExample(t *testing.T) {
	t.Parallel()
	python := installed(t, openAIPython)
	g := startGateway(t, nil)
	native := g.ask(t, "show my todos").done().FinalOutput
	runExample(t, exec.CommandContext(t.Context(), python, installed(t, openAIExample), "show my todos"), g.base, native+"\n")
}

// runExample runs a program of examples, which must print what is wanted.
func runExample(t *testing.T, cmd *exec.Cmd, gateway, want string) {
	t.Helper()
	for name, value := range with(baseEnv(), "SLUICE_URL", gateway, "LANGSMITH_TRACING", "false") {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The example for TypeScript runs as it stands, with the SDK that the tests have.
func TestOpenAIExampleInTypeScript(t *testing.T) {
	t.Parallel()
	sdk, nodejs := installed(t, sdksFolder+"/node_modules/openai-7.57.0"), dialectNode(t)
	program, err := os.ReadFile(installed(t, "examples/openai/ask.ts"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "ask.ts"), program, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "node_modules"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(sdk, filepath.Join(folder, "node_modules", "openai")); err != nil {
		t.Fatal(err)
	}
	g := startGateway(t, nil)
	native := g.ask(t, "show my todos").done().FinalOutput
	cmd := exec.CommandContext(t.Context(), nodejs, "--no-warnings", "ask.ts", "show my todos")
	cmd.Dir = folder
	runExample(t, cmd, g.base, native+"\n")
}
