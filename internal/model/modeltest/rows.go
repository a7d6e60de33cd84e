// A protocol brings its words for a text, an end and an error (Protocol); the
// suite brings a service of its own, in fake time and without a network, and
// one table of everything that a service may do. A new provider is held against
// it by one call in its tests.
package modeltest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/breaker"
	"sluice/internal/base/fault"
	"sluice/internal/model"
)

// goodRows are answers that come, if need be later.
func (p Protocol) goodRows() []row {
	rows := []row{{name: "complete", replies: []Reply{p.goodReply()}, requests: 1}}
	for name, once := range map[string]Reply{
		"refused": {Refused: ErrBroken}, "broken": {End: ErrBroken}, "empty": {}, "500": {Status: 500}, "501": {Status: 501},
		"520": {Status: 520}, "524": {Status: 524}, "529": {Status: 529}, "408": {Status: 408},
	} {
		rows = append(rows, row{name: "once " + name, replies: []Reply{once, p.goodReply()}, requests: 2})
	}
	var bytes []string
	for _, b := range []byte(p.Open + p.Text("hello") + p.Finish) {
		bytes = append(bytes, string(b))
	}
	rows = append(rows,
		row{name: "byte by byte", replies: []Reply{{Pieces: bytes}}, requests: 1},
		row{name: "comments between", replies: []Reply{{Pieces: []string{": hello\n\n", p.Open, ": ping\n\n", p.Text("hello"), ":\n\n", p.Finish}}}, requests: 1},
		row{name: "text/plain", replies: []Reply{{Header: map[string]string{"Content-Type": "text/plain"}, Pieces: p.goodReply().Pieces}}, requests: 1},
		row{name: "CRLF", replies: []Reply{{Pieces: []string{strings.ReplaceAll(strings.ReplaceAll(p.Open+p.Text("hello")+p.Finish, "\r\n", "\n"), "\n", "\r\n")}}}, requests: 1},
	)
	for i := range rows {
		rows[i].text, rows[i].verdict = "hello", success
	}
	return rows
}

// refusalRows are statuses.
func (p Protocol) refusalRows() (rows []row) {
	for _, code := range []int{408, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529} {
		rows = append(rows, row{name: fmt.Sprint(code), replies: []Reply{{Status: code}}, want: fault.ModelUnavailable, verdict: failure, requests: 1 + retries})
	}
	for _, code := range []int{400, 409, 413, 422, 401, 402, 403, 404} {
		rows = append(rows, row{name: fmt.Sprint(code), replies: []Reply{{Status: code}}, want: fault.ModelError, verdict: neither, requests: 1})
	}
	for _, code := range []int{301, 302, 303, 307, 308} {
		reply := Reply{Status: code, Header: map[string]string{"Location": "https://elsewhere.test/"}}
		rows = append(rows, row{name: fmt.Sprint(code), replies: []Reply{reply}, want: fault.ModelError, verdict: failure, requests: 1})
	}
	return append(rows,
		row{name: "nobody listens", replies: []Reply{{Refused: ErrBroken}}, want: fault.ModelUnavailable, verdict: failure, requests: 1 + retries},
		row{name: "500 with HTML", replies: []Reply{{Status: 500, Pieces: []string{"<html>down</html>"}}}, want: fault.ModelUnavailable, verdict: failure, requests: 1 + retries},
		row{name: "400 whose body hangs", replies: []Reply{{Status: 400, Pieces: []string{`{"error":`}, End: ErrHang}}, want: fault.ModelError, verdict: neither, requests: 1, elapsed: first, exact: true},
	)
}

// waitRows are refusals that say when to come again. The longest that is reported counts.
func (p Protocol) waitRows() []row {
	after := func(status int, header map[string]string, message string) Reply {
		r := Reply{Status: status, Header: header}
		if message != "" {
			r.Pieces = []string{p.Error(kindOf(status), message)}
		}
		return r
	}
	again := func(name string, reply Reply, elapsed time.Duration) row {
		return row{name: name, replies: []Reply{reply, p.goodReply()}, text: "hello", verdict: success, requests: 2, elapsed: elapsed}
	}
	limited := func(name string, reply Reply, wait time.Duration) row {
		return row{name: name, replies: []Reply{reply}, want: fault.ModelRateLimited, verdict: neither, requests: 1, wait: wait}
	}
	ended := func(name string, reply Reply, wait time.Duration) row {
		return row{name: name, replies: []Reply{reply}, want: fault.ModelUnavailable, verdict: failure, requests: 1, wait: wait}
	}
	type h = map[string]string
	return []row{
		limited("429 without a wait", after(429, nil, ""), 5*time.Second),
		limited("429, long", after(429, h{"Retry-After": "20"}, ""), 20*time.Second),
		limited("429, long by its message", after(429, h{"Retry-After": "1"}, "Please try again in 6.2s."), 6200*time.Millisecond),
		again("429, one second", after(429, h{"Retry-After": "1"}, ""), time.Second),
		again("429, milliseconds", after(429, h{"Retry-After-Ms": "1500", "Retry-After": "1"}, ""), 1500*time.Millisecond),
		again("429, by its message", after(429, nil, "Please try again in 644ms. Visit our site"), 644*time.Millisecond),
		again("503, two seconds", after(503, h{"Retry-After": "2"}, ""), 2*time.Second),
		ended("503, long", after(503, h{"Retry-After": "3"}, ""), 3*time.Second),
		ended("503 that is not to be retried", after(503, h{"X-Should-Retry": "false"}, ""), 5*time.Second),
		limited("429 that is not to be retried", after(429, h{"X-Should-Retry": "false", "Retry-After": "1"}, ""), time.Second),
	}
}

// kindOf returns the kind of an error within a stream, where the status is missing.
func kindOf(status int) model.Kind {
	if status == 429 {
		return model.KindRateLimited
	}
	return model.KindServer
}

// kindRows are refusals whose body says more than the status, and errors in the stream.
func (p Protocol) kindRows() (rows []row) {
	statusOf := map[model.Kind]int{model.KindQuota: 429}
	for _, k := range []struct {
		name    string
		kind    model.Kind
		want    fault.Type
		verdict breaker.Verdict
	}{
		{"quota", model.KindQuota, fault.ModelError, neither},
		{"blocked", model.KindBlocked, fault.ModelBlocked, neither},
		{"overflow", model.KindOverflow, fault.ModelError, neither},
		{"malformed call", model.KindMalformed, fault.ModelError, neither},
		{"rate limited", model.KindRateLimited, fault.ModelRateLimited, neither},
		{"misconfigured", model.KindMisconfigured, fault.ModelError, neither},
		{"server", model.KindServer, fault.ModelUnavailable, failure},
	} {
		status := max(statusOf[k.kind], 400)
		if body := p.Error(k.kind, "no"); body != "" && k.kind != model.KindRateLimited && k.kind != model.KindServer {
			rows = append(rows, row{name: k.name, replies: []Reply{{Status: status, Pieces: []string{body}}}, want: k.want, verdict: k.verdict, requests: 1})
		}
		if event := p.ErrorEvent(k.kind, "no"); event != "" {
			rows = append(rows, row{name: k.name + " in the stream", replies: []Reply{{Pieces: []string{p.Open, p.Text("hello"), event}}}, text: "hello", want: k.want, verdict: k.verdict, requests: 1})
		}
	}
	if event := p.ErrorEvent(model.KindServer, "busy"); event != "" {
		rows = append(rows, row{name: "server, first in the stream", replies: []Reply{{Pieces: []string{event}}}, want: fault.ModelUnavailable, verdict: failure, requests: 1 + retries})
	}
	return rows
}

// streamRows are answers that begin and then turn out to be unusable.
func (p Protocol) streamRows() []row {
	down := func(name string, text string, reply Reply) row {
		return row{name: name, replies: []Reply{reply}, text: text, want: fault.ModelUnavailable, verdict: failure, requests: 1}
	}
	begun := func(more ...string) []string { return append([]string{p.Open, p.Text("hello")}, more...) }
	odd := func(name string, text string, reply Reply) row {
		r := down(name, text, reply)
		r.verdict = neither // it came, whatever it is
		return r
	}
	empty := down("empty, every time", "", Reply{})
	html := down("HTML, every time", "", Reply{Header: map[string]string{"Content-Type": "text/html"}, Pieces: []string{"<html>\n<body>hello</body>\n"}})
	broken := down("broken before the first part, every time", "", Reply{End: ErrBroken})
	empty.requests, html.requests, broken.requests = 1+retries, 1+retries, 1+retries
	nothing := odd("nothing but an end, every time", "", Reply{Pieces: []string{p.Open, p.Finish}})
	nothing.requests = 2
	once := row{name: "nothing but an end, once", replies: []Reply{nothing.replies[0], p.goodReply()}, text: "hello", verdict: success, requests: 2}
	return []row{
		empty, html, broken, nothing, once,
		down("cut", "hello", Reply{Pieces: begun()}),
		down("cut within an event", "hello", Reply{Pieces: begun(strings.TrimRight(p.Text("more"), "\n")[:len(p.Text("more"))/2])}),
		down("broken", "hello", Reply{Pieces: begun(), End: ErrBroken}),
		odd("unreadable", "hello", Reply{Pieces: begun(p.Unreadable)}),
		odd("huge event", "hello", Reply{Pieces: begun("data: "+strings.Repeat("x", 2<<20), "\n\n")}),
		odd("huge event of many lines", "hello", Reply{Pieces: begun(strings.Repeat("data: 0123456789abcdef\n", 1<<16), "\n")}),
		odd("line without an end", "hello", Reply{Pieces: begun(strings.Repeat("x", 3<<20))}),
		odd("compressed", "", Reply{Header: map[string]string{"Content-Encoding": "gzip"}, Pieces: []string{"\x1f\x8b\x08\x00"}}),
		odd("another JSON document", "", Reply{Header: map[string]string{"Content-Type": "application/json"}, Pieces: []string{`{"hello":1}`}}),
		odd("answer without end", strings.Repeat(strings.Repeat("x", 64<<10), 32), Reply{Pieces: []string{p.Open, strings.Repeat(p.Text(strings.Repeat("x", 64<<10)), 40)}}),
	}
}

// finishWordRows are words for the end of an answer. The breaker counts none of them as a failure,
// and no call runs after a bad one: an earlier call is dropped.
func (p Protocol) finishWordRows() (rows []row) {
	if p.End == nil {
		return nil
	}
	for _, e := range []struct {
		words []string
		want  fault.Type
		empty int // requests if nothing came before the end
	}{
		{[]string{"error", "ERROR", "network_error", "abort", "cancelled_by_host", "engine_failure", "timeout: 30s"}, fault.ModelUnavailable, 2},
		{[]string{"content_filter", "content_filter: PROHIBITED_CONTENT", "refusal", "unsafe_filtered", "safety", "sensitive"}, fault.ModelBlocked, 1},
		{[]string{"function_call_filter: MALFORMED_FUNCTION_CALL", "malformed_function_call"}, fault.ModelError, 1},
		{[]string{"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded", "token_window"}, "", 1},
	} {
		for _, word := range e.words {
			verdict := neither
			if e.want == "" {
				verdict = success
			}
			behind := e.empty
			if p.CallsAtOnce {
				behind = 1 // a call was shown
			}
			rows = append(rows,
				row{name: "end " + word, replies: []Reply{{Pieces: []string{p.Open, p.Text("hello"), p.End(word)}}}, text: "hello", want: e.want, verdict: verdict, requests: 1},
				row{name: "end at once " + word, replies: []Reply{{Pieces: []string{p.Open, p.End(word)}}}, want: e.want, verdict: verdict, requests: e.empty},
				row{name: "end behind a call " + word, replies: []Reply{{Pieces: []string{p.Open, p.Call, p.End(word)}}}, want: e.want, verdict: verdict, requests: behind, called: e.want == ""})
		}
	}
	return rows
}

// silenceRows are answers that keep one waiting. Only what carries a part of the answer
// is a sign of life.
func (p Protocol) silenceRows() []row {
	silent := func(name, text string, elapsed time.Duration, reply Reply) row {
		return row{name: name, replies: []Reply{reply}, text: text, want: fault.Timeout, verdict: failure, requests: 1, elapsed: elapsed, exact: true}
	}
	rows := []row{
		silent("silent", "", first, Reply{End: ErrHang}),
		silent("silent after text", "hello", idle, Reply{Pieces: []string{p.Open, p.Text("hello")}, End: ErrHang}),
		silent("dribbling bytes", "", first, Reply{Pieces: strings.Split(strings.Repeat("d", 100), ""), Pause: time.Second, End: ErrHang}),
	}
	for i, event := range p.Idle {
		pieces := append([]string{p.Open}, slices.Repeat([]string{event}, 100)...)
		rows = append(rows, silent(fmt.Sprint("empty event ", i), "", first, Reply{Pieces: pieces, Pause: time.Second, End: ErrHang}))
	}
	slow := Reply{Pause: 9 * time.Second}
	for _, c := range "hello" {
		slow.Pieces = append(slow.Pieces, p.Text(string(c)))
	}
	slow.Pieces[0] = p.Open + slow.Pieces[0]
	slow.Pieces = append(slow.Pieces, p.Finish)
	return append(rows, row{name: "slow", replies: []Reply{slow}, text: "hello", verdict: success, requests: 1, elapsed: 54 * time.Second, exact: true})
}

// pingRows are answers of a service that says that it lives. A ping delays the timeout for the
// first part, but no other timeout.
func (p Protocol) pingRows() (rows []row) {
	for i, ping := range append(p.Pings, ": ping\n\n") {
		pings := slices.Repeat([]string{ping}, 100)
		name := fmt.Sprint("ping ", i, " ")
		rows = append(rows,
			row{name: name + "before an answer", replies: []Reply{{Pieces: append(append([]string{p.Open}, pings...), p.Text("hello"), p.Finish), Pause: time.Second}},
				text: "hello", verdict: success, requests: 1, elapsed: 103 * time.Second, exact: true},
			row{name: name + "and nothing else", replies: []Reply{{Pieces: append([]string{p.Open}, pings...), Pause: time.Second, End: ErrHang}},
				want: fault.Timeout, verdict: failure, requests: 1, elapsed: 101*time.Second + first, exact: true},
			row{name: name + "behind text", replies: []Reply{{Pieces: append([]string{p.Open, p.Text("hello")}, pings...), Pause: 900 * time.Millisecond}},
				text: "hello", want: fault.Timeout, verdict: failure, requests: 1, elapsed: 1800*time.Millisecond + idle, exact: true})
	}
	return rows
}

// endingRows are answers whose end was reported. The model waits a moment for later events, and
// does not miss them.
func (p Protocol) endingRows() []row {
	if p.FinishEvents == "" {
		return nil
	}
	wrap := func(name string, elapsed time.Duration, end error, more ...string) row {
		reply := Reply{Pieces: append([]string{p.Open, p.Text("hello"), p.FinishEvents}, more...), End: end}
		if len(more) > 0 {
			reply.Pause = time.Second
			elapsed += 3 * time.Second
		}
		return row{name: "end told, then " + name, replies: []Reply{reply}, text: "hello", verdict: success, requests: 1, elapsed: elapsed, exact: true}
	}
	failed := wrap("an error", time.Second, nil, p.ErrorEvent(model.KindServer, "busy"))
	failed.want, failed.verdict = fault.ModelUnavailable, failure
	return []row{
		wrap("silence", 2*time.Second, ErrHang),
		wrap("a break", 0, ErrBroken),
		wrap("the end of the connection", 0, nil),
		wrap("pings", 2*time.Second, ErrHang, slices.Repeat([]string{": ping\n\n"}, 100)...),
		failed,
	}
}
