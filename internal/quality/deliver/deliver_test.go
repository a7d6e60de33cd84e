package deliver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/quality/deliver"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// receiver answers with one status a try; the last one for all that follow.
type receiver struct {
	t        *testing.T
	answers  []any // a status, an error, or how long it hangs
	at       []time.Duration
	began    time.Time
	requests []*http.Request
	body     []byte
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.began.IsZero() {
		r.began = time.Now()
	}
	r.at = append(r.at, time.Since(r.began).Round(time.Second/10))
	r.requests = append(r.requests, req)
	r.body, _ = io.ReadAll(req.Body)
	answer := r.answers[min(len(r.at), len(r.answers))-1]
	switch a := answer.(type) {
	case error:
		return nil, a
	case time.Duration:
		select {
		case <-time.After(a):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
		answer = 200
	}
	rec := httptest.NewRecorder()
	rec.Header().Set("Location", "https://elsewhere.test/")
	rec.WriteHeader(answer.(int))
	res := rec.Result()
	res.Body = io.NopCloser(&endless{t: r.t}) // more than anyone wants to read
	return res, nil
}

// endless is an answer of which only the beginning may be read.
type endless struct {
	t *testing.T
	n int
}

func (e *endless) Read(b []byte) (int, error) {
	if e.n += len(b); e.n > 1<<20 {
		e.t.Error("more than a MiB of the answer is read")
		return 0, io.EOF
	}
	return len(b), nil
}

func sender(t *testing.T, r *receiver) *deliver.Sender {
	t.Helper()
	r.t = t
	s, err := deliver.New(deliver.Config{URL: "https://hooks.test/x?sig=canary", Secret: secret, Channel: "sms", Transport: r})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What becomes of a message, by what its receiver does.
func TestSend(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		answers []any
		want    deliver.Receipt
		longest time.Duration
	}{
		{"taken", []any{200}, deliver.Receipt{Status: deliver.Delivered, Attempts: 1}, 0},
		{"taken without words", []any{204}, deliver.Receipt{Status: deliver.Delivered, Attempts: 1}, 0},
		{"refused", []any{400}, deliver.Receipt{Status: deliver.Rejected, Attempts: 1, Reason: "HTTP 400"}, 0},
		{"gone", []any{410}, deliver.Receipt{Status: deliver.Rejected, Attempts: 1, Reason: "HTTP 410"}, 0},
		{"taken the third time", []any{500, errors.New("reset by https://hooks.test/x?sig=canary"), 200}, deliver.Receipt{Status: deliver.Delivered, Attempts: 3}, 3125 * time.Millisecond},
		{"busy", []any{429, 200}, deliver.Receipt{Status: deliver.Delivered, Attempts: 2}, 625 * time.Millisecond},
		{"too early, then slow", []any{425, 408}, deliver.Receipt{Status: deliver.Failed, Attempts: 3, Reason: "HTTP 408"}, 3125 * time.Millisecond},
		{"refused at last", []any{503, 401}, deliver.Receipt{Status: deliver.Rejected, Attempts: 2, Reason: "HTTP 401"}, 625 * time.Millisecond},
		{"moved", []any{307}, deliver.Receipt{Status: deliver.Failed, Attempts: 3, Reason: "HTTP 307"}, 3125 * time.Millisecond},
		{"unreachable", []any{errors.New("no route to canary")}, deliver.Receipt{Status: deliver.Failed, Attempts: 3, Reason: "unreachable"}, 3125 * time.Millisecond},
		{"cut", []any{io.ErrUnexpectedEOF}, deliver.Receipt{Status: deliver.Failed, Attempts: 3, Reason: "the connection was cut"}, 3125 * time.Millisecond},
		{"hanging", []any{time.Hour}, deliver.Receipt{Status: deliver.Failed, Attempts: 3, Reason: "no answer in time"}, 3125*time.Millisecond + 9*time.Second},
		{"hanging once", []any{time.Hour, 200}, deliver.Receipt{Status: deliver.Delivered, Attempts: 2}, 625*time.Millisecond + 3*time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &receiver{answers: tt.answers}
				began := time.Now()
				got := sender(t, r).Send(t.Context(), deliver.Message{ID: "msg_1", Body: []byte("{}")})
				elapsed := time.Since(began)
				tt.want.ID = "msg_1"
				if tt.want.Status == deliver.Delivered {
					got.Reason = ""
				}
				if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(deliver.Receipt{}, "MS")); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if got.MS != elapsed.Milliseconds() || elapsed > tt.longest || elapsed < tt.longest*3/5 {
					t.Errorf("took %v and told %d ms, want at most %v", elapsed, got.MS, tt.longest)
				}
				ids := map[string]bool{}
				for _, req := range r.requests {
					ids[req.Header.Get("webhook-id")] = true
				}
				if len(ids) != 1 || len(r.requests) != tt.want.Attempts {
					t.Errorf("%d requests with %d ids", len(r.requests), len(ids))
				}
			})
		})
	}
}

// A client that leaves does not stop what has begun; the end of the turn's time does, and
// no pause is begun that would outlast it.
func TestSendOutlivesItsClientAndNotItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithTimeout(t.Context(), 10*time.Second)
		time.AfterFunc(time.Second, leave)
		r := &receiver{answers: []any{2 * time.Second}}
		if got := sender(t, r).Send(ctx, deliver.Message{ID: "msg_1"}); got.Status != deliver.Delivered || got.MS != 2000 {
			t.Errorf("a client left: %+v", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1800*time.Millisecond)
		defer cancel()
		r = &receiver{answers: []any{503}}
		began := time.Now()
		got := sender(t, r).Send(ctx, deliver.Message{ID: "msg_1"})
		if got.Status != deliver.Failed || got.Attempts != 2 || time.Since(began) > time.Second {
			t.Errorf("the turn ended: %+v after %v", got, time.Since(began))
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r = &receiver{answers: []any{time.Hour}}
		if got := sender(t, r).Send(ctx, deliver.Message{ID: "msg_1"}); got.Status != deliver.Failed || got.MS != 1000 || got.Attempts != 1 {
			t.Errorf("the turn ended while it hung: %+v", got)
		}
	})
}

// Each try is signed by its own time; the URL is in no receipt.
func TestSignature(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answers: []any{503, 200}}
		// The vector of github.com/standard-webhooks/standard-webhooks/libraries, of another time.
		got := sender(t, r).Send(t.Context(), deliver.Message{ID: "msg_p5jXN8AQM9LWM0D4loKWxJek", Body: []byte(`{"test": 2432232314}`)})
		first, second := r.requests[0].Header, r.requests[1].Header
		if first.Get("webhook-timestamp") != "946684800" || !strings.HasPrefix(first.Get("webhook-signature"), "v1,") {
			t.Errorf("got %q", first)
		}
		if got.Status != deliver.Delivered || second.Get("webhook-id") != "msg_p5jXN8AQM9LWM0D4loKWxJek" || first.Get("Content-Type") != "application/json" {
			t.Errorf("got %+v, %q", got, second)
		}
		if strings.Contains(got.Reason, "canary") {
			t.Errorf("the reason is %q", got.Reason)
		}
	})
}

func TestBody(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 10, 30, 0, 0, time.FixedZone("CET", 3600))
	got, err := deliver.Body(deliver.Content{Response: []byte(`{"channel":"sms","content":"Hi \u00e9"}`), UserID: "ann", Quality: &deliver.Quality{Passed: true, Outcome: "passed"}}, at)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"channel.message","timestamp":"2026-11-22T09:30:00Z","data":{"user_id":"ann","quality":{"passed":true,"outcome":"passed"},"channel":"sms","content":"Hi \u00e9"}}`
	var a, b any
	if json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(want), &b) != nil || !cmp.Equal(a, b) {
		t.Errorf("got %s", got)
	}
	if id := deliver.NewID(); len(id) != 30 || id == deliver.NewID() || deliver.ID("task_1") != "msg_task_1" {
		t.Errorf("an id is %s", id)
	}
}

// Over real connections: a redirect is not followed, and a receiver may answer before it
// has read.
func TestOverHTTP(t *testing.T) {
	t.Parallel()
	var got []byte
	redirected := false
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		case "/elsewhere":
			redirected = true
		case "/deaf":
			w.WriteHeader(http.StatusOK)
		default:
			got, _ = io.ReadAll(r.Body)
		}
	}))
	defer srv.Close()
	send := func(path string) deliver.Receipt {
		s, err := deliver.New(deliver.Config{URL: config.Secret(srv.URL + path), Secret: secret, Tries: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return s.Send(t.Context(), deliver.Message{ID: "msg_1", Body: bytes.Repeat([]byte("a"), 1<<20)})
	}
	if r := send("/"); r.Status != deliver.Delivered || len(got) != 1<<20 {
		t.Errorf("got %+v, %d bytes", r, len(got))
	}
	if r := send("/moved"); r.Status != deliver.Failed || redirected {
		t.Errorf("a redirect: %+v, followed: %v", r, redirected)
	}
	if r := send("/deaf"); r.Status == deliver.Rejected {
		t.Errorf("a receiver that does not read: %+v", r)
	}
}

func readFile(t *testing.T, content string) (list []deliver.Config, faults []string, c config.Config) {
	t.Helper()
	env := map[string]string{"HOOK": secret, "BAD": "whsec_c2hvcnQ=", "KEY": "canary-key"}
	section := file.Section{Name: "deliver", Schema: `{"type":"object"}`, Read: func(n *file.Node) {
		for m := range n.Members() {
			if cfg, ok := deliver.Read(m.Name(), m); ok {
				list = append(list, cfg)
			}
		}
	}}
	r := file.Table{section}.Read("f.yaml", []byte(content), config.Sources{Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }, Hide: c.Hide})
	for _, f := range r.Faults {
		faults = append(faults, f.Name+": "+f.Message)
	}
	return list, faults, c
}

// Secrets come out of variables alone, and out of no log.
func TestRead(t *testing.T) {
	t.Parallel()
	list, faults, c := readFile(t, "deliver:\n  sms: {url: 'https://h.test/x?k=${KEY}', secret: '${HOOK}', timeout: 2s, tries: 2}\n  email: {url: 'http://127.0.0.1:9/x', secret: '${HOOK}'}\n")
	want := []deliver.Config{
		{Channel: "sms", URL: "https://h.test/x?k=canary-key", Secret: secret, Timeout: 2 * time.Second, Tries: 2},
		{Channel: "email", URL: "http://127.0.0.1:9/x", Secret: secret},
	}
	if diff := cmp.Diff(want, list, cmpopts.IgnoreFields(deliver.Config{}, "Transport", "Proxy", "Metrics")); diff != "" || faults != nil {
		t.Errorf("faults %q (-want +got):\n%s", faults, diff)
	}
	if diff := cmp.Diff([]string{"canary-key", secret}, c.Secrets()); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	_, faults, _ = readFile(t, `deliver:
  a: {url: 'http://h.test/', secret: '${HOOK}'}
  b: {url: 'https://u:p@h.test/', secret: '`+secret+`'}
  c: {url: 'h.test', secret: '${BAD}', timeout: 1m}
  d: {url: 'https://h.test/', secret: 'whsec_${HOOK}'}
  e: {url: 'https://h.test/#', secret: '${HOOK}'}
`)
	wantFaults := []string{
		"f.yaml:2:12: /deliver/a/url: must be https, or of a loopback host",
		"f.yaml:3:12: /deliver/b/url: must not hold a user name, password or fragment",
		"f.yaml:3:43: /deliver/b/secret: must be written as ${NAME}: a secret does not belong into the file",
		"f.yaml:4:12: /deliver/c/url: must be an absolute URL with https",
		"f.yaml:4:30: /deliver/c/secret: must be whsec_ and 24 to 64 bytes in base64",
		"f.yaml:4:49: /deliver/c/timeout: must be a duration from 100ms to 30s, with its unit, such as 15s, 90m or 7d",
		"f.yaml:5:39: /deliver/d/secret: must be written as ${NAME}: a secret does not belong into the file",
		"f.yaml:6:12: /deliver/e/url: must not hold a user name, password or fragment",
	}
	if diff := cmp.Diff(wantFaults, faults); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
