package browser

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// answer is a turn of five events: start, thinking, two deltas, done.
const (
	answer     = "thought **Hm**\ndelay 10ms\ntext \"One \"\ndelay 10ms\ntext two.\nfinish STOP"
	answerSize = 5
)

// Clients that come back by themselves cause one turn, wherever their connection is
// cut, and then they are asked to stop.
func TestEngines(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	sim := startGemini(t, map[string]string{"plain": answer, "fails": "error 400 No such luck"})
	page := httptest.NewServer(http.NotFoundHandler()) // what it shows does not matter
	t.Cleanup(page.Close)
	v := &visitors{browser: browser, origin: page.URL, gemini: sim, gateway: startGateway(t, sim.env("SLUICE_CORS_ORIGINS", page.URL))}
	for _, engine := range []string{"chromium", "eventsource", "undici"} {
		v.oneTurn(t, engine)
		v.twoWithoutKey(t, engine)
		v.errorsApart(t, engine)
	}
	v.oneTurnByPost(t)
	v.run(t)
}

// place is a place to cut a stream of answer, and what a client has then.
type place struct {
	title  string
	cut    cut
	events int // that arrive whole, at most
}

func places() []place {
	return []place{
		{"before the headers", cut{}, 0},
		{"after the headers", cut{headers: true}, 0},
		{"in the first event", cut{headers: true, half: true}, 0},
		{"in an event", cut{headers: true, events: 2, half: true}, 2},
		{"between events", cut{headers: true, events: 3}, 3},
		{"between events, cleanly", cut{headers: true, events: 3, clean: true}, 3},
		{"in done", cut{headers: true, events: answerSize - 1, half: true}, answerSize - 1},
		{"after done", cut{headers: true, events: answerSize}, answerSize},
		{"nowhere", cut{headers: true, events: uncut}, answerSize},
	}
}

// oneTurn: an EventSource comes back whenever its connection ends, and is asked to stop. Only
// where it may have received nothing does that take a key.
func (v *visitors) oneTurn(t *testing.T, engine string) {
	t.Helper()
	for _, p := range places() {
		v.add(t, visit{title: p.title, Engine: engine, check: func(t *testing.T, x visit) {
			v.turns(t, x, 1)
			events := checkSeen(t, x.seen)
			if events != p.events && !(events < p.events && p.cut.breaks()) {
				t.Errorf("%d events arrived, want %d", events, p.events)
			}
			checkStopped(t, x.proxy.seen(), events)
		}}, "plain", p.cut, p.cut.breaks())
	}
}

// checkStopped looks at what a client has asked for that has seen so many events: the
// turn, and then once more, with the id of the last one. That is answered 204.
func checkStopped(t *testing.T, got []request, events int) {
	t.Helper()
	if len(got) != 2 || got[0] != (request{"", 200}) || got[1].status != 204 {
		t.Fatalf("requests %+v, want one turn and one 204", got)
	}
	_, number, _ := strings.Cut(got[1].lastEventID, ":")
	if want := strings.TrimPrefix(strconv.Itoa(events), "0"); number != want {
		t.Errorf("the client came back with the id %q, want number %q", got[1].lastEventID, want)
	}
}

// checkSeen looks at what the program sees: each event once, no error that looks like
// one of ours, and at the end an error with readyState CLOSED. It returns how many
// events there were.
func checkSeen(t *testing.T, seen []sighting) int {
	t.Helper()
	var types []string
	for _, s := range seen {
		if s.Data {
			types = append(types, s.Type)
		}
	}
	want := []string{"start", "thinking", "response_delta", "response_delta", "done"}
	if diff := cmp.Diff(want[:min(len(types), len(want))], types, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sighting{Type: "error", State: 2}, seen[len(seen)-1]); diff != "" {
		t.Errorf("the end (-want +got):\n%s", diff)
	}
	return len(types)
}

// twoWithoutKey shows what the key is for, and that these tests see a second turn:
// nothing else distinguishes a client that has received nothing from a new one.
func (v *visitors) twoWithoutKey(t *testing.T, engine string) {
	t.Helper()
	v.add(t, visit{title: "without a key", Engine: engine, check: func(t *testing.T, x visit) {
		v.turns(t, x, 2)
		if events := checkSeen(t, x.seen); events != answerSize {
			t.Errorf("%d events arrived", events)
		}
		if got := x.proxy.seen(); len(got) != 3 || got[1] != (request{"", 200}) || got[2].status != 204 {
			t.Errorf("requests %+v", got)
		}
	}}, "plain", cut{headers: true}, false)
}

// errorsApart: an error of ours and one of the connection reach the same listener.
// Ours has data, comes while the stream is open and is followed by done.
func (v *visitors) errorsApart(t *testing.T, engine string) {
	t.Helper()
	want := []sighting{
		{Type: "open", State: 1},
		{Type: "start", Data: true, State: 1},
		{Type: "error", Data: true, State: 1},
		{Type: "done", Data: true, State: 1},
		{Type: "error", State: 0}, // the stream's end: it will come back
		{Type: "error", State: 2}, // and is asked to stop
	}
	v.add(t, visit{title: "an error of ours", Engine: engine, check: func(t *testing.T, x visit) {
		v.turns(t, x, 1)
		if diff := cmp.Diff(want, x.seen); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}}, "fails", cut{headers: true, events: uncut}, false)
}

// oneTurnByPost: @microsoft/fetch-event-source sends even a POST again when its
// connection breaks, and by the id of an event that it has received by half. It does
// so as often as its program lets it, here twice.
func (v *visitors) oneTurnByPost(t *testing.T) {
	t.Helper()
	for _, p := range places() {
		v.add(t, visit{title: p.title, Engine: "fetch-event-source", check: func(t *testing.T, x visit) {
			v.turns(t, x, 1)
			checkRefused(t, p.cut, x.proxy.seen())
		}}, "plain", p.cut, true)
	}
}

// checkRefused looks at what it has asked for. A clean end does not look broken to
// it, so it does not come back.
func checkRefused(t *testing.T, c cut, got []request) {
	t.Helper()
	want := 3
	if c.clean || c.events == uncut {
		want = 1
	}
	if len(got) != want || got[0] != (request{"", 200}) {
		t.Fatalf("requests %+v, want one turn and %d more", got, want-1)
	}
	for _, r := range got[1:] {
		refusal := 409 // for its key
		if r.lastEventID != "" {
			refusal = 204
		}
		if r.status != refusal {
			t.Errorf("%+v, want %d", r, refusal)
		}
	}
}
