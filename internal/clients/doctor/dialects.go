package doctor

import (
	"context"
	"net/http"
	"strings"
)

// knownProtocols are those that a gateway may serve besides its own, and where turns are asked for in
// them.
func knownProtocols() []struct{ name, path string } {
	return []struct{ name, path string }{
		{"AI SDK", "/api/chat"}, {"AG-UI", "/agui"}, {"Chat Completions", "/v1/chat/completions"}, {"Responses", "/v1/responses"},
		{"ChatKit", "/chatkit"}, {"A2A", "/a2a"},
	}
}

// checkDialects says which protocols are served here. A GET runs nothing: a gateway refuses it as a
// method that the path does not have, or the path as one that is not there.
func (d *examination) checkDialects(ctx context.Context) {
	var served, strange []string
	var last *http.Response
	for _, p := range knownProtocols() {
		resp, _, err := d.fetchReply(ctx, http.MethodGet, p.path, "")
		switch {
		case err != nil:
			d.addFinding(Finding{Check: "dialects", Verdict: Problem, Seen: p.path + ": " + err.Error(),
				Means: "The gateway, or a proxy in front of it, does not answer there.", Change: []string{"Look at the proxy's log, then at the gateway's"}})
			return
		case isServed(resp):
			served = append(served, p.name+" at "+p.path)
		case resp.StatusCode != http.StatusNotFound || !isGateway(resp):
			strange, last = append(strange, p.path), resp
		}
	}
	if len(served) == 0 {
		served = []string{"our own alone, at /chat/stream"}
	}
	d.addGood("dialects", "%s", strings.Join(served, ", "))
	if len(strange) > 0 {
		d.addFinding(strangersFinding(strange, last))
	}
}

// isServed reports whether a reply to a GET comes from a path with a POST.
func isServed(resp *http.Response) bool {
	return resp.StatusCode == http.StatusMethodNotAllowed && strings.Contains(resp.Header.Get("Allow"), http.MethodPost)
}

// strangersFinding is the finding that something else has answered at paths; last is one of its replies.
func strangersFinding(strange []string, last *http.Response) Finding {
	f := strangerFinding("dialects", last)
	f.Verdict, f.Seen = Notice, strings.Join(strange, ", ")+": "+f.Seen
	f.Means, f.Change = "Something other than the gateway has answered, so clients of these protocols do not reach it.", []string{"If they are to: let the proxy hand these paths on to the gateway"}
	return f
}

// isGateway reports whether a refusal is a gateway's.
func isGateway(resp *http.Response) bool {
	return resp.Header.Get("X-Request-Id") != "" || resp.Header.Get("Content-Type") == "application/problem+json"
}
