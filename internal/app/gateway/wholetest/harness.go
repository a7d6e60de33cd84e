package wholetest

import (
	"context"
	"io"
	"os"
	"testing"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/process"
	"sluice/internal/app/settings"
)

// The first logger of a process sets zerolog's package-wide format, which zerolog reads without a
// lock. It is set here before the first test, as that test may log by itself while another one
// starts a gateway.
var _ = process.NewLogger(io.Discard, "error")

// Exit codes of a program, for Run's result.
const (
	ExitOK     = 0
	ExitFailed = 1
)

// Listen starts a gateway on a free port. It is stopped with the test, and must then
// end well, unless the test stops it first.
func Listen(t *testing.T, env map[string]string, args ...string) *gatewaytest.Running {
	t.Helper()
	return ListenWith(t, env, new(gatewaytest.LogTail), args...)
}

// ListenWith is Listen with out as the place of the log.
func ListenWith(t *testing.T, env map[string]string, out io.Writer, args ...string) *gatewaytest.Running {
	t.Helper()
	var file settings.File
	cfg, err := settings.LoaderWith(&file).Load(args, gatewaytest.LookupIn(gatewaytest.WithDefaults(t, env)), os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	return ListenAs(t, settings.Config{Config: cfg, File: file, Version: "test"}, out)
}

// ListenAs starts a gateway of a whole configuration.
func ListenAs(t *testing.T, whole settings.Config, out io.Writer) *gatewaytest.Running {
	t.Helper()
	addr := make(chan string, 1)
	r := gatewaytest.Launch(t, out, func(ctx context.Context, r *gatewaytest.Running) int {
		s, err := gateway.Listen(ctx, whole, out)
		if err != nil {
			t.Error(err)
			addr <- ""
			return ExitFailed
		}
		defer s.Close()
		addr <- s.Addr()
		if s.Run(ctx, r.Signals) != nil {
			return ExitFailed
		}
		return ExitOK
	})
	r.Base = "http://" + gatewaytest.Within(t, "the address", addr)
	return r
}
