package main

import (
	"strings"
	"testing"
)

// A mistyped variable would leave writes unguarded without a word.
func TestUnknownVariablesAreNamed(t *testing.T) {
	t.Parallel()
	const warning = "SLUICE_CONFRIM: there is no such variable; did you mean SLUICE_CONFIRM?"
	path := writeConfig(t, "models: {}\n")
	env := map[string]string{"SLUICE_CONFRIM": "s3cr3t-canary", "SLUICE_XYZZY_PLUGH": "s3cr3t-canary", "CONFRIM": "other", "GEMINI_API_KEI": "other"}
	code, stdout, stderr := runCommand(t, env, "config", "check", path)
	if want := "warning: " + warning + "\nwarning: SLUICE_XYZZY_PLUGH: there is no such variable\n"; code != exitOK || stdout != "ok\n" || stderr != want {
		t.Errorf("exit code %d, stdout %q, stderr %q, want %q", code, stdout, stderr, want)
	}
	env["SLUICE_STRICT"] = "true"
	code, stdout, _ = runCommand(t, env, "config", "check", path)
	if want := warning + "\nSLUICE_XYZZY_PLUGH: there is no such variable\n"; code != exitUsage || stdout != want {
		t.Errorf("with SLUICE_STRICT: exit code %d, stdout %q, want %q", code, stdout, want)
	}
}

func TestUnknownVariablesAreLogged(t *testing.T) {
	t.Parallel()
	g := start(t, map[string]string{"SLUICE_CONFRIM": "writes"})
	line := g.Log.Await(t, "config_warning", g.Ended)
	if got := line.Detail("message"); !strings.HasPrefix(got, "SLUICE_CONFRIM: ") {
		t.Errorf("the log has %q", got)
	}
}

func TestCheckNamesTheFileThatIsMissing(t *testing.T) {
	t.Parallel()
	code, stdout, _ := runCommand(t, nil, "config", "check", "nofile.yaml")
	if want := "nofile.yaml: there is no such file\n"; code != exitUsage || stdout != want {
		t.Errorf("exit code %d, stdout %q, want %q", code, stdout, want)
	}
}

// What only looks at a workflow needs nothing that a run would need.
func TestWorkflowsAreLookedAtWithoutAStore(t *testing.T) {
	t.Parallel()
	const path = "../../examples/workflows/refund.yaml"
	if code, stdout, _ := runCommand(t, nil, "workflow", "check", path); code != exitOK || !strings.HasPrefix(stdout, "refund: ok") {
		t.Errorf("check: exit code %d, stdout %q", code, stdout)
	}
	if code, stdout, _ := runCommand(t, nil, "workflow", "graph", "--config", path, "refund"); code != exitOK || !strings.Contains(stdout, "-->") {
		t.Errorf("graph: exit code %d, stdout %q", code, stdout)
	}
	if code, _, stderr := runCommand(t, nil, "workflow", "run", "--config", path, "refund", "hi"); code != exitUsage || !strings.Contains(stderr, "SLUICE_STORE") {
		t.Errorf("run: exit code %d, stderr %q", code, stderr)
	}
}
