package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/turn/tool"
)

// Bytes come back as they were, whatever they are, also if they look like the form of others.
func TestTextsComeBack(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "hi", "\x00", "\xff\xfe", "a\xc3", "é", `{"base64":"eA=="}`, "\"\\", "<&>", "\u2028"} {
		line, err := json.Marshal(Text(text))
		var got Text
		if again := json.Unmarshal(line, &got); err != nil || again != nil || string(got) != text {
			t.Errorf("%q is %s and comes back as %q: %v, %v", text, line, got, err, again)
		}
	}
	for _, line := range []string{`1`, `[]`, `{"base64":"?"}`, `{"base64":1}`} {
		var got Text
		if err := json.Unmarshal([]byte(line), &got); err == nil {
			t.Errorf("%s was read as %q", line, got)
		}
	}
}

// A failure comes back with all that the program decides by; of another error its words do.
func TestFailuresComeBack(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"none": nil, "another": errors.New("down"), "wrapped": fmt.Errorf("x: %w", &fault.Error{Type: fault.ToolFailed, Message: "no"}),
		"full": &fault.Error{Type: fault.MCPUnavailable, Message: "m", Hint: "h", Service: "s", RetryAfter: 3 * time.Second, Unknown: true, NoEffect: true, Err: errors.New("why")},
	} {
		got := failureOf(err).asError()
		want, typed := errors.AsType[*fault.Error](err)
		f, still := errors.AsType[*fault.Error](got)
		switch {
		case typed != still, !typed && fmt.Sprint(got) != fmt.Sprint(err):
			t.Errorf("%s: %v came back as %v", name, err, got)
		case typed:
			if cause, then := fmt.Sprint(want.Err), fmt.Sprint(f.Err); cause != then {
				t.Errorf("%s: the cause %s came back as %s", name, cause, then)
			}
			a, b := *want, *f
			a.Err, b.Err = nil, nil
			if diff := cmp.Diff(a, b); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
}

// Events are counted alike however the stream is cut into pieces; comments and empty lines are
// none.
func TestEventsAreCounted(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int{
		"": 0, "a": 0, "a\n": 0, "a\n\n": 1, "a\nb\n\n": 1, ": ping\n\n": 0, ": ping\na\n\n": 1, "a\n: ping\n\n": 1, "\n\n\na\n\n\n\nb\n\n": 2, ": one\n\na\n\n: two\n\n": 1,
	} {
		for size := 1; size <= len(body)+1; size++ {
			var f framer
			n := 0
			for rest := []byte(body); len(rest) > 0; {
				piece := rest[:min(size, len(rest))]
				n += f.countEvents(piece)
				rest = rest[len(piece):]
			}
			if n != want {
				t.Errorf("%q in pieces of %d: %d events, want %d", body, size, n, want)
			}
		}
	}
}

// upstream answers as it was made to.
type upstream func(*http.Request) (*http.Response, error)

func (u upstream) RoundTrip(req *http.Request) (*http.Response, error) { return u(req) }

// replyOf returns a reply with a body.
func replyOf(body io.Reader) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusTeapot, Header: http.Header{"Content-Type": {"text/plain"}, "Retry-After": {"7"}, "Set-Cookie": {"canary"}}, Body: io.NopCloser(body)}, nil
}

// Whatever becomes of an exchange with a model, it becomes of it again when the turn is run again.
func TestExchangesComeBack(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		up   upstream
		read int // bytes before the program closes; 0: to the end
		want string
	}{
		"answered":       {func(*http.Request) (*http.Response, error) { return replyOf(strings.NewReader("all of it")) }, 0, `418 text/plain 7 "all of it" <nil>`},
		"without a body": {func(*http.Request) (*http.Response, error) { return replyOf(strings.NewReader("")) }, 0, `418 text/plain 7 "" <nil>`},
		"in pieces": {func(*http.Request) (*http.Response, error) {
			return replyOf(iotest.OneByteReader(strings.NewReader("\xff\xfeab")))
		}, 0, `418 text/plain 7 "\xff\xfeab" <nil>`},
		"read in part": {func(*http.Request) (*http.Response, error) { return replyOf(strings.NewReader("all of it")) }, 3, `418 text/plain 7 "all" <nil>`},
		"cut off": {func(*http.Request) (*http.Response, error) {
			return replyOf(io.MultiReader(strings.NewReader("half"), iotest.ErrReader(io.ErrUnexpectedEOF)))
		}, 0, `418 text/plain 7 "half" unexpected EOF`},
		"broken": {func(*http.Request) (*http.Response, error) {
			return replyOf(io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("reset"))))
		}, 0, `418 text/plain 7 "half" reset`},
		"never answered":   {func(*http.Request) (*http.Response, error) { return nil, errors.New("no route") }, 0, "no route"},
		"closed before it": {func(*http.Request) (*http.Response, error) { return nil, io.EOF }, 0, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exchange := func(ctx context.Context, via http.RoundTripper) string {
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://h/m?alt=sse&key=canary", strings.NewReader(`{"x":1}`))
				resp, err := via.RoundTrip(req)
				if err != nil {
					return err.Error()
				}
				defer resp.Body.Close()
				var body []byte
				if tt.read > 0 {
					body = make([]byte, tt.read)
					_, err = io.ReadFull(resp.Body, body)
				} else {
					body, err = io.ReadAll(resp.Body)
				}
				return fmt.Sprintf("%d %s %s %q %v", resp.StatusCode, resp.Header.Get("Content-Type"), resp.Header.Get("Retry-After"), body, err)
			}
			dir := t.TempDir()
			r := New(Config{Dir: dir})
			recorded := ""
			serve(r, http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
				recorded = exchange(req.Context(), r.Around(tt.up, ""))
			}), "/")
			r.Close()
			content := only(t, dir)
			rec, err := Read(bytes.NewReader(content))
			if err != nil || bytes.Contains(content, []byte("canary")) {
				t.Fatalf("%v: %s", err, content)
			}
			p := NewPlayer(rec)
			if played := exchange(t.Context(), p.Around(nil, "")); recorded != tt.want || played != tt.want {
				t.Errorf("recorded %s and played %s, want %s", recorded, played, tt.want)
			}
			if again := exchange(t.Context(), p); !strings.Contains(again, errNotRecorded.Error()) {
				t.Errorf("a second time: %s", again)
			}
			if asked, unused := p.Extra(); len(asked) != 1 || unused != 0 {
				t.Errorf("asked besides: %q, and %d are unused", asked, unused)
			}
		})
	}
}

// An exchange that the program ends itself lasts until it does so again.
func TestExchangeThatIsCancelled(t *testing.T) {
	t.Parallel()
	for name, entries := range map[string][]Entry{
		"before the answer": {{Kind: kindClose, N: 1, Lost: lostCancelled}},
		"in the answer":     {{Kind: kindAnswer, N: 1, Status: 200}, {Kind: kindClose, N: 1, Lost: lostCancelled}},
		"without an end":    {{Kind: kindAnswer, N: 1, Status: 200}},
		"without anything":  nil,
	} {
		p := NewPlayer(&Recording{Entries: append([]Entry{{Kind: kindAsk, N: 1, Method: http.MethodGet, URL: "/m"}}, entries...)})
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() {
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://h/m", nil)
			resp, err := p.RoundTrip(req)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			done <- err
		}()
		cancel(why)
		if err := <-done; !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Of several requests to one place each gets the answer of the one that is most like it, and each
// answer is given once.
func TestAnswersGoToWhatIsMostAlike(t *testing.T) {
	t.Parallel()
	var entries []Entry
	for i, body := range []string{"what is tea at 10:05", "what is milk at 10:05", "what is tea at 10:05"} {
		ask, answer := Text(body), Text(fmt.Sprint("answer ", i))
		entries = append(entries, Entry{Kind: kindAsk, N: i + 1, Method: http.MethodPost, URL: "/m", Data: &ask}, Entry{Kind: kindAnswer, N: i + 1, Status: 200}, Entry{Kind: kindData, N: i + 1, Data: &answer}, Entry{Kind: kindClose, N: i + 1})
	}
	p := NewPlayer(&Recording{Entries: entries})
	var got []string
	for _, body := range []string{"what is milk at 10:06", "what is tea at 10:06"} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://h/m", strings.NewReader(body))
		resp, err := p.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		got = append(got, string(answer))
	}
	if diff := cmp.Diff([]string{"answer 1", "answer 0"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if asked, unused := p.Extra(); len(asked) != 0 || unused != 1 {
		t.Errorf("asked besides: %q, and %d are unused", asked, unused)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://h/m", nil)
	if _, err := p.RoundTrip(req); !errors.Is(err, errNotRecorded) {
		t.Errorf("by another method: %v", err)
	}
}

// A file that is sealed and has lines without what belongs into them, as another program may have
// written it, ends no process.
func TestLinesWithoutData(t *testing.T) {
	t.Parallel()
	r := &Recording{Entries: []Entry{{Kind: kindOut}, {Kind: kindName, Of: "s/get"}, {Kind: kindOffer, Of: "a", Set: 3}, {Kind: kindAsk, N: 1, Method: http.MethodGet, URL: "/m"},
		{Kind: kindAnswer, N: 1, Status: 200}, {Kind: kindData, N: 1}, {Kind: kindClose, N: 1}, {Kind: kindCall, N: 2, Of: "a", Tool: "get"}, {Kind: kindProgress, N: 2}, {Kind: kindResult, N: 2}}}
	p := NewPlayer(r)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://h/m", nil)
	resp, err := p.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); len(body) != 0 || err != nil {
		t.Errorf("%q, %v", body, err)
	}
	ctx := tool.WithProgress(t.Context(), func(p tool.Progress) { t.Errorf("progress %+v", p) })
	if got, err := p.Tools("a", nil).Call(ctx, tool.Call{ID: "c", Name: "get"}); err != nil || got.ID != "c" || got.Text != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if name := p.Named(t.Context(), "s", "get", nil); name != "" || len(r.Body()) != 0 {
		t.Errorf("the name is %q, and the body %q", name, r.Body())
	}
	if set := p.Tools("a", nil).Tools(t.Context()); set == nil || len(set.Specs) != 0 {
		t.Errorf("offered: %+v", set)
	}
	if set := p.Tools("nobody", nil).Tools(t.Context()); set == nil || len(set.Specs) != 0 {
		t.Errorf("offered to another one: %+v", set)
	}
}

// plain is a client that takes all, and any number of heads.
type plain struct{ header http.Header }

func (p plain) Header() http.Header       { return p.header }
func (plain) WriteHeader(int)             {}
func (plain) Write(p []byte) (int, error) { return len(p), nil }

// The head of a reply is recorded once, as the client got it; what only announces it is not.
func TestHeadOfAReply(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		statuses []int
		want     int
	}{"none said": {nil, 200}, "one": {[]int{404}, 404}, "announced": {[]int{103, 201}, 201}, "twice": {[]int{202, 500}, 202}} {
		dir := t.TempDir()
		r := New(Config{Dir: dir})
		r.Handler(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			From(req.Context()).Begin("")
			w.Header().Set("X-Request-Id", "req_1")
			w.Header().Set("Set-Cookie", "canary")
			for _, status := range tt.statuses {
				w.WriteHeader(status)
			}
			_, _ = io.WriteString(w, "a")
			_, _ = io.WriteString(w, "b")
		}), false).ServeHTTP(plain{http.Header{}}, httptest.NewRequest(http.MethodGet, "/", nil))
		r.Close()
		rec, err := Read(bytes.NewReader(only(t, dir)))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range rec.Entries {
			got = append(got, fmt.Sprintf("%s %d %v %s", e.Kind, e.Status, e.Header, e.dataBytes()))
		}
		want := []string{fmt.Sprintf("reply %d map[X-Request-Id:[req_1]] ", tt.want), "out 0 map[] a", "out 0 map[] b"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A reply that is cut off on purpose ends there; another panic is nobody's to hide.
func TestPanicsOfATurnThatIsRunAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		with any
		want any
	}{{nil, nil}, {http.ErrAbortHandler, nil}, {"oh", "oh"}} {
		c := NewPlayer(&Recording{}).Client()
		got := func() (p any) {
			defer func() { p = recover() }()
			c.Serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				control := http.NewResponseController(w)
				soon := time.Now().Add(time.Hour)
				if err := errors.Join(control.Flush(), control.SetReadDeadline(soon), control.SetWriteDeadline(soon), control.EnableFullDuplex()); err != nil {
					t.Error(err)
				}
				w.WriteHeader(http.StatusAccepted)
				_, _ = io.WriteString(w, "sent")
				if tt.with != nil {
					panic(tt.with)
				}
			}), httptest.NewRequest(http.MethodGet, "/", nil))
			return nil
		}()
		if got != tt.want || string(c.Body()) != "sent" {
			t.Errorf("%v: panics with %v after %q", tt.with, got, c.Body())
		}
	}
}
