package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
)

// start starts the gateway and waits until it listens. It is stopped with the
// test, and must then end well, unless the test stops it first.
func start(t *testing.T, env map[string]string, args ...string) *gatewaytest.Running {
	t.Helper()
	out := new(gatewaytest.LogTail)
	r := gatewaytest.Launch(t, out, func(ctx context.Context, r *gatewaytest.Running) int {
		return run(ctx, args, program{
			stdin: strings.NewReader(""), stdout: out, stderr: r.Stderr,
			lookup: gatewaytest.LookupIn(gatewaytest.WithDefaults(t, env)), environ: gatewaytest.EnvironOf(env), readFile: os.ReadFile, signals: r.Signals,
		})
	})
	line := r.Log.Await(t, "listening", r.Ended)
	r.Base = "http://" + line.Detail("addr")
	return r
}

// paper is a terminal that shows no colours.
type paper struct{ gatewaytest.SafeBuffer }

func (*paper) IsTerminal() bool { return true }

// noColor is the environment of a terminal that shows no colours.
func noColor(lookup func(string) (string, bool)) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if name == "NO_COLOR" {
			return "1", true
		}
		return lookup(name)
	}
}

// runCommand runs a command to its end, at a terminal, and returns what it left.
func runCommand(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out paper
	var errOut gatewaytest.SafeBuffer
	code = run(t.Context(), args, program{
		stdin: strings.NewReader(""), stdout: &out, stderr: &errOut,
		lookup: noColor(gatewaytest.LookupIn(gatewaytest.WithDefaults(t, env))), environ: gatewaytest.EnvironOf(env), readFile: os.ReadFile,
	})
	return code, out.String(), errOut.String()
}
