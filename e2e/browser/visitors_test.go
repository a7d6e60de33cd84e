package browser

import (
	"fmt"
	"net/url"
	"testing"
)

// visit is what a client is asked to do, as npm/engines.mjs reads it.
type visit struct {
	Name   string `json:"name"`
	Engine string `json:"engine"`
	URL    string `json:"url"`

	title string
	proxy *cutter
	seen  []sighting
	check func(*testing.T, visit)
}

// sighting is an event that a client has seen.
type sighting struct {
	Type  string
	Data  bool // it has data, so it is from the server
	State int  // readyState: 0 connecting, 1 open, 2 closed
}

// visitors are clients that know nothing of us: they never call close().
type visitors struct {
	browser string
	origin  string // of the page that Chromium opens
	gemini  *gemini
	gateway *gateway
	visits  []visit
}

// add adds a visit. Its name is its question, of which the part before the dash
// picks the answer; and its user, for the log says who asked, but not what.
func (v *visitors) add(t *testing.T, x visit, answer string, c cut, key bool) {
	t.Helper()
	x.Name = fmt.Sprintf("%s-%d", answer, len(v.visits))
	x.proxy = startCutter(t, v.gateway, c)
	query := url.Values{"input": {x.Name}, "user_id": {x.Name}}
	if key {
		query.Set("idempotency_key", "key-of-"+x.Name)
	}
	x.URL = x.proxy.url + "/chat/stream?" + query.Encode()
	v.visits = append(v.visits, x)
}

// run makes all visits at once, and then checks each.
func (v *visitors) run(t *testing.T) {
	t.Helper()
	type diary struct {
		Name string
		Seen []sighting
	}
	diaries := map[string][]sighting{}
	job := map[string]any{"chromium": v.browser, "origin": v.origin, "visits": v.visits}
	for _, d := range drive[diary](t, "engines.mjs", job) {
		diaries[d.Name] = d.Seen
	}
	for _, x := range v.visits {
		x.seen = diaries[x.Name]
		t.Run(x.Engine+" "+x.title, func(t *testing.T) { x.check(t, x) })
	}
}

// turns counts the turns of a visit in the log. The model is asked once for each, or
// not at all if the client is gone before.
func (v *visitors) turns(t *testing.T, x visit, want int) {
	t.Helper()
	if n := v.gateway.log.turns(x.Name); n != want {
		t.Errorf("%d turns, want %d", n, want)
	}
	if n := v.gemini.turns(x.Name); n > want {
		t.Errorf("the model was asked %d times, want %d", n, want)
	}
}
