package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A question is asked with SLUICE_RECORD, and the recording played and run again; what is wrong
// with a file, an argument or the store is one sentence and an exit code.
func TestReplayAndRetention(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rec := filepath.Join(dir, "rec")
	env := map[string]string{"GEMINI_MODEL": "offline-demo", "SLUICE_TODO_DB": ":memory:", "SLUICE_RECORD": rec}
	if code, _, errOut := runCommand(t, env, "ask", "list my todos"); code != exitOK {
		t.Fatal(code, errOut)
	}
	list, err := filepath.Glob(filepath.Join(rec, "*.slrec"))
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	cut := filepath.Join(dir, "cut")
	content, err := os.ReadFile(list[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cut, content[:len(content)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	faulty := maps.Clone(env)
	faulty["SLUICE_CONFIG"] = filepath.Join(dir, "none.yaml")
	if code, out, errOut := runCommand(t, faulty, "replay", list[0]); code != exitOK || !strings.Contains(out, "event: done\n") {
		t.Errorf("with a configuration that has a fault: %d %s", code, errOut)
	}
	for _, tt := range []struct {
		args      string
		code      int
		out, fail string
	}{
		{"replay " + list[0], exitOK, "event: done\n", ""},
		{"replay --speed 100 " + list[0], exitOK, "event: done\n", ""},
		{"replay --rerun " + list[0], exitOK, "the same: ", ""},
		{"replay " + list[0] + " --rerun", exitOK, "the same: ", ""},
		{"replay " + cut, exitFailed, "", "was cut"},
		{"replay --rerun " + cut, exitFailed, "", "was cut"},
		{"replay " + filepath.Join(dir, "none"), exitFailed, "", "no such file"},
		{"replay " + os.DevNull, exitFailed, "", "is no regular file"},
		{"replay", exitUsage, "", "name a recording"},
		{"replay --speed -1 " + list[0], exitUsage, "", "name a recording"},
		{"retention", exitUsage, "", "say what to do"},
		{"retention run", exitUsage, "", "there is nothing to sweep"},
		{"retention run --dry-run", exitUsage, "", "there is nothing to sweep"},
	} {
		code, out, errOut := runCommand(t, env, strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(out, tt.out) || !strings.Contains(errOut, tt.fail) {
			t.Errorf("%s: exit %d, %q, %q", tt.args, code, out, errOut)
		}
	}
	env["SLUICE_STORE"] = "sqlite:" + filepath.Join(dir, "s.db")
	if code, out, errOut := runCommand(t, env, "retention", "run"); code != exitOK || out != "0 of 0 tasks removed\n" {
		t.Error(code, out, errOut)
	}
}
