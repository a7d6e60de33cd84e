package browser

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// exampleVisit is what npm/examples.mjs is asked to do.
type exampleVisit struct {
	Name    string `json:"name"`
	Client  string `json:"client"`
	Gateway string `json:"gateway"`
	Input   string `json:"input"`

	situation
	proxy *cutter
	end   string
}

// shown is what a visitor sees.
type shown struct{ Name, Answer, End string }

// The example clients for browsers, on pages of an origin that the gateway was asked to allow.
// They close what they have opened: each sends one request.
func TestBrowserExamples(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	files := httptest.NewServer(http.FileServer(http.Dir(examples)))
	t.Cleanup(files.Close)
	g := startExamples(t, "SLUICE_CORS_ORIGINS", files.URL)
	var visits []exampleVisit
	for client, ends := range map[string][]string{ // in the order of the exit codes
		"eventsource": {"done", "model_error: ", "no connection, or refused", "connection lost: "},
		"fetch":       {"done", "model_error", "Refused", "Lost"},
	} {
		for _, s := range situations() {
			visits = append(visits, visitExample(t, g, client, s, ends[s.end]))
		}
		visits = append(visits, visitExample(t, g, client, stopped(), "stopped"))
	}
	saw := map[string]shown{}
	job := map[string]any{"chromium": browser, "origin": files.URL, "visits": visits}
	for _, s := range drive[shown](t, "examples.mjs", job) {
		saw[s.Name] = s
	}
	for _, v := range visits {
		t.Run(v.Name, func(t *testing.T) { v.check(t, saw[v.Name]) })
	}
	g.log.await(t, len(visits)-2, "request_completed") // all but those that were refused, which were received all the same
	if n := len(g.log.of("request_received")); n != len(visits) {
		t.Errorf("%d turns for %d visits", n, len(visits))
	}
}

// stopped: the visitor stops a turn, which npm/examples.mjs knows by its text.
func stopped() situation {
	return situation{name: "stop", text: "stalls", cut: cut{headers: true, events: uncut}, answer: "One "}
}

func visitExample(t *testing.T, g *gateway, client string, s situation, end string) exampleVisit {
	t.Helper()
	if client == "eventsource" && s.cut == (cut{}) {
		end = "no connection, or refused" // it cannot say which
	}
	if s.onPage != "" {
		s.answer = s.onPage
	}
	proxy := startCutter(t, g, s.cut)
	return exampleVisit{client + " " + s.name, client, proxy.url, s.text, s, proxy, end}
}

func (v exampleVisit) check(t *testing.T, got shown) {
	t.Helper()
	complete := got.Answer == v.answer
	if v.cut.breaks() {
		complete = strings.HasPrefix(v.answer, got.Answer)
	}
	if !complete || !strings.HasPrefix(got.End, v.end) {
		t.Errorf("%+v, want the answer %q, the end %q", got, v.answer, v.end)
	}
	requests := v.proxy.seen()
	if v.Client == "fetch" && v.cut == (cut{}) && len(requests) == 2 && requests[1].status == http.StatusConflict {
		return // Chromium itself sends a POST again whose connection, used before, dies without a reply
	}
	if len(requests) != 1 {
		t.Errorf("requests %+v", requests)
	}
}
