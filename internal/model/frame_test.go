package model_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/internal/base/config"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/model"
	"sluice/internal/model/modeltest"
	"sluice/internal/turn/chat"
)

// open makes a model that talks to a service with these replies.
func open(t *testing.T, spec model.Spec, replies ...modeltest.Reply) (*model.Model, *modeltest.Service) {
	t.Helper()
	return openWith(t, spec, model.Options{}, replies...)
}

func openWith(t *testing.T, spec model.Spec, opts model.Options, replies ...modeltest.Reply) (*model.Model, *modeltest.Service) {
	t.Helper()
	s := &modeltest.Service{Replies: replies}
	opts.Transport = s
	spec.Key, spec.First, spec.Idle = "fast", 15*time.Second, 15*time.Second
	m, err := newFake(spec, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m, s
}

func whole(events ...string) modeltest.Reply { return modeltest.Reply{Pieces: append(events, end)} }

func refused(member string) modeltest.Reply {
	body := strings.Replace(fakeError(model.KindRejected, "unknown"), "{", `{"member":"`+member+`",`, 1)
	return modeltest.Reply{Status: 422, Pieces: []string{body}}
}

// One member after the other is left out, up to three; none of it is a retry.
func TestLearnedMembersAreBounded(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	m, s := open(t, model.Spec{}, refused("a"), refused("b"), refused("c"), refused("d"), whole(text("hello")))
	ctx := zerolog.New(&log).WithContext(t.Context())
	if got := modeltest.Ask(ctx, m); got.Err == nil {
		t.Error("a fourth member was left out")
	}
	if got := modeltest.Ask(ctx, m); got.Text != "hello" {
		t.Errorf("told %+v", got)
	}
	if diff := cmp.Diff(model.Omit{"a", "b", "c"}, m.Learned().Omit()); diff != "" {
		t.Errorf("learned (-want +got):\n%s", diff)
	}
	if n := len(s.Requests()); n != 5 {
		t.Errorf("%d requests", n)
	}
	dropped := linesOf(t, log.String(), "model_parameter_dropped")
	if len(dropped) != 3 || dropped[1]["key"] != "fast" || dropped[1]["member"] != "b" {
		t.Errorf("logged %v", dropped)
	}
}

// A refusal of what was not sent, or what the configuration sends itself, teaches nothing.
func TestMembersThatAreNotOurs(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]model.Spec{"not sent": {}, "of extra": {Extra: []byte(`{"z":1}`)}} {
		m, s := open(t, spec, refused("z"))
		if got := modeltest.Ask(t.Context(), m); got.Err == nil || len(s.Requests()) != 1 || len(m.Learned().Omit()) != 0 {
			t.Errorf("%s: %v after %d requests, learned %v", name, got.Err, len(s.Requests()), m.Learned().Omit())
		}
	}
}

// linesOf returns the details of the log's lines of an event.
func linesOf(t *testing.T, log, event string) (list []map[string]any) {
	t.Helper()
	for line := range strings.Lines(log) {
		var l struct {
			Event   string
			Details map[string]any
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Event == event {
			list = append(list, l.Details)
		}
	}
	return list
}

func TestLogOfAConfiguredModel(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	m, _ := open(t, model.Spec{}, whole(event(`{"text":"hello","model":"fake-1-0927"}`)))
	modeltest.Ask(zerolog.New(&log).WithContext(t.Context()), m)
	called, result := linesOf(t, log.String(), "model_called"), linesOf(t, log.String(), "model_result")
	if len(called) != 1 || len(result) != 1 {
		t.Fatalf("logged %s", log.String())
	}
	want := map[string]any{"model": "fake-1", "step": 1.0, "attempt": 1.0, "key": "fast", "provider": "fake", "prompt_length": called[0]["prompt_length"]}
	if diff := cmp.Diff(want, called[0]); diff != "" {
		t.Errorf("called (-want +got):\n%s", diff)
	}
	want = map[string]any{"model": "fake-1", "step": 1.0, "attempt": 1.0, "key": "fast", "provider": "fake", "answered_by": "fake-1-0927",
		"outcome": "ok", "response_length": 5.0, "tokens_used": 7.0, "finish_reason": "stop"}
	if diff := cmp.Diff(want, result[0]); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

func TestMetricsNameTheModel(t *testing.T) {
	t.Parallel()
	count := metrics.New()
	m, _ := openWith(t, model.Spec{}, model.Options{Metrics: count}, whole(text("hello")))
	modeltest.Ask(t.Context(), m)
	families, err := count.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	labels, tokens := map[string]string{}, map[string]float64{}
	for _, f := range families {
		if f.GetName() == "sluice_tokens_total" {
			for _, one := range f.GetMetric() {
				tokens[one.GetLabel()[0].GetValue()+" of "+one.GetLabel()[1].GetValue()] = one.GetCounter().GetValue()
			}
		}
		if f.GetName() == "sluice_model_attempts_total" {
			for _, l := range f.GetMetric()[0].GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
		}
	}
	if !maps.Equal(tokens, map[string]float64{"input of fast": 7, "cached of fast": 0, "output of fast": 0, "thinking of fast": 0, "cache_written of fast": 0}) {
		t.Errorf("tokens %v", tokens)
	}
	if !maps.Equal(labels, map[string]string{"outcome": "ok", "model": "fast"}) {
		t.Errorf("labels %v", labels)
	}
}

// A prompt of which the provider has read a fraction is reported once an hour.
func TestTruncatedPromptsAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		m, _ := open(t, model.Spec{Extra: []byte(`{"pad":"` + strings.Repeat("x", 9<<10) + `"}`)}, whole(text("hello")))
		ctx := zerolog.New(&log).WithContext(t.Context())
		for range 3 {
			modeltest.Ask(ctx, m)
			time.Sleep(25 * time.Minute)
		}
		if n := len(linesOf(t, log.String(), "model_prompt_truncated")); n != 1 {
			t.Errorf("told %d times within an hour", n)
		}
		modeltest.Ask(ctx, m)
		if n := len(linesOf(t, log.String(), "model_prompt_truncated")); n != 2 {
			t.Errorf("told %d times after an hour", n)
		}
	})
}

// Usage that nobody reports is estimated; that of a cut answer is reported all the same.
func TestUsage(t *testing.T) {
	t.Parallel()
	m, s := open(t, model.Spec{}, modeltest.Reply{Pieces: []string{text("hello hello"), event(`{"finish":"stop"}`)}})
	got := modeltest.Ask(t.Context(), m)
	want := chat.Usage{InputTokens: model.Estimate(len(s.Requests()[0].Body)), OutputTokens: 3, Estimated: true}
	if got.Err != nil || got.Usage != want {
		t.Errorf("usage %+v, want %+v (%v)", got.Usage, want, got.Err)
	}
	m, _ = open(t, model.Spec{}, modeltest.Reply{Pieces: []string{text("hello"), event(`{"tokens":9}`)}})
	if outcome := modeltest.Ask(t.Context(), m); outcome.Err == nil || outcome.Usage.InputTokens != 9 {
		t.Errorf("of a cut answer: %+v", outcome)
	}
}

// The pieces of a call show nothing, and yet the answer continues.
func TestPiecesOfACallAreSignsOfLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pieces := slices.Repeat([]string{event(`{"piece":"x"}`)}, 20)
		m, _ := open(t, model.Spec{}, modeltest.Reply{Pieces: append(pieces, end), Pause: 10 * time.Second})
		if got := modeltest.Ask(t.Context(), m); got.Err != nil || got.Elapsed != 210*time.Second {
			t.Errorf("told %+v", got)
		}
	})
}

// An answer in one piece must say that it is JSON.
func TestAnswerInOnePiece(t *testing.T) {
	t.Parallel()
	document := []string{"{\"text\":\"hello\",\n", `"finish":"stop"}`}
	m, _ := open(t, model.Spec{}, modeltest.Reply{Header: map[string]string{"Content-Type": "application/json; charset=utf-8"}, Pieces: document})
	if got := modeltest.Ask(t.Context(), m); got.Err != nil || got.Text != "hello" {
		t.Errorf("told %+v", got)
	}
	m, _ = open(t, model.Spec{}, modeltest.Reply{Pieces: document})
	if got := modeltest.Ask(t.Context(), m); got.Err == nil || got.Text != "" {
		t.Errorf("of an event stream: %+v", got)
	}
	m, _ = open(t, model.Spec{}, modeltest.Reply{Header: map[string]string{"Content-Type": "application/json"}, Pieces: []string{fakeError(model.KindBlocked, "no")}})
	if got := modeltest.Ask(t.Context(), m); got.Err == nil || !strings.Contains(got.Err.Error(), "model_blocked") {
		t.Errorf("an error: %+v", got)
	}
}

// What the protocol ends is not read on, whatever comes or does not come.
func TestNothingIsReadAfterTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, _ := open(t, model.Spec{}, modeltest.Reply{Pieces: []string{text("hello"), event(`{"finish":"over"}`)}, End: modeltest.ErrHang})
		if got := modeltest.Ask(t.Context(), m); got.Err != nil || got.Elapsed != 0 {
			t.Errorf("told %+v", got)
		}
	})
}

func TestErrorAsAField(t *testing.T) {
	t.Parallel()
	m, _ := open(t, model.Spec{}, modeltest.Reply{Pieces: []string{text("hello"), "error: " + fakeError(model.KindBlocked, "no") + "\n\n"}})
	if got := modeltest.Ask(t.Context(), m); got.Err == nil || !strings.Contains(got.Err.Error(), "model_blocked") {
		t.Errorf("told %+v", got)
	}
}

// A malformed call is reported as one, so that the caller asks once more.
func TestMalformedCallIsReported(t *testing.T) {
	t.Parallel()
	m, _ := open(t, model.Spec{}, modeltest.Reply{Status: 400, Pieces: []string{fakeError(model.KindMalformed, "tool_use_failed")}})
	got := modeltest.Ask(t.Context(), m)
	var malformed interface{ MalformedCall() bool }
	if !errors.As(got.Err, &malformed) || !malformed.MalformedCall() {
		t.Errorf("error = %v", got.Err)
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	m, s := open(t, model.Spec{
		APIKey:   "sk-1234567890",
		Headers:  map[string]config.Secret{"authorization": "Basic abc", "X-Team": "blue"},
		Endpoint: "https://fake.test/v1?api-version=2",
	}, whole(text("hello")))
	modeltest.Ask(t.Context(), m)
	r := s.Requests()[0]
	if got := fmt.Sprintln(r.Header["Authorization"], r.Header["X-Team"], r.URL); got != "[Basic abc] [blue] https://fake.test/v1?api-version=2\n" {
		t.Errorf("sent %s", got)
	}
}

func TestKeyThatNoHeaderMayHold(t *testing.T) {
	t.Parallel()
	_, err := newFake(model.Spec{Key: "fast", APIKey: "SECRET\nSECRET", First: 1, Idle: 1}, model.Options{})
	if err == nil || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("error = %v", err)
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ body, patch, want string }{
		{`{"a":1,"b":12345678901234567890}`, `{}`, `{"a":1,"b":12345678901234567890}`},
		{`{"a":1,"b":2}`, `{"a":null,"c":[1,null]}`, `{"b":2,"c":[1,null]}`},
		{`{"a":{"x":1,"y":2}}`, `{"a":{"y":null,"z":{"q":null}}}`, `{"a":{"x":1,"z":{}}}`},
		{`{"a":[1]}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		{`{"a":{"b":1}}`, `{"a":7}`, `{"a":7}`},
	} {
		got, err := model.Merge([]byte(tt.body), []byte(tt.patch))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s with %s: %s, %v, want %s", tt.body, tt.patch, got, err, tt.want)
		}
	}
	for _, bad := range []string{``, `[]`, `{"a":`, `{"a":1,"a":2}`} {
		if _, err := model.Merge([]byte(`{}`), []byte(bad)); err == nil {
			t.Errorf("%q is merged", bad)
		}
	}
}
