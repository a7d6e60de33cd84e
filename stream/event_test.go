package stream_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/stream"
)

func TestNewError(t *testing.T) {
	t.Parallel()
	limited := &fault.Error{
		Type: fault.ModelRateLimited, Message: "Too many requests", Hint: "for the model alone",
		Service: "gemini", RetryAfter: 34 * time.Second, Err: errors.New("upstream text"),
	}
	blocked := &fault.Error{Type: fault.ModelBlocked, Message: "Blocked"}
	for _, tt := range []struct {
		name  string
		err   error
		fatal bool
		want  stream.Error
	}{
		{"every field", limited, true, stream.Error{Type: fault.ModelRateLimited, Message: "Too many requests",
			Recoverable: true, Fatal: true, RetryAfter: 34 * time.Second, Service: "gemini"}},
		{"wrapped, not fatal", fmt.Errorf("step 1: %w", blocked), false, stream.Error{Type: fault.ModelBlocked, Message: "Blocked"}},
		{"foreign", errors.New("secret"), true, stream.Error{Type: fault.Internal, Message: "Something went wrong on our side", Fatal: true}},
	} {
		if diff := cmp.Diff(&tt.want, stream.NewError(tt.err, tt.fatal)); diff != "" {
			t.Errorf("%s: NewError (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestReasonFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want stream.FinishReason
	}{
		{fault.ErrClientGone, stream.Cancelled},
		{fmt.Errorf("write: %w", fault.ErrClientGone), stream.Cancelled},
		{&fault.Error{Type: fault.Timeout}, stream.TimedOut},
		{fmt.Errorf("call: %w", &fault.Error{Type: fault.Timeout}), stream.TimedOut},
		{&fault.Error{Type: fault.ShuttingDown}, stream.Shutdown},
		{&fault.Error{Type: fault.ModelUnavailable}, stream.Failed},
		{&fault.Error{Type: fault.Internal}, stream.Failed},
		{errors.New("bug"), stream.Failed},
	} {
		if got := stream.ReasonFor(tt.err); got != tt.want {
			t.Errorf("ReasonFor(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}

func TestSuccess(t *testing.T) {
	t.Parallel()
	for reason, want := range map[stream.FinishReason]bool{
		stream.Stop: true, stream.MaxTokens: true, stream.MaxSteps: true,
		stream.Failed: false, stream.TimedOut: false, stream.Cancelled: false, stream.Shutdown: false, "": false,
	} {
		if got := reason.Success(); got != want {
			t.Errorf("%q.Success() = %v, want %v", reason, got, want)
		}
	}
}
