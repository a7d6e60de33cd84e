package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/base/fault"
)

func TestRecoverable(t *testing.T) {
	t.Parallel()
	for kind, want := range map[fault.Type]bool{
		fault.ToolFailed: true, fault.MCPUnavailable: true, fault.ModelUnavailable: true, fault.ModelRateLimited: true,
		fault.ModelBlocked: false, fault.ModelError: false, fault.Timeout: true, fault.ShuttingDown: true, fault.Internal: false,
		fault.Validation: false, fault.PayloadTooLarge: false, fault.UnsupportedMediaType: false, fault.MethodNotAllowed: false,
		fault.NotFound: false, fault.OriginRefused: false, fault.DuplicateRequest: false, fault.RequestTimeout: true, fault.Overloaded: true,
		"": false, "brand_new": false,
	} {
		if got := kind.Recoverable(); got != want {
			t.Errorf("%q.Recoverable() = %v, want %v", kind, got, want)
		}
	}
}

// Nothing is worth sending again that has taken effect, or may have; a node is as its cause is.
func TestErrorsWorthSendingAgain(t *testing.T) {
	t.Parallel()
	node := func(cause error) *fault.Error { return &fault.Error{Type: fault.WorkflowNodeFailed, Err: cause} }
	unknown := node(&fault.Error{Type: fault.Timeout})
	unknown.Unknown = true
	for _, tt := range []struct {
		err  *fault.Error
		want bool
	}{
		{&fault.Error{Type: fault.Timeout}, true},
		{&fault.Error{Type: fault.Timeout, Acted: true}, false},
		{&fault.Error{Type: fault.Timeout, Unknown: true}, true},
		{&fault.Error{Type: fault.Internal}, false},
		{node(&fault.Error{Type: fault.Timeout}), true},
		{node(fmt.Errorf("the node: %w", &fault.Error{Type: fault.Timeout})), true},
		{node(&fault.Error{Type: fault.Timeout, Acted: true}), false},
		{node(&fault.Error{Type: fault.ModelBlocked}), false},
		{node(errors.New("a bug")), fault.WorkflowNodeFailed.Recoverable()},
		{unknown, false},
	} {
		if got := tt.err.Recoverable(); got != tt.want {
			t.Errorf("%+v: %t, want %t", tt.err, got, tt.want)
		}
	}
}

func TestShortage(t *testing.T) {
	t.Parallel()
	dial := func(err error) error {
		return &url.Error{Op: "Post", URL: "http://up", Err: &net.OpError{Op: "dial", Net: "tcp", Err: err}}
	}
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{dial(os.NewSyscallError("socket", syscall.EMFILE)), true},
		{dial(os.NewSyscallError("socket", syscall.ENFILE)), true},
		{dial(os.NewSyscallError("socket", syscall.ENOBUFS)), true},
		{dial(os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)), true},
		{&fs.PathError{Op: "fork/exec", Path: "/bin/server", Err: syscall.EAGAIN}, true},
		{fmt.Errorf("starting: %w", syscall.ENOMEM), true},
		{dial(&net.DNSError{Err: "dial udp 127.0.0.53:53: socket: " + syscall.EMFILE.Error(), Name: "up"}), true},
		{dial(&net.DNSError{Err: "no such host", Name: "up", IsNotFound: true}), false},
		{dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), false},
		{os.NewSyscallError("read", syscall.ECONNRESET), false},
		{errors.New(syscall.EMFILE.Error()), false}, // an upstream's own words
		{io.EOF, false},
		{nil, false},
	} {
		if got := fault.Shortage(tt.err); got != tt.want {
			t.Errorf("Shortage(%v) = %v", tt.err, got)
		}
	}
	if got := fault.From(dial(syscall.EMFILE)); got.Type != fault.Overloaded || !got.Type.Recoverable() || got.RetryAfter == 0 {
		t.Errorf("a shortage becomes %+v", got)
	}
}

func TestFrom(t *testing.T) {
	t.Parallel()
	if got := fault.From(nil); got != nil {
		t.Errorf("From(nil) = %v", got)
	}
	blocked := &fault.Error{Type: fault.ModelBlocked, Message: "The answer was blocked"}
	for _, err := range []error{blocked, fmt.Errorf("step 2: %w", blocked), errors.Join(io.EOF, blocked)} {
		if got := fault.From(err); got != blocked {
			t.Errorf("From(%v) = %v, want the fault inside", err, got)
		}
	}
	secret := errors.New("dial tcp 10.0.0.1: key=hunter2")
	got := fault.From(secret)
	if got.Type != fault.Internal || got.Message != "Something went wrong on our side" || got.ForModel() != got.Message {
		t.Errorf("From of a foreign error = %+v", got)
	}
	if !errors.Is(got, secret) {
		t.Error("the cause of a foreign error is lost")
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	e := &fault.Error{Type: fault.ModelError, Message: "The AI service refused", Hint: "try less"}
	if got := e.Error(); got != "model_error: The AI service refused" {
		t.Errorf("Error() without a cause = %q", got)
	}
	e.Err = io.ErrUnexpectedEOF
	if got := e.Error(); got != "model_error: The AI service refused: unexpected EOF" {
		t.Errorf("Error() with a cause = %q", got)
	}
	if !errors.Is(e, io.ErrUnexpectedEOF) {
		t.Error("Unwrap does not give the cause")
	}
	if got := e.ForModel(); got != "try less" {
		t.Errorf("ForModel with a hint = %q", got)
	}
}

func TestCause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		drain := &fault.Error{Type: fault.ShuttingDown}
		late := &fault.Error{Type: fault.Timeout}

		plain, cancelPlain := context.WithCancel(t.Context())
		if err := fault.Cause(plain); err != nil {
			t.Errorf("Cause of a context that runs = %v", err)
		}
		cancelPlain() // as net/http does when a client disconnects
		causeless, cancelCauseless := context.WithCancelCause(t.Context())
		cancelCauseless(nil)
		drained, cancelDrained := context.WithCancelCause(t.Context())
		cancelDrained(drain)
		timed, cancelTimed := context.WithTimeoutCause(t.Context(), time.Second, late)
		defer cancelTimed()
		below, cancelBelow := context.WithCancel(drained)
		defer cancelBelow()
		bare, cancelBare := context.WithTimeout(t.Context(), time.Second)
		defer cancelBare()
		time.Sleep(time.Second)
		synctest.Wait()

		for _, tt := range []struct {
			name string
			ctx  context.Context
			want error
		}{
			{"cancelled", plain, fault.ErrClientGone},
			{"cancelled with a nil cause", causeless, fault.ErrClientGone},
			{"cancelled with a cause", drained, drain},
			{"child of one", below, drain},
			{"timed out with a cause", timed, late},
			{"timed out without one", bare, context.DeadlineExceeded},
		} {
			if got := fault.Cause(tt.ctx); got != tt.want {
				t.Errorf("%s: Cause = %v, want %v", tt.name, got, tt.want)
			}
		}
	})
}

// quoting is a cause whose whole text may hold what a user wrote.
type quoting struct{}

func (quoting) Error() string { return "status 400: the user said hunter2" }
func (quoting) Brief() string { return "status 400" }

func TestLogText(t *testing.T) {
	t.Parallel()
	e := &fault.Error{Type: fault.ModelError, Message: "The AI service refused", Err: fmt.Errorf("attempt 1: %w", quoting{})}
	for _, tt := range []struct {
		err      error
		payloads bool
		want     string
	}{
		{e, false, "model_error: The AI service refused: status 400"},
		{e, true, "model_error: The AI service refused: attempt 1: status 400: the user said hunter2"},
		{io.EOF, false, "EOF"},
		{&fault.Error{Type: fault.Timeout, Message: "Too slow", Err: io.EOF}, false, "timeout: Too slow: EOF"},
		{&fault.Error{Type: fault.Timeout, Message: "Too slow"}, false, "timeout: Too slow"},
	} {
		if got := fault.LogText(tt.err, tt.payloads); got != tt.want {
			t.Errorf("LogText(%v, %v) = %q, want %q", tt.err, tt.payloads, got, tt.want)
		}
	}
}
