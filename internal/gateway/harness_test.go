package gateway

import (
	"context"
	"io"
	"os"
	"testing"

	"sluice/internal/gateway/gatewaytest"
	"sluice/internal/settings"
)

// What a program makes of Run's result: its exit code.
const (
	exitOK     = 0
	exitFailed = 1
)

// start starts a gateway on a free port. It is stopped with the test, and must then
// end well, unless the test stops it first.
func start(t *testing.T, env map[string]string, args ...string) *gatewaytest.Running {
	t.Helper()
	return launch(t, env, new(gatewaytest.LogTail), args...)
}

// launch is start with out as the place of the log.
func launch(t *testing.T, env map[string]string, out io.Writer, args ...string) *gatewaytest.Running {
	t.Helper()
	var file settings.File
	cfg, err := settings.LoaderWith(&file).Load(args, gatewaytest.LookupIn(gatewaytest.WithDefaults(t, env)), os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	return running(t, settings.Config{Config: cfg, File: file, Version: "test"}, out)
}

// running starts a gateway of a whole configuration.
func running(t *testing.T, whole settings.Config, out io.Writer) *gatewaytest.Running {
	t.Helper()
	addr := make(chan string, 1)
	r := gatewaytest.Launch(t, out, func(ctx context.Context, r *gatewaytest.Running) int {
		s, err := Listen(ctx, whole, out)
		if err != nil {
			t.Error(err)
			addr <- ""
			return exitFailed
		}
		defer s.Close()
		addr <- s.Addr()
		if s.Run(ctx, r.Signals) != nil {
			return exitFailed
		}
		return exitOK
	})
	r.Base = "http://" + gatewaytest.Within(t, "the address", addr)
	return r
}
