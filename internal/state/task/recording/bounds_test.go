package recording

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// held is a turn that has said something and continues when it is let go.
type held struct {
	size       int
	said, rest chan struct{}
}

func newHeld(size int) *held { return &held{size, make(chan struct{}), make(chan struct{})} }

func (h *held) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	From(r.Context()).Begin("")
	_, _ = io.WriteString(w, strings.Repeat("x", h.size))
	close(h.said)
	<-h.rest
}

// A recording that is being written does not give way to those that have ended, even if it is
// the oldest.
func TestWhatIsWrittenStays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := New(Config{Dir: dir, Max: 10_000})
	first := newHeld(6000)
	ended := make(chan string)
	go func() { ended <- serve(r, first, "/first") }()
	<-first.said
	serve(r, turn(strings.Repeat("y", 6000)), "/second")
	close(first.rest)
	<-ended
	r.Close()
	if got, err := Read(bytes.NewReader(only(t, dir))); err != nil || got.Request.Target != "/first" {
		t.Errorf("%v: %+v", err, got)
	}
	if n := r.queued.Load(); n != 0 {
		t.Errorf("%d bytes wait", n)
	}
}

// A turn that has not ended when the recorder does leaves nothing behind.
func TestUnfinishedRecordingGoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := New(Config{Dir: dir})
	first := newHeld(10)
	ended := make(chan string)
	go func() { ended <- serve(r, first, "/first") }()
	<-first.said
	r.Close()
	if list, err := listed(dir); len(list) > 0 || err != nil {
		t.Errorf("%q, %v", list, err)
	}
	close(first.rest)
	if got := <-ended; len(got) != 10 {
		t.Errorf("the client got %q", got)
	}
}

// Nobody but its owner can look into the folder.
func TestFolderIsItsOwners(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/rec"
	r := New(Config{Dir: dir})
	serve(r, turn("x"), "/")
	r.Close()
	list, _ := listed(dir)
	for path, want := range map[string]os.FileMode{dir: 0o700, list[0]: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode().Perm(), err, want)
		}
	}
}

// What is kept in memory has bounds: of a request for which it is not known yet whether it
// runs a turn, and of what waits for the disk.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	large := Text(make([]byte, maxPending+1))
	asked, answered := &Turn{}, &Turn{}
	if asked.addBody(large); asked.body != nil || !asked.lost.Load() {
		t.Errorf("%d bytes of a request are kept", len(asked.body))
	}
	if answered.addEntry(Entry{Kind: kindOut, Data: &large}); answered.pending != nil || !answered.lost.Load() {
		t.Errorf("%d entries are kept", len(answered.pending))
	}
	r := &Recorder{queue: make(chan item, 2)} // nobody writes
	if !r.queueItem(item{line: make([]byte, maxQueue+1)}) || r.queueItem(item{line: []byte("x")}) {
		t.Error("more than the bound waits")
	}
	r.queued.Store(0)
	if !r.queueItem(item{}) || r.queueItem(item{}) || r.queued.Load() != 0 {
		t.Errorf("more lines wait than there is room for, of %d bytes", r.queued.Load())
	}
}

// An upstream's key may stand in its URL.
func TestTargetHasNoKey(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://h:1/v1/m:stream?alt=sse&key=canary": "/v1/m:stream?alt=sse", "http://h/x?key=canary": "/x", "http://h/x?api-version=2&sig=canary": "/x?api-version=2",
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := upstreamTarget(u); got != want {
			t.Errorf("%s is recorded as %s", text, got)
		}
	}
}

// said is a transport that says the same to all.
type said string

func (s said) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Set-Cookie": {"canary"}}, Body: io.NopCloser(strings.NewReader(string(s)))}, nil
}

// A turn that asks what cannot be asked again says why it cannot be run again.
func TestExchangeThatCannotBeRepeated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := New(Config{Dir: dir})
	serve(r, http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		From(req.Context()).Begin("")
		ask, _ := http.NewRequestWithContext(req.Context(), http.MethodGet, "http://far/x", nil)
		resp, err := r.Around(said("hi"), "an agent elsewhere").RoundTrip(ask)
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}), "/")
	r.Close()
	content := only(t, dir)
	if got, err := Read(bytes.NewReader(content)); err != nil || got.Continues != "an agent elsewhere" || bytes.Contains(content, []byte("canary")) {
		t.Errorf("%v: %s", err, content)
	}
}

// paced is a recording in which the model's answer came behind the second event, after four
// seconds.
func paced() *Recording {
	one, two, rest, ask := Text("a\n\n"), Text(": beat\n\nb\n\n"), Text("c"), Text("{}")
	return &Recording{Entries: []Entry{
		{Kind: kindOut, Data: &one}, {Kind: kindAsk, N: 1, Method: "POST", URL: "/m", Data: &ask}, {Kind: kindOut, Data: &two},
		{At: 4e6, Kind: kindAnswer, N: 1, Status: 200}, {At: 4e6, Kind: kindData, N: 1, Data: &rest}, {At: 4e6, Kind: kindClose, N: 1}, {At: 6e6, Kind: kindOut, Data: &rest},
	}}
}

// An answer of a recording comes when all has been sent that was sent before it, heartbeats
// aside; of a turn that goes another way, after a while; and with a speed, at its time.
func TestAnswersComeInTheirOrder(t *testing.T) {
	t.Parallel()
	ask := func(t *testing.T, p *Player) (answered func() bool) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://h/m", strings.NewReader("{}"))
			resp, err := p.RoundTrip(req)
			if err != nil {
				t.Error(err)
				return
			}
			if body, err := io.ReadAll(resp.Body); string(body) != "c" || err != nil {
				t.Errorf("%q, %v", body, err)
			}
		}()
		return func() bool {
			synctest.Wait()
			select {
			case <-done:
				return true
			default:
				return false
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		p := NewPlayer(paced())
		answered := ask(t, p)
		for _, part := range []string{"a\n\n", ": beat\n\n", ": beat\n\n"} {
			if p.countSent([]byte(part)); answered() {
				t.Fatal("it has come before the second event")
			}
		}
		if p.countSent([]byte("b\n\n")); !answered() {
			t.Error("it has not come behind the second event")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		answered := ask(t, NewPlayer(paced()))
		if time.Sleep(stall - 1); answered() {
			t.Error("it has not waited")
		}
		if time.Sleep(time.Nanosecond); !answered() {
			t.Error("it waits for ever")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p := NewPlayer(paced())
		p.Speed = 2
		answered := ask(t, p)
		p.countSent([]byte("a\n\nb\n\n"))
		if time.Sleep(2*time.Second - 1); answered() {
			t.Error("it has come before its time")
		}
		if time.Sleep(time.Nanosecond); !answered() {
			t.Error("it comes late")
		}
	})
}

// A recording is played at its pace, or faster, and until nobody wants it any more.
func TestPace(t *testing.T) {
	t.Parallel()
	for speed, want := range map[float64]time.Duration{0: 0, 1: 6 * time.Second, 3: 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var out bytes.Buffer
			if err := paced().Play(t.Context(), &out, speed); err != nil || out.String() != "a\n\n: beat\n\nb\n\nc" || time.Since(began) != want {
				t.Errorf("speed %v: %v, %q after %v", speed, err, out.String(), time.Since(began))
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := paced().Play(ctx, io.Discard, 1); err == nil {
			t.Error("it is played to its end")
		}
	})
}
