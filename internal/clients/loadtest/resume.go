// This file continues to read a stream that broke off: a gateway that is killed or deployed leaves
// its turns to another one.

package loadtest

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// idGap is the step for the event numbers of each gateway that continues a turn.
const idGap = 1_000_000

// mostWait is the longest wait before a stream is asked for again.
const mostWait = time.Second

// canResume reports whether the remaining events can be requested: the stream broke off, and the
// turn is stored.
func (o outcome) canResume(a *audit) bool {
	return o.class == broken && (o.cause == cutOff || o.cause == endedEarly) && strings.HasPrefix(string(a.prefix), "turn_")
}

// resumeStream reads a stream on until it is over, or cannot be read on: o is how it ended so far.
func (w *watch) resumeStream(ctx context.Context, rd *reading, o outcome) outcome {
	began, wait := false, breather
	for o.canResume(&rd.audit) && ctx.Err() == nil {
		before := rd.audit.last
		resp, err := w.transport.RoundTrip(w.requests.resumeRequest(ctx, &rd.audit))
		switch {
		case err != nil: // no gateway is there: another one may be soon
		case resp.StatusCode == http.StatusOK:
			began = true
			rd.audit.onward = true
			rd.frames.beginBody(resp.Body, func(n int) { w.tally.bytes.Add(int64(n)) })
			o = w.followStream(ctx, rd)
			_ = resp.Body.Close()
		default:
			_ = resp.Body.Close()
			if resp.StatusCode < http.StatusInternalServerError && resp.StatusCode != http.StatusTooManyRequests {
				return o
			}
		}
		if !o.canResume(&rd.audit) {
			break
		}
		if wait = min(2*wait, mostWait); rd.audit.last != before {
			wait = breather
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	if began {
		w.tally.resumed.Add(1)
	}
	if rd.audit.gaps > 0 {
		w.tally.takenOver.Add(1)
	}
	if o.canResume(&rd.audit) && ctx.Err() != nil {
		return w.lostOutcome(ctx, ctx.Err(), cutOff)
	}
	return o
}

// resumeRequest makes the request for the events behind the last one of a stream.
func (q *requests) resumeRequest(ctx context.Context, a *audit) *http.Request {
	u := *q.urls[0]
	u.RawQuery = url.Values{"accumulated": {strconv.FormatBool(a.accumulated)}}.Encode()
	header := q.header.Clone()
	header.Del("Content-Type")
	header.Set("Last-Event-ID", string(a.prefix)+strconv.Itoa(a.last))
	req := &http.Request{Method: http.MethodGet, URL: &u, Host: q.host, Header: header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	return req.WithContext(ctx)
}
