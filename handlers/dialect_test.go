package handlers_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/chat"
	"sluice/fault"
	"sluice/handlers"
	"sluice/stream"
)

// shout is a dialect that answers a turn in capitals of its own.
type shout struct{ opened, closed int }

func (d *shout) Open(_ context.Context, body []byte) (handlers.Exchange, error) {
	switch string(body) {
	case `"missing"`:
		return handlers.Exchange{}, &fault.Error{Type: fault.NotFound, Message: "No such thread"}
	case `"bug"`:
		return handlers.Exchange{}, errors.New("with a secret")
	case `"list"`:
		return handlers.Exchange{Reply: []byte(`{"data":[]}`)}, nil
	}
	d.opened++
	return handlers.Exchange{Request: chat.Request{Input: "hi"}, Encoder: shoutEncoder{}, Close: func() { d.closed++ }}, nil
}

type shoutEncoder struct{}

func (shoutEncoder) Encode(dst []byte, s stream.Stamp, ev stream.Event) []byte {
	if done, ok := ev.(*stream.Done); ok {
		return append(dst, "data: DONE "+done.Timings.Total.String()+"\n\n"...)
	}
	return dst
}

func (shoutEncoder) Heartbeat() []byte { return []byte("data: ...\n\n") }

func TestDialect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &shout{}
		g, _, stop := serveInBubble(handlers.Config{
			Runner: slow(20 * time.Second), Heartbeat: 15 * time.Second,
			Dialects: map[string]handlers.Dialect{"/shout": d}, Origins: []string{"https://app.example"},
		})
		defer stop()
		tests := []struct {
			name, body string
			header     string
			status     int
			want       string
		}{
			{"turn", `"turn"`, "", http.StatusOK, "data: ...\n\ndata: DONE 20s\n\n"},
			{"reply", `"list"`, "", http.StatusOK, `{"data":[]}`},
			{"fault", `"missing"`, "", http.StatusNotFound, ""},
			{"bug", `"bug"`, "", http.StatusInternalServerError, ""},
			{"lost connection", `"turn"`, "Last-Event-ID: x", http.StatusNoContent, ""},
			{"foreign origin", `"turn"`, "Origin: https://evil.example", http.StatusForbidden, ""},
			{"bad key", `"turn"`, "Idempotency-Key: short", http.StatusUnprocessableEntity, ""},
			{"first with key", `"turn"`, "Idempotency-Key: 12345678", http.StatusOK, "data: ...\n\ndata: DONE 20s\n\n"},
			{"again with key", `"turn"`, "Idempotency-Key: 12345678", http.StatusConflict, ""},
		}
		for _, tt := range tests {
			header := []string{jsonType}
			if tt.header != "" {
				header = append(header, tt.header)
			}
			got := g.do(t, "POST", "/shout", tt.body, header...)
			if got.status != tt.status {
				t.Errorf("%s: status %d, want %d: %s", tt.name, got.status, tt.status, got.body)
			}
			if diff := cmp.Diff(tt.want, got.body); tt.want != "" && diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
		}
		if d.opened != 3 { // not that of a request with a bad key
			t.Errorf("Open read %d turns, want 3", d.opened)
		}
		if d.closed != 2 { // not for a repetition, which was refused
			t.Errorf("Close was called %d times, want 2", d.closed)
		}
		if got := g.do(t, "GET", "/shout", ""); got.status != http.StatusMethodNotAllowed {
			t.Errorf("GET: status %d", got.status)
		}
	})
}
