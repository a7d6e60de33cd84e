package doctor

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

const (
	// longestQuery is 5,000 characters in their longest percent-encoded form, and
	// longestBody more than their longest JSON form.
	longestQuery = 60_000
	longestBody  = 100 << 10
)

// checkPosts sees whether POST comes through, with the Host header and with a large
// body. The bodies are not valid requests, so that nothing runs: the gateway's own
// refusal is the proof.
func (d *examination) checkPosts(ctx context.Context) {
	origin := d.cfg.URL.Scheme + "://" + d.cfg.URL.Host
	status, reply, err := d.sendPost(ctx, `{}`, "Origin", origin)
	switch {
	case err != nil:
		d.addFinding(Finding{Check: "post", Verdict: Problem, Seen: "no reply to POST /chat/stream: " + d.reasonText(err)})
		return
	case status == http.StatusForbidden && reply.ErrorType == "origin_refused":
		d.addFinding(Finding{"post", Problem, "the gateway refuses pages of " + origin,
			"It was asked under another name, so that it takes its own pages for foreign ones.",
			[]string{"nginx: proxy_set_header Host $http_host;", "Or name the origin in SLUICE_CORS_ORIGINS"}})
	case reply.ErrorType != "validation_error":
		d.addFinding(refusedOnTheWay("post", "POST /chat/stream", status))
		return
	default:
		d.addGood("post", "POST comes through, and so does Host")
	}
	status, reply, err = d.sendPost(ctx, `{"filler":"`+strings.Repeat("x", longestBody)+`"}`)
	switch {
	case err != nil:
		d.addFinding(Finding{Check: "large body", Verdict: Problem, Seen: "a body of 100 KiB: " + d.reasonText(err),
			Means: "A long message cannot be sent.", Change: []string{"nginx: client_max_body_size 1m;"}})
	case reply.ErrorType != "validation_error":
		f := refusedOnTheWay("large body", "a body of 100 KiB", status)
		f.Means, f.Change = "A long message cannot be sent.", []string{"nginx: client_max_body_size 1m;", "Elsewhere: allow bodies of 128 KiB"}
		d.addFinding(f)
	default:
		d.addGood("large body", "100 KiB come through")
	}
}

// problemReply is a refusal, as far as it is read: its type shows that the gateway itself has
// refused, and not something on the way.
type problemReply struct {
	ErrorType string `json:"error_type"`
}

// sendPost sends a body to POST /chat/stream. A reply that is not a problem document leaves
// reply empty.
func (d *examination) sendPost(ctx context.Context, body string, header ...string) (status int, reply problemReply, err error) {
	resp, content, err := d.fetchReply(ctx, http.MethodPost, "/chat/stream", body, append(header, "Content-Type", "application/json")...)
	if err != nil {
		return 0, reply, err
	}
	_ = json.Unmarshal(content, &reply) // a proxy's page has another form
	return resp.StatusCode, reply, nil
}

// refusedOnTheWay is the finding that a request was refused on the way, with status.
func refusedOnTheWay(check, what string, status int) Finding {
	return Finding{check, Problem, fmt.Sprintf("%s is answered with %d on the way", what, status),
		"It does not reach the gateway.", []string{"Look for a rule of the proxy or its firewall that says so"}}
}

// longURL finds how long the query of a GET may be.
func (d *examination) longURL(ctx context.Context) {
	var refusal string
	for size := longestQuery; size >= 3_000; size /= 2 {
		status, err := d.tryURL(ctx, size)
		switch {
		case status == http.StatusOK && size == longestQuery:
			d.addGood("long URL", "%s bytes of query come through", formatBytes(size))
			return
		case status == http.StatusOK:
			d.addFinding(Finding{"long URL", Notice, fmt.Sprintf("%s bytes of query come through, %s do not (%s)", formatBytes(size), formatBytes(2*size), refusal),
				"Long input can be sent with POST only; one character takes up to 12 bytes of a URL.", longerURLs()})
			return
		case err != nil:
			refusal = d.reasonText(err)
		default:
			refusal = fmt.Sprintf("%d %s", status, http.StatusText(status))
		}
	}
	d.addFinding(Finding{"long URL", Problem, "not even 3,000 bytes of query come through (" + refusal + ")",
		"GET /chat/stream takes short input only.", longerURLs()})
}

// tryURL sends a query of size bytes more than it needs. After an error there was not a reply. The
// status reports whether the query came through.
func (d *examination) tryURL(ctx context.Context, size int) (status int, err error) {
	resp, _, err := d.fetchReply(ctx, http.MethodGet, "/diag/sse?ticks=1&filler="+strings.Repeat("x", size), "")
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, nil
}

// longerURLs returns the settings that let long URLs through, a line for each kind of proxy.
func longerURLs() []string {
	return []string{"nginx: large_client_header_buffers 4 96k;", "HAProxy: tune.bufsize 98304"}
}

// checkSilence keeps two streams silent for a while: one as turns are, with heartbeats,
// and one without any byte, which shows the limit that heartbeats stay under.
func (d *examination) checkSilence(ctx context.Context) {
	query := fmt.Sprintf("ticks=2&interval_ms=%d", d.cfg.Idle.Milliseconds())
	var filled, bare *viewing
	var filledErr, bareErr error
	var both sync.WaitGroup
	both.Go(func() { filled, filledErr = d.watchTicks(ctx, query, d.cfg.Idle) })
	both.Go(func() { bare, bareErr = d.watchTicks(ctx, query+"&heartbeat=false", d.cfg.Idle) })
	both.Wait()
	if ctx.Err() != nil {
		return
	}
	d.addFinding(d.withHeartbeats(filled, filledErr))
	switch {
	case bareErr != nil || !bare.isStream():
	case bare.done:
		d.addGood("idle", "a stream without a byte for %s is left alone too", formatTime(d.cfg.Idle))
	default:
		d.addFinding(Finding{Check: "idle", Verdict: Notice, Seen: fmt.Sprintf("a stream without a byte is cut after %s", formatTime(bare.elapsed)),
			Means: "This is the shortest idle limit on the way. SLUICE_HEARTBEAT must stay well below it."})
	}
}

// withHeartbeats judges a stream with heartbeats alone.
func (d *examination) withHeartbeats(v *viewing, err error) Finding {
	switch {
	case err != nil:
		return Finding{Check: "idle", Verdict: Problem, Seen: d.reasonText(err)}
	case !v.isStream():
		return notAStream(v.resp)
	case !v.done:
		f := d.cutFinding("idle", v)
		f.Seen += fmt.Sprintf(", after %s", formatCount(len(v.comments.at), "heartbeat"))
		return f
	}
	n, gap := len(v.comments.at), v.longestGap()
	f := Finding{Check: "idle", Verdict: Good, Seen: fmt.Sprintf("a silent stream lives for %s: %s, at most %s without a byte", formatTime(d.cfg.Idle), formatCount(n, "heartbeat"), formatTime(gap))}
	if n == 0 {
		f.Verdict, f.Means = Notice, "No heartbeat came: SLUICE_HEARTBEAT is 0 or longer than this, or something takes comments out of streams."
	}
	return f
}

// longestGap is the longest time without a comment or tick.
func (v *viewing) longestGap() time.Duration {
	longest, last := time.Duration(0), v.ticks[0].at
	for _, at := range append(v.comments.at, v.ticks[len(v.ticks)-1].at) {
		longest, last = max(longest, at-last), at
	}
	return longest
}
