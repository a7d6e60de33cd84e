package loadtest

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// framesOf reads a body to its end, and writes each event as its three fields.
func framesOf(src io.Reader) (all []string, rest bool, err error) {
	var f frames
	f.beginBody(src, func(int) {})
	for {
		fr, err := f.nextFrame()
		if err != nil {
			return all, f.hasRest(), err
		}
		all = append(all, fmt.Sprintf("%s|%s|%s|%t", fr.id, fr.event, fr.data, fr.retry))
	}
}

// An event is a line each of id, event and data, however its bytes come; nothing else is one,
// though a browser would read it.
func TestFrames(t *testing.T) {
	t.Parallel()
	for body, tt := range map[string]struct {
		want []string
		err  error
		rest bool
	}{
		"":                              {nil, io.EOF, false},
		"id: 1\nevent: a\ndata: {}\n\n": {[]string{"1|a|{}|false"}, io.EOF, false},
		"retry: 5\nid: 1\nevent: a\ndata: {}\n\n":                            {[]string{"1|a|{}|true"}, io.EOF, false},
		"id: 1\nevent: a\ndata: 1\n\nid: 2\nevent: b\ndata: 2\n\n":           {[]string{"1|a|1|false", "2|b|2|false"}, io.EOF, false},
		": ping\n\n: a\n: b\n\nid: 1\nevent: a\ndata: \n\n":                  {[]string{"1|a||false"}, io.EOF, false},
		"id: 1\n: in between\nevent: a\n: again\ndata: x: y\n\n":             {[]string{"1|a|x: y|false"}, io.EOF, false},
		"id: 1\nevent: a\ndata: {}\n\nid: 2\nevent":                          {[]string{"1|a|{}|false"}, io.EOF, true},
		"id: 1\nevent: a\ndata: {}\n":                                        {nil, io.EOF, true},
		": ping":                                                             {nil, io.EOF, true},
		"\n\n\n\n":                                                           {nil, io.EOF, false},
		"event: a\ndata: {}\n\n":                                             {nil, errFraming, false},
		"id: 1\ndata: {}\nevent: a\n\n":                                      {nil, errFraming, false},
		"id: 1\nevent: a\n\n":                                                {nil, errFraming, false},
		"id: 1\nevent: a\ndata: {}\ndata: {}\n\n":                            {nil, errFraming, false},
		"id:1\nevent: a\ndata: {}\n\n":                                       {nil, errFraming, false},
		"id: 1\r\nevent: a\r\ndata: {}\r\n\r\n":                              {nil, io.EOF, true},
		"retry: 1\nretry: 2\nid: 1\nevent: a\ndata: {}\n\n":                  {nil, errFraming, false},
		"id: 1\nretry: 1\nevent: a\ndata: {}\n\n":                            {nil, errFraming, false},
		"retry: 1\n\n":                                                       {nil, errFraming, false},
		"id: 1\nevent: a\ndata: {}\n\nx: 1\n\nid: 2\nevent: a\ndata: {}\n\n": {[]string{"1|a|{}|false"}, errFraming, true},
	} {
		for how, src := range map[string]io.Reader{
			"at once": strings.NewReader(body), "byte by byte": iotest.OneByteReader(strings.NewReader(body)),
			"by halves": iotest.HalfReader(strings.NewReader(body)), "with its end": iotest.DataErrReader(strings.NewReader(body)),
		} {
			got, rest, err := framesOf(src)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != tt.err || how == "at once" && rest != tt.rest {
				t.Errorf("%q, %s: %v, rest %t (-want +got):\n%s", body, how, err, rest, diff)
			}
		}
	}
	broken := errors.New("broken")
	if got, _, err := framesOf(io.MultiReader(strings.NewReader("id: 1\nevent: a\ndata: 1\n\n"), iotest.ErrReader(broken))); len(got) != 1 || err != broken {
		t.Errorf("before a connection that broke: %v, %v", got, err)
	}
}

// All bytes of a body are counted, and a reader that is used again begins with an empty buffer.
func TestFramesAreCounted(t *testing.T) {
	t.Parallel()
	var f frames
	for _, body := range []string{"id: 1\nevent: a\ndata: 1\n\nloose", good(), ": " + strings.Repeat("x", 3*firstBuffer) + "\n\n"} {
		total := 0
		f.beginBody(strings.NewReader(body), func(n int) { total += n })
		var err error
		for err == nil {
			var fr frame
			if fr, err = f.nextFrame(); err == nil && (fr.arrived.IsZero() || strings.Contains(string(fr.id), "loose")) {
				t.Errorf("%.20q: an event of another body, or no time: %+v", body, fr)
			}
		}
		if total != len(body) || err != io.EOF {
			t.Errorf("%.20q: %d bytes of %d, %v", body, total, len(body), err)
		}
	}
}

// audited is what an audit says of a stream: the first breach, or none.
func audited(accumulated bool, stream string) (*audit, error) {
	a := new(audit)
	a.beginStream("req_1", accumulated)
	var f frames
	f.beginBody(strings.NewReader(stream), func(int) {})
	for {
		fr, err := f.nextFrame()
		if err == io.EOF {
			return a, nil
		}
		if err == nil {
			err = a.checkEvent(fr)
		}
		if err != nil {
			return a, err
		}
	}
}

// What a turn came to is kept: its end, its reason, and why it failed.
func TestAuditKeepsTheEnd(t *testing.T) {
	t.Parallel()
	start := event(1, "start", startData)
	fail := func(members string) string { return event(2, "error", members) }
	end := func(n int, members string) string { return event(n, "done", `"final_output":"",`+members) }
	for name, tt := range map[string]struct {
		stream, want string
		err          error
	}{
		"success":                  {start + end(2, `"success":true,"finish_reason":"stop"`), "done true stop ", nil},
		"not at its end":           {start, "open false  ", nil},
		"failed":                   {start + fail(`"error_type":"timeout","fatal":true`) + end(3, `"success":false,"finish_reason":"error"`), "done false error timeout", nil},
		"failed, in another order": {start + fail(`"fatal":true,"error_type":"timeout"`) + end(3, `"finish_reason":"error","success":false`), "done false error timeout", nil},
		"not fatal":                {start + fail(`"error_type":"timeout","fatal":false`) + end(3, `"success":true,"finish_reason":"stop"`), "done true stop ", nil},
		"cancelled":                {start + end(2, `"success":false,"finish_reason":"cancelled"`), "done false cancelled ", nil},
		"an odd reason":            {start + end(2, `"success":true,"finish_reason":"Stop!"`), "done true other ", nil},
		"no reason":                {start + end(2, `"success":true`), "done true  ", badDone},
		"success is a text":        {start + end(2, `"success":"true","finish_reason":"stop"`), "done false stop ", failedSilently},
		"a turn that has no name":  {event(1, "start", `"turn_id":""`), "open false  ", badStart},
		"a name that is no text":   {event(1, "start", `"turn_id":7`), "open false  ", badStart},
		"no JSON in the start":     {event(1, "start", `"a":`), "open false  ", badJSON},
		"no JSON in the error":     {start + fail(`"fatal":tru`), "open false  ", badJSON},
		"ids of the turn":          {event(1, "start", `"turn_id":"req_1"`) + event(2, "model", `"model":"m"`), "open false  ", nil},
		"done and done again":      {start + end(2, `"success":true,"finish_reason":"stop"`) + end(3, `"success":true,"finish_reason":"stop"`), "done true stop ", secondDone},
		"something after done":     {start + end(2, `"success":true,"finish_reason":"stop"`) + event(3, "model", `"model":"m"`), "done true stop ", eventAfterDone},
		"another event than done":  {start + fail(`"error_type":"timeout","fatal":true`) + event(3, "model", `"model":"m"`), "open false  timeout", errorWithoutEnd},
		"a text without its end":   {start + event(2, "response_delta", `"delta":"a"`), "open false  ", nil},
		"text taken back":          {start + event(2, "response_delta", `"delta":"ab"`) + event(3, "response_reset", `"accumulated":"a","reason":"fallback"`) + event(4, "response_delta", `"delta":"c"`) + event(5, "done", `"final_output":"ac","success":true,"finish_reason":"stop"`), "done true stop ", nil},
		"all of it":                {start + event(2, "response_delta", `"delta":"ab"`) + event(3, "response_reset", `"accumulated":"","reason":"fallback"`) + end(4, `"success":true,"finish_reason":"stop"`), "done true stop ", nil},
		"not taken back":           {start + event(2, "response_delta", `"delta":"ab"`) + event(3, "response_reset", `"accumulated":"","reason":"fallback"`) + event(4, "done", `"final_output":"ab","success":true,"finish_reason":"stop"`), "done true stop ", badFinalOutput},
		"taken back to nothing":    {start + event(2, "response_delta", `"delta":"ab"`) + event(3, "response_reset", `"reason":"fallback"`), "open false  ", badAccumulated},
		"delta behind the text":    {start + event(2, "response_delta", `"accumulated":"a","delta":"a"`), "open false  ", badAccumulated},
	} {
		a, err := audited(false, tt.stream)
		got := fmt.Sprintf("%s %t %s %s", map[bool]string{true: "done", false: "open"}[a.done], a.success, a.reason, a.fatal)
		if got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: got %q, %v, want %q, %v", name, got, err, tt.want, tt.err)
		}
	}
}

// An audit that is used again knows nothing of the stream before.
func TestAuditBeginsAgain(t *testing.T) {
	t.Parallel()
	a, err := audited(false, good())
	if err != nil || !a.done || string(a.requestID()) != "req_1" {
		t.Fatalf("%v, done %t", err, a.done)
	}
	a.beginStream("req_22", true)
	if a.done || a.success || a.reason != "" || a.fatal != "" || a.events != 0 || string(a.requestID()) != "req_22" || string(a.prefix) != "req_22:" || !a.accumulated || !a.text.equalsText([]byte(`""`)) {
		t.Errorf("after reset: %+v", a)
	}
}

// A word of others becomes a key of the report only if it is short and plain.
func TestWords(t *testing.T) {
	t.Parallel()
	for quoted, want := range map[string]string{
		`"stop"`: "stop", `"a_1"`: "a_1", `"z"`: "z", `"\u0061"`: "a", `"` + strings.Repeat("a", 40) + `"`: strings.Repeat("a", 40), `"` + strings.Repeat("a", 41) + `"`: "other",
		`""`: "other", `"1a"`: "other", `"_a"`: "other", `"aB"`: "other", `"a b"`: "other", `"a-b"`: "other", `"é"`: "other", `7`: "other", `null`: "other", `{}`: "other",
	} {
		if got := new(audit).wordOf([]byte(quoted)); got != want {
			t.Errorf("%s is %q, want %q", quoted, got, want)
		}
	}
}

// A reader's error is a breach, or one of the connection.
func TestBreachOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want breach
		ok   bool
	}{
		{errFraming, badFraming, true}, {fmt.Errorf("x: %w", errTooLong), badFraming, true}, {fmt.Errorf("x: %w", badID), badID, true},
		{io.EOF, "", false}, {io.ErrUnexpectedEOF, "", false}, {errors.New("id"), "", false},
	} {
		if got, ok := breachOf(tt.err); got != tt.want || ok != tt.ok {
			t.Errorf("%v: got %q, %t", tt.err, got, ok)
		}
	}
}

// Each turn is counted once: by its class and cause, and the first that went wrong by name.
func TestTally(t *testing.T) {
	t.Parallel()
	var all tally
	all.started.Store(9)
	all.dropped.Add(2)
	for n, o := range []outcome{{class: done}, {class: leftEarly}, {failed, "timeout"}, {failed, "timeout"}, {refused, "503"}, {broken, cutOff}, {class: interrupted}, {unreconciled, "id"}, {class: done}} {
		id := []byte("req_" + fmt.Sprint(n))
		if o.class == refused {
			id = nil
		}
		all.countEnd(o, n, id)
	}
	want := Streams{
		Started: 9, Done: 2, Failed: 2, Refused: 1, Broken: 1, Unreconciled: 1, LeftEarly: 1, Interrupted: 1, Dropped: 2, FailedBy: map[string]int64{"timeout": 2},
		RefusedBy: map[string]int64{"503": 1}, BrokenBy: map[string]int64{"cut": 1}, UnreconciledBy: map[string]int64{"id": 1},
	}
	if diff := cmp.Diff(want, all.streamCounts()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	examples := []string{"turn 3, req_2: failed: timeout", "turn 4, req_3: failed: timeout", "turn 5: refused: 503", "turn 6, req_5: broken: cut", "turn 8, req_7: unreconciled: id"}
	if diff := cmp.Diff(examples, all.examples); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := all.countWrong(); got != 8 {
		t.Errorf("%d went wrong, want 8 with those dropped", got)
	}
}

// Rates are those between two samples, and what the server used is unknown with its reason.
func TestFiguresBetweenSamples(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := &runner{begin: begin, measureFrom: begin.Add(2 * time.Second)}
	r.tally.started.Store(12)
	r.tally.ended.Store(10)
	r.tally.ends[done].Store(7)
	m := &meter{run: r, pid: 7, name: "sluice", peak: 300}
	m.from = sample{at: begin, ended: 4, events: 100, server: usage{cpu: time.Second, rss: 100}}
	m.to = sample{at: begin.Add(2 * time.Second), ended: 10, events: 700, server: usage{cpu: 4 * time.Second, rss: 200}}
	want := Progress{Elapsed: 2 * time.Second, Warm: true, Open: 2, Ended: 10, Wrong: 3, Turns: 3, Events: 300}
	if diff := cmp.Diff(want, m.progressSince(m.from, m.to)); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	if m.run.measureFrom = begin.Add(2*time.Second + 1); m.progressSince(m.from, m.to).Warm {
		t.Error("it is warm too soon")
	}
	used := Server{PID: 7, Name: "sluice", Cores: 1.5, CPUPerTurn: 500, CPUPerEvent: 5000, RSSStart: 100, RSSPeak: 300, RSSEnd: 200}
	if diff := cmp.Diff(used, m.serverUsage()); diff != "" {
		t.Errorf("server (-want +got):\n%s", diff)
	}
	for _, at := range []*sample{&m.to, &m.from} {
		at.noServer = errGone
		if got := m.serverUsage(); got != (Server{PID: 7, Name: "sluice", Unknown: errGone.Error()}) {
			t.Errorf("of a process that has ended: %+v", got)
		}
		at.noServer = nil
	}
	m.to.ended, m.to.events, m.to.at = m.from.ended, m.from.events, m.from.at
	if got := m.serverUsage(); got.Cores != 0 || got.CPUPerTurn != 0 || got.CPUPerEvent != 0 {
		t.Errorf("of no time and no turns: %+v", got)
	}
}
