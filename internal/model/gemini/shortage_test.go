package gemini

import (
	"context"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"testing"

	"sluice/breaker"
	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/model"
)

// ownShortages are errors of a dial that mean that we ran out of something.
func ownShortages() map[string]error {
	return map[string]error{
		"descriptors":        os.NewSyscallError("socket", syscall.EMFILE),
		"the system's files": os.NewSyscallError("socket", syscall.ENFILE),
		"buffers":            os.NewSyscallError("socket", syscall.ENOBUFS),
		"memory":             os.NewSyscallError("socket", syscall.ENOMEM),
		"ports":              os.NewSyscallError("connect", syscall.EADDRNOTAVAIL),
		"descriptors of the resolver": &net.DNSError{
			Err: "dial udp 127.0.0.53:53: socket: " + syscall.EMFILE.Error(), Name: "up.test", Server: "127.0.0.53:53"},
	}
}

// A shortage of the gateway's own must not close the way to a service that is well.
func TestShortageOfOurOwnDoesNotCountForTheBreaker(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		for name, cause := range ownShortages() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var dials atomic.Int32
				count := metrics.New()
				m := open(t, Config{
					BaseURL: "http://up.test",
					Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
						dials.Add(1)
						return nil, &net.OpError{Op: "dial", Net: "tcp", Err: cause}
					}},
					Metrics: count,
				})
				for range 5 {
					_, err := ask(t.Context(), m)
					if e := wantFault(t, err, fault.Overloaded); e.RetryAfter <= 0 || e.Message != fault.OverloadedMessage {
						t.Errorf("the fault is %+v", e)
					}
				}
				wantFailures(t, m, 0)
				if s := m.Breaker().Snapshot().State; s != breaker.Closed {
					t.Errorf("the breaker is %s", s)
				}
				if n := dials.Load(); n != 5 {
					t.Errorf("%d dials for 5 calls: a shortage is not to be made worse by retries", n)
				}
				wantOutcomes(t, count, map[string]int{model.OutcomeOverloaded: 5})
			})
		}
	})
}
