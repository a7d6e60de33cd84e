//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
)

const houseFile = "../../examples/home/sluice.yaml"

// The example runs by its one command: a decision, two agents with tools of their own,
// one answer.
func TestAskATeam(t *testing.T) {
	t.Parallel()
	code, out, errOut := runCommand(t, nil, "ask", "--config", houseFile, "Dim the kitchen lights to 30% and play some jazz")
	for _, part := range []string{
		"⇒ light-agent + music-agent  (95% sure, ", "● light-agent started\n", "● music-agent started\n",
		`→ light-agent: set_light {"room": "kitchen","brightness": 30}`, `→ music-agent: play_music {"query": "jazz"}`,
		"\n\nThe kitchen lights are at 30%.\n", "\n\nNow playing: jazz.\n", "● light-agent done  ", "● music-agent done  ",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is not in\n%s", part, out)
		}
	}
	if code != exitOK || errOut != "" {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	code, out, _ = runCommand(t, nil, "ask", "--config", houseFile, "Make it cozy")
	if code != exitOK || !strings.Contains(out, "⇒ a question to you  (30% sure, ") || !strings.Contains(out, "What would you like me to do?") {
		t.Errorf("a question: exit code %d\n%s", code, out)
	}
}

func TestEvalRouter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	set := filepath.Join(dir, "set.jsonl")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(set, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"input": "Turn on the kitchen lights", "kind": "single", "agents": ["light-agent"]}
{"input": "Make it cozy", "kind": "ambiguous", "decision": "clarify"}
{"input": "Play some jazz", "kind": "single", "agents": ["climate-agent"]}
`)
	code, out, errOut := runCommand(t, nil, "eval", "router", "--config", houseFile, "--set", set, "--min-accuracy", "0.9")
	for _, part := range []string{"accuracy                           66.7 %", "100.0 % / 100.0 %", "offline-demo (a simulator)", "wrong: Play some jazz\n  want [climate-agent], got [music-agent]"} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is not in\n%s", part, out)
		}
	}
	if code != exitFailed || !strings.Contains(errOut, "the accuracy is below 0.9") {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	if code, out, _ := runCommand(t, nil, "eval", "router", "--json", "--config", houseFile, "--config", houseFile, "--set", set); code != exitOK || strings.Count(out, `"accuracy": 0.667`) != 2 {
		t.Errorf("two configurations as JSON: exit code %d\n%s", code, out)
	}
	write(`{"input": "x"}`)
	if code, _, errOut := runCommand(t, nil, "eval", "router", "--config", houseFile, "--set", set); code != exitUsage || !strings.Contains(errOut, "line 1: needs an input") {
		t.Errorf("a faulty set: exit code %d, %s", code, errOut)
	}
	if code, _, _ := runCommand(t, nil, "eval", "model"); code != exitUsage {
		t.Errorf("nothing to judge: exit code %d", code)
	}
}

// SIGHUP makes the gateway read its file again: what is good is in use, what is not
// changes nothing.
func TestReloadBySignal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("agents: {a: {description: x}}\n")
	hangups := make(chan os.Signal, 1)
	out := new(gatewaytest.LogTail)
	r := gatewaytest.Launch(t, out, func(ctx context.Context, r *gatewaytest.Running) int {
		return run(ctx, nil, program{
			stdin: strings.NewReader(""), stdout: out, stderr: r.Stderr,
			lookup:   gatewaytest.LookupIn(gatewaytest.WithDefaults(t, map[string]string{"SLUICE_CONFIG": path})),
			readFile: os.ReadFile, signals: r.Signals,
			hangups: func() (<-chan os.Signal, func()) { return hangups, func() {} },
		})
	})
	r.Base = "http://" + r.Log.Await(t, "listening", r.Ended).Detail("addr")
	write("agents: {b: {description: y}}\n")
	hangups <- os.Interrupt
	r.Log.Await(t, "config_reloaded", r.Ended)
	if _, got := r.Get("/agents/b"); !strings.Contains(got, `"id":"b"`) {
		t.Errorf("GET /agents/b: %s", got)
	}
	write("agents: {b: {}}\n")
	hangups <- os.Interrupt
	r.Log.Await(t, "config_rejected", r.Ended)
	if _, got := r.Get("/agents/b"); !strings.Contains(got, `"id":"b"`) {
		t.Errorf("GET /agents/b after a faulty file: %s", got)
	}
}
