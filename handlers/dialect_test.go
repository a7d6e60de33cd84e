package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/handlers"
	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// shout is a protocol of the tests alone: all that a dialect can have in one place.
type shout struct{ opened, closed int }

func (d *shout) Routes() []dialect.Route {
	return []dialect.Route{
		{Methods: []string{"POST", "PUT"}, Path: "/shout/{room}", ContentType: "text/plain", MaxBody: 64, Open: d.open, Refuse: grumble},
		{Methods: []string{"GET"}, Path: "/shout/{room}", NoBody: true, Open: d.open, Refuse: whisper},
		{Methods: []string{"DELETE"}, Path: "/shout/{room}/said/{what...}", NoBody: true, Open: d.remove, Refuse: grumble},
	}
}

func (d *shout) open(r *http.Request, body []byte) (*dialect.Exchange, error) {
	key, err := dialect.HeaderKey(r, nil)
	if err != nil {
		return nil, err
	}
	switch string(body) {
	case "missing":
		return nil, &fault.Error{Type: fault.NotFound, Message: "No such thread"}
	case "bug":
		return nil, errors.New("with a secret")
	case "list":
		return &dialect.Exchange{Reply: dialect.JSON([]byte(`{"data":[]}`))}, nil
	}
	d.opened++
	form := dialect.Streamed
	if r.URL.Query().Get("stream") == "false" {
		form = dialect.Document
	}
	return &dialect.Exchange{
		Repetition: dialect.Repetition{Key: key}, Request: chat.Request{Input: "hi"}, Encoder: shoutEncoder{r.PathValue("room")},
		Header: http.Header{"X-Shout": {"v1"}}, Form: form,
		Close: func() { d.closed++ },
	}, nil
}

func (d *shout) remove(r *http.Request, _ []byte) (*dialect.Exchange, error) {
	return &dialect.Exchange{Reply: &dialect.Reply{Status: http.StatusAccepted, ContentType: "text/plain", Header: http.Header{"X-Room": {r.PathValue("room")}},
		Body: []byte(r.PathValue("what"))}}, nil
}

// absent is a protocol whose clients do not wait for their turns.
type absent struct {
	mode  dialect.Mode
	begun func(context.CancelCauseFunc)
}

func (a absent) Routes() []dialect.Route {
	return []dialect.Route{{Methods: []string{"POST"}, Path: "/absent", ContentType: "*/*", Open: func(*http.Request, []byte) (*dialect.Exchange, error) {
		return &dialect.Exchange{
			Request: chat.Request{Input: "hi"}, Encoder: shoutEncoder{}, Mode: a.mode, Begun: a.begun,
			Header: http.Header{"X-Shout": {"v1"}}, Form: dialect.Document, // of the mode Early
		}, nil
	}}}
}

func breaks(context.CancelCauseFunc) { panic("SECRET") }

// The reply of a client that does not wait is what its turn says first; a turn that ends before
// has the status of its fault.
func TestFirstReply(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		begun  func(context.CancelCauseFunc)
		fails  *fault.Error
		status int
		reply  string
	}{
		"a turn":    {nil, nil, http.StatusOK, "DONE"},
		"a failure": {nil, &fault.Error{Type: fault.Overloaded, Message: "No model"}, http.StatusServiceUnavailable, "No model"},
		"a bug":     {breaks, nil, http.StatusInternalServerError, "internal_error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tasks := task.New(task.Config{Store: memory.New(memory.Config{})})
				defer tasks.Close()
				run := runner(func(ctx context.Context, req chat.Request, sink stream.Sink) error {
					if tt.fails != nil {
						return tt.fails
					}
					return sends(&stream.Start{Model: "m"}, &stream.Done{Reason: stream.Stop})(ctx, req, sink)
				})
				g, _, stop := serveInBubble(handlers.Config{Keeping: handlers.Keeping{Tasks: tasks}, Runner: run, Dialects: []dialect.Dialect{absent{dialect.Early, tt.begun}}})
				defer stop()
				got := g.do(t, "POST", "/absent", "x")
				if got.status != tt.status || !strings.Contains(got.body, tt.reply) || strings.Contains(got.body, "SECRET") {
					t.Errorf("%d %s", got.status, got.body)
				}
				if v := got.header.Get("X-Shout"); tt.status == http.StatusOK && v != "v1" {
					t.Errorf("X-Shout is %q", v)
				}
				synctest.Wait()
			})
		})
	}
}

// The process outlives a bug in a turn whose client has had its reply.
func TestPanicOfATurnWithoutAClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tasks := task.New(task.Config{Store: memory.New(memory.Config{})})
		defer tasks.Close()
		g, _, stop := serveInBubble(handlers.Config{Keeping: handlers.Keeping{Tasks: tasks}, Dialects: []dialect.Dialect{absent{dialect.Unattended, breaks}}})
		defer stop()
		if got := g.do(t, "POST", "/absent", "x"); got.status != http.StatusAccepted {
			t.Errorf("%d %s", got.status, got.body)
		}
		synctest.Wait()
		if !strings.Contains(g.log.String(), "panic: SECRET") {
			t.Errorf("the log lacks the panic: %s", g.log.String())
		}
	})
}

// grumble words a refusal in plain text.
func grumble(r dialect.Refusal) dialect.Reply {
	return dialect.Reply{Status: r.Status, ContentType: "text/plain", Header: http.Header{"X-Error-Type": {string(r.Fault.Type)}},
		Body: []byte(strings.ToUpper(r.Fault.Message))}
}

// whisper is grumble for a method of its own.
func whisper(r dialect.Refusal) dialect.Reply {
	reply := grumble(r)
	reply.Body = []byte(strings.ToLower(r.Fault.Message))
	return reply
}

type shoutEncoder struct{ room string }

func (e shoutEncoder) Encode(dst []byte, s stream.Stamp, ev stream.Event) []byte {
	if done, ok := ev.(*stream.Done); ok {
		return fmt.Appendf(dst, "data: %s DONE %v\n\n", e.room, done.Timings.Total)
	}
	return dst
}

func (shoutEncoder) Heartbeat() []byte { return []byte("data: ...\n\n") }

const plainType = "Content-Type: text/plain"

// namedShout is shout under a name, which its turns have in logs.
type namedShout struct{ *shout }

func (d namedShout) Routes() []dialect.Route {
	routes := d.shout.Routes()
	for i := range routes {
		routes[i].Dialect = "shout"
	}
	return routes
}

// A request of a protocol without tools has their count in the log, as it has the other counts.
func TestRequestWithoutToolsIsCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := serveInBubble(handlers.Config{Runner: slow(time.Second), Dialects: []dialect.Dialect{namedShout{&shout{}}}})
		defer stop()
		g.do(t, "POST", "/shout/hall", "HELLO", plainType)
		if first := g.log.lines(t)[0]; first.Event != "request_received" || first.Details["client_tools"] != 0.0 {
			t.Errorf("%+v", first)
		}
	})
}

// A protocol is one folder and one line: its paths, methods, types, headers, refusals,
// streams and replies are its own, and the rest is as everywhere.
func TestDialect(t *testing.T) {
	t.Parallel()
	const reply = "data: ...\n\ndata: hall DONE 20s\n\n"
	synctest.Test(t, func(t *testing.T) {
		d := &shout{}
		g, _, stop := serveInBubble(handlers.Config{
			Runner: slow(20 * time.Second), Limits: handlers.Limits{Heartbeat: 15 * time.Second},
			Dialects: []dialect.Dialect{d}, Origins: []string{"https://app.example"},
		})
		defer stop()
		for _, tt := range []struct {
			name, method, path, body string
			header                   string
			status                   int
			want, refused            string
		}{
			{"turn", "POST", "/shout/hall", "turn", "", 200, reply, ""},
			{"turn by another method", "PUT", "/shout/hall", "turn", "", 200, reply, ""},
			{"turn without a body", "GET", "/shout/hall", "", "", 200, reply, ""},
			{"turn in one document", "POST", "/shout/hall?stream=false", "turn", "", 200, "data: hall DONE 20s\n\n", ""},
			{"reply", "POST", "/shout/hall", "list", "", 200, `{"data":[]}`, ""},
			{"reply of its own kind", "DELETE", "/shout/hall/said/a%2Fb/c", "", "", 202, "a/b/c", ""},
			{"fault", "POST", "/shout/hall", "missing", "", 404, "NO SUCH THREAD", "not_found"},
			{"bug", "POST", "/shout/hall", "bug", "", 500, "", "internal_error"},
			{"another type", "POST", "/shout/hall", "{}", jsonType, 415, "SEND THE REQUEST AS CONTENT-TYPE: TEXT/PLAIN", "unsupported_media_type"},
			{"long body", "POST", "/shout/hall", strings.Repeat("x", 65), "", 413, "", "payload_too_large"},
			{"another method", "DELETE", "/shout/hall", "", "", 405, "", "method_not_allowed"},
			{"another method of a path with a rest", "POST", "/shout/hall/said/a/b", "", "", 405, "THIS PATH DOES NOT TAKE THIS METHOD; THE ALLOW HEADER NAMES THOSE IT TAKES", "method_not_allowed"},
			{"refused by method", "GET", "/shout/hall", "", "Origin: https://evil.example", 403,
				"pages of this origin may not use the gateway; its operator can allow them with sluice_cors_origins", "origin_refused"},
			{"lost connection", "POST", "/shout/hall", "turn", "Last-Event-ID: x", 204, "", ""},
			{"foreign origin", "POST", "/shout/hall", "turn", "Origin: https://evil.example", 403, "", "origin_refused"},
			{"bad key", "POST", "/shout/hall", "turn", "Idempotency-Key: short", 422, "", "validation_error"},
			{"first with key", "POST", "/shout/hall", "turn", "Idempotency-Key: 12345678", 200, reply, ""},
			{"again with key", "POST", "/shout/hall", "turn", "Idempotency-Key: 12345678", 409, "", "duplicate_request"},
		} {
			header := []string{tt.header}
			if tt.header == "" {
				header = nil
			}
			if tt.header != jsonType {
				header = append(header, plainType)
			}
			got := g.do(t, tt.method, tt.path, tt.body, header...)
			if got.status != tt.status || got.header.Get("X-Error-Type") != tt.refused {
				t.Errorf("%s: status %d, error type %q, want %d and %q: %s", tt.name, got.status, got.header.Get("X-Error-Type"), tt.status, tt.refused, got.body)
			}
			if diff := cmp.Diff(tt.want, got.body); tt.want != "" && diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
			if turn := strings.Contains(tt.want, "DONE"); turn != (got.header.Get("X-Shout") == "v1") {
				t.Errorf("%s: header %v", tt.name, got.header)
			}
		}
		if d.opened != 6 { // not that of a request with a bad key
			t.Errorf("Open read %d turns, want 6", d.opened)
		}
		if d.closed != 5 { // not for a repetition, which was refused
			t.Errorf("Close was called %d times, want 5", d.closed)
		}
		if got := g.do(t, "GET", "/shouting", ""); got.status != 404 || !strings.Contains(got.body, `"error_type":"not_found"`) {
			t.Errorf("beside its paths: status %d: %s", got.status, got.body)
		}
		got := g.do(t, "OPTIONS", "/shout/hall", "", "Origin: https://app.example", "Access-Control-Request-Method: DELETE")
		if methods := got.header.Get("Access-Control-Allow-Methods"); methods != "GET, POST, PUT, DELETE" {
			t.Errorf("a foreign page may use %s", methods)
		}
	})
}

// A client that left a turn before its end gets no half of its document.
func TestDocumentOfATurnThatIsLeft(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	s := handlers.NewServer(handlers.Config{Dialects: []dialect.Dialect{&shout{}}, Runner: begins(func(ctx context.Context, _ chat.Request, sink stream.Sink) error {
		leave()
		<-ctx.Done()
		return context.Cause(ctx)
	})})
	r := httptest.NewRequestWithContext(ctx, "GET", "/shout/hall?stream=false", nil)
	w := httptest.NewRecorder()
	defer func() {
		if p := recover(); p != http.ErrAbortHandler || w.Body.Len() > 0 || w.Header().Get("Content-Type") != "" {
			t.Errorf("panic %v, reply %v %q; want an aborted reply without a byte", p, w.Header(), w.Body)
		}
	}()
	s.ServeHTTP(w, r)
}

// A turn that is sent as one document is refused if it fails: nothing was sent before.
func TestDocumentOfATurnThatFails(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{Dialects: []dialect.Dialect{&shout{}}, Runner: begins(func(context.Context, chat.Request, stream.Sink) error {
		return &fault.Error{Type: fault.Overloaded, Message: "Too much"}
	})})
	got := g.do(t, "POST", "/shout/hall?stream=false", "turn", plainType)
	if got.status != 503 || got.body != "TOO MUCH" || got.header.Get("X-Error-Type") != "overloaded" || got.header.Get("Retry-After") == "" {
		t.Errorf("status %d, header %v: %s", got.status, got.header, got.body)
	}
}

// crowded is a protocol whose request says more of the circumstances than there is room for.
type crowded struct{}

func (crowded) Routes() []dialect.Route {
	return []dialect.Route{{Methods: []string{"POST"}, Path: "/crowded", ContentType: "*/*", Open: func(*http.Request, []byte) (*dialect.Exchange, error) {
		return &dialect.Exchange{Request: chat.Request{Input: "hi", Past: chat.Past{Pruning: chat.Pruning{Kept: 1, Dropped: 2, Context: 3}}}, Encoder: shoutEncoder{}}, nil
	}}}
}

// What was left out of the circumstances counts as dropped.
func TestContextThatIsLeftOutIsReported(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{Dialects: []dialect.Dialect{crowded{}}})
	if got := g.do(t, "POST", "/crowded", "").header.Get("X-Sluice-History"); got != "kept=1; dropped=5" {
		t.Errorf("X-Sluice-History is %q", got)
	}
}
