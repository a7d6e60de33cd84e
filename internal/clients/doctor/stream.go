package doctor

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"sluice/stream/sse"
)

const (
	probeTicks    = 10
	probeInterval = 200 * time.Millisecond
	probePadding  = 16 << 10
	// late is a delay that a person notices, and longer than a busy machine adds.
	late = 250 * time.Millisecond
)

// viewing is the result of one GET /diag/sse.
type viewing struct {
	resp     *http.Response
	began    time.Time // when the request was sent
	ticks    []tick
	comments comments
	done     bool
	err      error // why it ended before done; io.EOF: in order, as it seemed
	elapsed  time.Duration
}

// tick is an event, as far as its data is read.
type tick struct {
	N         int    `json:"n"`
	Ticks     int    `json:"ticks"` // of the last event
	ElapsedMS int64  `json:"elapsed_ms"`
	Protocol  string `json:"protocol"`

	at time.Duration // when it was here, since the request was sent
}

// sentAt is when the gateway sent the tick, since it sent the first one.
func (t tick) sentAt() time.Duration { return time.Duration(t.ElapsedMS) * time.Millisecond }

// comments notes when comments come by in a stream that is copied to it.
type comments struct {
	clock   func() time.Duration
	at      []time.Duration
	between bool // within a line
}

// Write implements io.Writer. It never fails: it only listens.
func (c *comments) Write(p []byte) (int, error) {
	for _, b := range p {
		if b == ':' && !c.between {
			c.at = append(c.at, c.clock())
		}
		c.between = b != '\n' && b != '\r'
	}
	return len(p), nil
}

// watchTicks reads ticks as they come. must is how long they take where nothing is in
// the way. The error is that of a request without a reply.
func (d *examination) watchTicks(ctx context.Context, query string, must time.Duration) (*viewing, error) {
	ctx, cancel := context.WithTimeout(ctx, must+d.cfg.Timeout)
	defer cancel()
	v := &viewing{began: time.Now()}
	v.comments.clock = func() time.Duration { return time.Since(v.began) }
	var err error
	// It accepts a compressed stream, as browsers do. That shows whether a proxy compresses it.
	v.resp, err = d.sendRequest(ctx, http.MethodGet, "/diag/sse?"+query, "", "Accept", "text/event-stream", "Accept-Encoding", "gzip")
	if err != nil {
		return nil, err
	}
	defer v.resp.Body.Close()
	if v.isStream() {
		v.err = v.readTicks()
	}
	v.elapsed = time.Since(v.began)
	return v, nil
}

// isStream reports whether the reply is a stream at all.
func (v *viewing) isStream() bool {
	kind, _, _ := mime.ParseMediaType(v.resp.Header.Get("Content-Type"))
	return v.resp.StatusCode == http.StatusOK && kind == "text/event-stream"
}

// isCompressed reports whether something compressed the stream: the gateway never does.
func (v *viewing) isCompressed() bool { return v.resp.Header.Get("Content-Encoding") != "" }

// readTicks reads the stream to its done event, and returns nil, or why it did not get there.
// A tick out of order counts as a change on the way.
func (v *viewing) readTicks() error {
	body := io.Reader(v.resp.Body)
	if v.isCompressed() {
		plain, err := gzip.NewReader(body)
		if err != nil {
			return err
		}
		body = plain
	}
	events := sse.NewReader(io.TeeReader(body, &v.comments), 2*probePadding)
	for {
		ev, err := events.Next()
		if err != nil {
			return err
		}
		t := tick{at: time.Since(v.began)}
		err = json.Unmarshal([]byte(ev.Data), &t)
		switch n := len(v.ticks); {
		case err == nil && ev.Type == "tick" && t.N == n+1:
			v.ticks = append(v.ticks, t)
		case err == nil && ev.Type == "done" && t.Ticks == n && n > 0:
			v.done = true
			return nil
		default:
			return fmt.Errorf("the stream was changed on its way: event %q after %s", ev.Type, formatCount(n, "tick"))
		}
	}
}

// timing is how ticks arrived, measured by their stamps.
type timing struct {
	held    time.Duration // the longest that one was held back, beyond the quickest
	delay   time.Duration // by how much the quickest was late, beyond the network's time
	pieces  int           // ticks that came together count as one
	largest int           // ticks in a piece
}

// measureTiming compares when ticks came with when they were sent. The clocks of the two ends
// need not agree: only differences count. trip is the network's own time. Two ticks are
// one piece when they came in less than a quarter of the time between them.
func (v *viewing) measureTiming(trip time.Duration) timing {
	var t timing
	var quickest, slowest time.Duration
	piece := 0
	for i, k := range v.ticks {
		lateness := k.at - k.sentAt()
		if i == 0 {
			quickest, slowest = lateness, lateness
		}
		quickest, slowest = min(quickest, lateness), max(slowest, lateness)
		if i == 0 || k.at-v.ticks[i-1].at > (k.sentAt()-v.ticks[i-1].sentAt())/4 {
			t.pieces++
			piece = 0
		}
		piece++
		t.largest = max(t.largest, piece)
	}
	t.held, t.delay = slowest-quickest, max(0, quickest-trip)
	return t
}

// isLive reports whether a person would see each tick when it is sent.
func (t timing) isLive() bool { return t.held < late && t.delay < late }

// watchTwice watches once more where ticks are held back: a buffer shows each time, a busy moment
// does not.
func (d *examination) watchTwice(ctx context.Context, query string, must time.Duration) (*viewing, error) {
	v, err := d.watchTicks(ctx, query, must)
	if err != nil || !v.done || v.measureTiming(d.trip).isLive() {
		return v, err
	}
	again, err := d.watchTicks(ctx, query, must)
	if err == nil && again.done && again.measureTiming(d.trip).held < v.measureTiming(d.trip).held {
		return again, nil
	}
	return v, nil
}

// checkStream judges the ticks. It returns false without any ticks.
func (d *examination) checkStream(ctx context.Context) bool {
	query := fmt.Sprintf("ticks=%d&interval_ms=%d", probeTicks, probeInterval.Milliseconds())
	const must = (probeTicks - 1) * probeInterval
	v, err := d.watchTwice(ctx, query, must)
	switch {
	case err != nil:
		d.addFinding(Finding{"stream", Problem, "no reply to GET /diag/sse: " + d.reasonText(err),
			"Something waits for the end of a reply before it sends its beginning, or refuses streams.", dontBuffer()})
		return false
	case !v.isStream():
		d.addFinding(notAStream(v.resp))
		return false
	}
	d.checkHeaders(v)
	d.checkHops(v)
	if !v.done {
		d.addFinding(d.cutFinding("stream", v))
		return len(v.ticks) > 0
	}
	d.addFinding(d.paceFinding(ctx, v))
	return true
}

// reasonText writes an error for a person.
func (d *examination) reasonText(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "nothing came for " + formatTime(d.cfg.Timeout) + " longer than it should"
	}
	return err.Error()
}

// notAStream is the finding of a reply to GET /diag/sse that is not a stream: from the
// gateway itself, if it has its header, or from something on the way.
func notAStream(resp *http.Response) Finding {
	f := strangerFinding("stream", resp)
	if resp.Header.Get("X-Request-ID") == "" {
		return f
	}
	switch resp.StatusCode { // the gateway itself, or a proxy that sets this header
	case http.StatusServiceUnavailable:
		f.Means, f.Change = "The gateway refuses probes now: it is full, or it stops.", []string{"Ask again"}
	case http.StatusForbidden:
		f.Means, f.Change = "The gateway is not to serve the name that it was asked under, or takes this for a foreign page.",
			[]string{"Name the host in SLUICE_HOSTS", "Ask without Origin, Sec-Fetch-* and a browser's User-Agent"}
	case http.StatusNotFound:
		f.Means, f.Change = "The gateway does not know GET /diag/sse.", []string{"Update it"}
	case http.StatusOK:
		f.Means, f.Change = "The content type was changed: no EventSource takes this.", []string{"Do not touch Content-Type: text/event-stream"}
	}
	return f
}

// cutFinding returns the finding of a stream that ended too early.
func (d *examination) cutFinding(check string, v *viewing) Finding {
	after := fmt.Sprintf("cut after %s, %s into the stream: ", formatCount(len(v.ticks), "tick"), formatTime(v.elapsed))
	f := Finding{Check: check, Verdict: Problem, Change: []string{
		"nginx: proxy_read_timeout 60s; proxy_http_version 1.1;", "HAProxy: timeout server 60s, timeout client 60s",
		"Load balancers and CDNs: raise the limit on a whole reply, where there is one besides the idle limit",
	}}
	switch {
	case v.err == io.EOF:
		f.Seen = after + "it ended as if it were whole"
		f.Means = "Something cuts streams and hides it: clients notice it by the missing done event alone."
	case errors.Is(v.err, context.DeadlineExceeded):
		f.Seen = fmt.Sprintf("stuck after %s: %s", formatCount(len(v.ticks), "tick"), d.reasonText(v.err))
		f.Means, f.Change = "Something holds the rest of the stream back.", dontBuffer()
	default:
		f.Seen = after + v.err.Error()
		f.Means = "Something cuts or changes streams."
	}
	return f
}

// paceFinding judges the times of a whole stream.
func (d *examination) paceFinding(ctx context.Context, v *viewing) Finding {
	t := v.measureTiming(d.trip)
	switch {
	case t.largest >= 3:
		f := Finding{Check: "stream", Verdict: Problem, Change: dontBuffer(),
			Seen:  fmt.Sprintf("buffered: %s sent %s apart came in %s, up to %s late%s", formatCount(len(v.ticks), "tick"), formatTime(probeInterval), formatCount(t.pieces, "piece"), formatTime(t.held), d.bufferSize(ctx)),
			Means: "Clients see nothing for a while, then much at once."}
		if v.isCompressed() {
			f.Means += " The compression may hold it back."
		}
		return f
	case !t.isLive():
		return Finding{"stream", Problem, fmt.Sprintf("delayed: ticks came up to %s late", formatTime(t.delay+t.held)),
			"Something on the way collects small writes, or is very busy.", dontBuffer()}
	}
	return Finding{Check: "stream", Verdict: Good, Seen: fmt.Sprintf("live: %s sent %s apart came one by one, at most %s late",
		formatCount(len(v.ticks), "tick"), formatTime(probeInterval), formatTime(t.delay+t.held))}
}

// bufferSize finds out whether a buffer lets go when it is full.
func (d *examination) bufferSize(ctx context.Context) string {
	v, err := d.watchTicks(ctx, fmt.Sprintf("ticks=%d&interval_ms=%d&padding=%d", probeTicks, probeInterval.Milliseconds(), probePadding), (probeTicks-1)*probeInterval)
	if err != nil || !v.done {
		return ""
	}
	if largest := v.measureTiming(d.trip).largest; largest < probeTicks {
		return fmt.Sprintf("; what holds them back lets go after at most %d KiB", largest*probePadding>>10)
	}
	return fmt.Sprintf("; %d KiB are held back to the end as well", probeTicks*probePadding>>10)
}

// checkHeaders checks that the headers of a stream arrived unchanged.
func (d *examination) checkHeaders(v *viewing) {
	h := v.resp.Header
	cache := h.Get("Cache-Control")
	said := len(d.findings)
	if h.Get("Age") != "" && h.Get("Age") != "0" {
		d.addFinding(Finding{"headers", Problem, "Age: " + h.Get("Age"), "A cache has answered, and not the gateway.", []string{"Do not cache text/event-stream"}})
	}
	if enc := h.Get("Content-Encoding"); enc != "" {
		d.addFinding(Finding{"headers", Notice, "Content-Encoding: " + enc, "The stream is compressed on the way, against Cache-Control: no-transform. Compressors may hold small events back.",
			[]string{"nginx: no text/event-stream in gzip_types", "HAProxy: no text/event-stream in compression type", "CDN: switch compression off for this path"}})
	}
	if cache != "no-cache, no-transform" {
		d.addFinding(Finding{"headers", Notice, fmt.Sprintf("Cache-Control is %q; %q was sent", cache, "no-cache, no-transform"),
			"Caches and compressors behind that place do not know to leave the stream alone.", []string{"Pass Cache-Control on unchanged"}})
	}
	if h.Get("X-Request-ID") == "" {
		d.addFinding(Finding{"headers", Notice, "X-Request-ID is missing", "A fault report cannot be matched with the gateway's log.", []string{"Pass X-Request-ID on"}})
	}
	if n := len(v.comments.at); n > 0 && v.elapsed < 10*time.Second {
		d.addFinding(Finding{"headers", Notice, formatCount(n, "comment") + " that the gateway did not send",
			"Something adds heartbeats of its own, or the gateway's are set very short.", nil})
	}
	if len(d.findings) == said {
		seen := "as they were sent"
		if h.Get("X-Accel-Buffering") == "" {
			seen += ", but for X-Accel-Buffering, which nginx keeps to itself"
		}
		d.addGood("headers", "%s", seen)
	}
}

// checkHops judges the protocols of the two ends.
func (d *examination) checkHops(v *viewing) {
	h1 := v.resp.ProtoMajor == 1
	unframed := h1 && v.resp.ContentLength < 0 && !slices.Contains(v.resp.TransferEncoding, "chunked")
	old := len(v.ticks) > 0 && v.ticks[0].Protocol == "HTTP/1.0"
	if !unframed && !old {
		return
	}
	f := Finding{Check: "protocol", Verdict: Problem, Seen: "the gateway was asked in HTTP/1.0",
		Means:  "The end of such a connection means the end of the reply: a stream that breaks off looks finished, but for the missing done event.",
		Change: []string{`nginx: proxy_http_version 1.1; proxy_set_header Connection "";`}}
	if !old {
		f.Seen = "the stream comes without chunks"
	}
	d.addFinding(f)
}

// dontBuffer returns the settings that stop proxies from holding events back, a line for each kind.
func dontBuffer() []string {
	return []string{
		"nginx: proxy_buffering off; gzip off; and do not ignore X-Accel-Buffering",
		"HAProxy: option http-no-delay, and no compression of text/event-stream",
		"CDN: no caching, compression or other optimisation for text/event-stream",
	}
}
