package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// Events as the API sends them, without what is of no interest.
const (
	responsesHello = `{"type":"response.output_text.delta","item_id":"msg_1","delta":"hello"}`
	responsesEnded = `{"type":"response.completed","response":{"status":"completed","model":"gpt-5-2025-08-07","usage":{"input_tokens":7,"output_tokens":5,"total_tokens":12}}}`
)

// responsesCallEvent is an item that is done: a call with these members.
func responsesCallEvent(members string) string {
	return `{"type":"response.output_item.done","item":{"type":"function_call","status":"completed",` + members + `}}`
}

func readResponsesEvents(events ...string) (*responsesRead, error) {
	return readResponses(newResponses(model.Spec{}, nil).NewAnswer(), bytes.NewReader(responsesWire(events...)))
}

func TestResponsesEndings(t *testing.T) {
	t.Parallel()
	incomplete := func(reason string) string {
		return `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"` + reason + `"}}}`
	}
	broken := responsesCallEvent(`"call_id":"c","name":"add","arguments":"{\"a\":"`)
	for _, tc := range []struct {
		name   string
		events []string
		want   string
	}{
		{"completed", []string{responsesHello, responsesEnded}, "stop"},
		{"nothing after the end counts", []string{responsesHello, responsesEnded, `{"type":"error","code":"server_error"}`, `oops`}, "stop"},
		{"the token limit", []string{responsesHello, incomplete("max_output_tokens")}, "max_tokens"},
		{"the token limit before any text", []string{incomplete("max_output_tokens")}, "max_tokens"},
		{"the token limit inside a call", []string{broken, incomplete("max_output_tokens")}, "max_tokens"},
		{"an incomplete end of a reason not known", []string{responsesHello, incomplete("tired")}, "max_tokens"},
		{"incomplete, told by the status alone", []string{responsesHello, strings.Replace(incomplete("max_output_tokens"), "response.incomplete", "response.completed", 1)}, "max_tokens"},
		{"a filter", []string{responsesHello, incomplete("content_filter")}, "error model_blocked"},
		{"failed", []string{responsesHello, `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"x"}}}`}, "error model_unavailable"},
		{"failed without an error", []string{`{"type":"response.failed","response":null}`}, "error model_unavailable"},
		{"failed for a rate limit", []string{`{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"x"}}}`}, "error model_rate_limited"},
		{"an error whose members stand in the event", []string{responsesHello, `{"type":"error","code":"insufficient_quota","message":"x","param":null}`}, "error model_error"},
		{"an error inside the event", []string{`{"type":"error","error":{"type":"server_error","message":"x"}}`}, "error model_unavailable"},
		{"an error without a type", []string{`{"error":{"code":"rate_limit_exceeded"}}`}, "error model_rate_limited"},
		{"an error of the filter", []string{`{"type":"error","code":"content_filter"}`}, "error model_blocked"},
		{"error: null is none", []string{`{"error":null}`, responsesHello, responsesEnded}, "stop"},
		{"cut", []string{responsesHello}, "error model_unavailable"},
		{"[DONE] is no end", []string{responsesHello, "[DONE]"}, "error model_unavailable"},
		{"neither text nor call", []string{responsesEnded}, "error model_unavailable"},
		{"thoughts are no answer", []string{`{"type":"response.reasoning_text.delta","delta":"hm"}`, responsesEnded}, "error model_unavailable"},
		{"a call cut off in an answer that was not", []string{broken, responsesEnded}, "error model_error"},
		{"a refusal is text", []string{`{"type":"response.refusal.delta","delta":"no"}`, responsesEnded}, "stop"},
		{"events of no interest", []string{`{"type":"response.queued"}`, `{"type":"keepalive","n":1}`, `{}`, `{"type":null}`, responsesHello, responsesEnded}, "stop"},
		{"[DONE] before the end", []string{responsesHello, "[DONE]", responsesEnded}, "stop"},
		{"events of no interest are not read on", []string{`{"type":"response.created","response":{`, responsesHello, responsesEnded}, "stop"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := readResponsesEvents(tc.events...)
			if end := responsesEnd(got, err); end != tc.want {
				t.Errorf("ended with %q (%v), want %q", end, err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "hello") {
				t.Errorf("the error quotes the model: %v", err)
			}
		})
	}
}

func TestResponsesUnreadable(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		`<html>`, `null`, `"x"`, `[` + responsesHello + `]`, responsesHello + responsesHello, responsesHello + `x`,
		`{"type":5}`, `{"type":"response.output_text.delta","delta":{}}`, `{"type":"response.output_text.delta","delta":"hello`,
		`{"type":"response.output_item.done","item":{"type":[]}}`, `{"type":"response.completed","response":[]}`,
	} {
		_, err := readResponsesEvents(data, responsesHello, responsesEnded)
		if !errors.Is(err, model.ErrUnreadable) || strings.Contains(err.Error(), "hello") {
			t.Errorf("%s: %v, want %v without a word of the model's", data, err, model.ErrUnreadable)
		}
	}
}

// The type of an event may stand anywhere in it, and be the event's name instead.
func TestResponsesTypeOfEvents(t *testing.T) {
	t.Parallel()
	late := `{"delta":"hello","item_id":"x","type":"response.output_text.delta"}`
	unnamed := "event: response.output_text.delta\ndata: {\"delta\":\" you\"}\n\n"
	wrong := "event: response.output_text.done\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"!\"}\n\n"
	wire := append(responsesWire(late), unnamed+wrong+string(responsesWire(responsesEnded))...)
	got, err := readResponses(newResponses(model.Spec{}, nil).NewAnswer(), bytes.NewReader(wire))
	if err != nil || got.Text != "hello you!" {
		t.Errorf("text %q, %v", got.Text, err)
	}
}

func TestResponsesCalls(t *testing.T) {
	t.Parallel()
	generated := regexp.MustCompile(`^[A-Za-z0-9]{9}$`)
	for _, tc := range []struct {
		name, members string
		want          string // the arguments; empty: malformed
	}{
		{"as it should be", `"call_id":"c1","name":"add","arguments":"{\"a\": 1}"`, `{"a": 1}`},
		{"empty arguments", `"call_id":"c1","name":"add","arguments":""`, `{}`},
		{"no arguments", `"call_id":"c1","name":"add"`, `{}`},
		{"null", `"call_id":"c1","name":"add","arguments":null`, `{}`},
		{"an object in place of a string", `"call_id":"c1","name":"add","arguments":{"a":1}`, `{"a":1}`},
		{"a member twice, which the check of arguments refuses", `"call_id":"c1","name":"add","arguments":"{\"a\":1,\"a\":2}"`, `{"a":1,"a":2}`},
		{"an array", `"call_id":"c1","name":"add","arguments":"[1]"`, ""},
		{"a number", `"call_id":"c1","name":"add","arguments":"5"`, ""},
		{"a string with JSON in it", `"call_id":"c1","name":"add","arguments":"\"{}\""`, ""},
		{"two objects", `"call_id":"c1","name":"add","arguments":"{}{}"`, ""},
		{"too deep", `"call_id":"c1","name":"add","arguments":"` + strings.Repeat(`{\"a\":`, 10_001) + `1` + strings.Repeat(`}`, 10_001) + `"`, ""},
		{"no name", `"call_id":"c1","arguments":"{}"`, ""},
		{"status incomplete", `"call_id":"c1","name":"add","arguments":"{}","status":"incomplete"`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := readResponsesEvents(responsesCallEvent(tc.members), responsesEnded)
			if tc.want == "" {
				if !errors.Is(err, model.ErrMalformedCall) || len(got.Calls) > 0 {
					t.Errorf("calls %v, %v, want a malformed call", got.Calls, err)
				}
				return
			}
			want := []tool.Call{{ID: "c1", Name: "add", Arguments: []byte(tc.want)}}
			if diff := cmp.Diff(want, got.Calls); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	t.Run("ids missing, repeated and too long", func(t *testing.T) {
		t.Parallel()
		got, err := readResponsesEvents(responsesCallEvent(`"call_id":"c1","name":"a"`), responsesCallEvent(`"call_id":"c1","name":"b"`), responsesCallEvent(`"call_id":"`+strings.Repeat("c", 1<<20)+`","name":"c"`), responsesCallEvent(`"name":"d"`), responsesEnded)
		if err != nil || len(got.Calls) != 4 {
			t.Fatal(got.Calls, err)
		}
		b, c, d := got.Calls[1].ID, got.Calls[2].ID, got.Calls[3].ID
		if got.Calls[0].ID != "c1" || b == c || c == d || !generated.MatchString(b) || !generated.MatchString(c) || !generated.MatchString(d) {
			t.Errorf("ids %q, %q, %.20q, %q", got.Calls[0].ID, b, c, d)
		}
	})
	t.Run("the item's id changes on the way", func(t *testing.T) {
		t.Parallel()
		got, err := readResponsesEvents(
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"call_early","name":"add"}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"fc_2","output_index":0,"delta":"{\"a\":1}"}`,
			`{"type":"response.output_item.done","output_index":7,"item":{"id":"fc_3","type":"function_call","call_id":"call_late","name":"add","arguments":"{\"a\":1}"}}`,
			responsesEnded)
		want := []tool.Call{{ID: "call_late", Name: "add", Arguments: []byte(`{"a":1}`)}}
		if diff := cmp.Diff(want, got.Calls); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

// What a model may be shown of its own again, and what not.
func TestResponsesKept(t *testing.T) {
	t.Parallel()
	done := func(item string) string { return `{"type":"response.output_item.done","item":` + item + `}` }
	sealed := `{"id":"rs_1","type":"reasoning","content":[], "encrypted_content":"gAAA","summary":[{"type":"summary_text","text":"…"}],"new":1e3}`
	open := `{"id":"rs_2","type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}],"summary":[]}`
	bare := `{"id":"rs_3","type":"reasoning","summary":[]}`
	twice := `{"id":"rs_4","type":"reasoning","encrypted_content":"a","encrypted_content":"b"}`
	phase := `{"id":"msg_1","type":"message","phase":"commentary","content":[]}`
	call := `{"id":"fc_1","type":"function_call","call_id":"c","name":"add","arguments":"{}"}`
	for _, tc := range []struct {
		name, extra string
		want        []string
	}{
		{"nothing is stored", "", []string{sealed, open, `{"type":"message","id":"msg_1","phase":"commentary"}`, `{"type":"function_call","id":"fc_1"}`}},
		{"items are stored", `{"store":true}`, []string{sealed, open, bare, `{"type":"message","id":"msg_1","phase":"commentary"}`, `{"type":"function_call","id":"fc_1"}`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			wire := responsesWire(done(sealed), done(open), done(bare), done(twice), responsesHello, done(phase), done(call), responsesEnded)
			got, err := readResponses(newResponses(model.Spec{Extra: []byte(tc.extra)}, nil).NewAnswer(), bytes.NewReader(wire))
			var kept []string
			for _, p := range got.Parts {
				if p.Kept != "" {
					kept = append(kept, p.Kept)
				}
			}
			if diff := cmp.Diff(tc.want, kept); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if got.Text != "hello" || got.Thoughts != "…" {
				t.Errorf("text %q, thoughts %q: only summaries are shown", got.Text, got.Thoughts)
			}
		})
	}
}

// Without reasoning a message goes back by its phase alone, and a call by what it is.
func TestResponsesKeptWithoutReasoning(t *testing.T) {
	t.Parallel()
	got, err := readResponsesEvents(responsesHello,
		`{"type":"response.output_item.done","item":{"id":"msg_1","type":"message","phase":"final_answer"}}`,
		`{"type":"response.output_item.done","item":{"id":"msg_2","type":"message"}}`,
		responsesCallEvent(`"id":"fc_1","call_id":"c","name":"add"`), responsesEnded)
	var kept []string
	for _, p := range got.Parts {
		if p.Kept != "" {
			kept = append(kept, p.Kept)
		}
	}
	if diff := cmp.Diff([]string{`{"type":"message","phase":"final_answer"}`}, kept); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestResponsesUsage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, usage string
		want        *chat.Usage
	}{
		{"all figures", `{"input_tokens":100,"input_tokens_details":{"cached_tokens":60},"output_tokens":50,"output_tokens_details":{"reasoning_tokens":20},"total_tokens":150}`,
			&chat.Usage{InputTokens: 100, CachedTokens: 60, OutputTokens: 30, ThinkingTokens: 20}},
		{"thinking beside the output", `{"input_tokens":100,"output_tokens":50,"output_tokens_details":{"reasoning_tokens":80},"total_tokens":230}`,
			&chat.Usage{InputTokens: 100, OutputTokens: 50, ThinkingTokens: 80}},
		{"more thinking than output", `{"input_tokens":1,"output_tokens":5,"output_tokens_details":{"reasoning_tokens":8}}`, &chat.Usage{InputTokens: 1, ThinkingTokens: 5}},
		{"more cached than sent", `{"input_tokens":1,"output_tokens":5,"input_tokens_details":{"cached_tokens":8}}`, &chat.Usage{InputTokens: 1, CachedTokens: 1, OutputTokens: 5}},
		{"null details", `{"input_tokens":1,"output_tokens":5,"input_tokens_details":null,"output_tokens_details":[1]}`, &chat.Usage{InputTokens: 1, OutputTokens: 5}},
		{"figures that are none", `{"input_tokens":-5,"output_tokens":1000000000000000000,"total_tokens":"x"}`, nil},
		{"one that is, and a string", `{"input_tokens":"12","output_tokens":3}`, &chat.Usage{OutputTokens: 3}},
		{"none", `null`, nil},
		{"a string", `"lots"`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := readResponsesEvents(responsesHello, `{"type":"response.completed","response":{"usage":`+tc.usage+`}}`)
			if diff := cmp.Diff(tc.want, got.Usage); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestResponsesTooLarge(t *testing.T) {
	t.Parallel()
	delta := `{"type":"response.output_text.delta","delta":"` + strings.Repeat("x", 1<<20) + `"}`
	if _, err := readResponsesEvents(delta, delta, delta, responsesEnded); !errors.Is(err, model.ErrTooLarge) {
		t.Errorf("text of 3 MiB: %v, want %v", err, model.ErrTooLarge)
	}
	call := responsesCallEvent(`"call_id":"c","name":"add","arguments":"{\"a\":\"` + strings.Repeat("x", 3<<20) + `\"}"`)
	if _, err := readResponsesEvents(call, responsesEnded); !errors.Is(err, model.ErrTooLarge) {
		t.Errorf("a call of 3 MiB: %v, want %v", err, model.ErrTooLarge)
	}
	large := `"{\"a\":\"` + strings.Repeat("x", 1<<20) + `\"}"`
	for name, announced := range map[string]func(i int) []string{
		"announced": func(i int) []string {
			return []string{fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":{"type":"function_call","name":"add","arguments":%s}}`, i, large)}
		},
		"in one piece": func(i int) []string {
			return []string{fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":{"type":"function_call","name":"add"}}`, i),
				fmt.Sprintf(`{"type":"response.function_call_arguments.done","output_index":%d,"arguments":%s}`, i, large)}
		},
	} {
		var events []string
		for i := range 3 {
			events = append(events, announced(i)...)
			events = append(events, fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":{"type":"function_call","call_id":"c%d","name":"add","arguments":"{\"a\":1}"}}`, i, i))
		}
		if _, err := readResponsesEvents(append(events, responsesEnded)...); !errors.Is(err, model.ErrTooLarge) {
			t.Errorf("3 MiB of arguments, %s: %v, want %v", name, err, model.ErrTooLarge)
		}
	}
	var calls []string
	for i := range 10_000 {
		calls = append(calls, responsesCallEvent(fmt.Sprintf(`"call_id":"c%d","name":"add"`, i)))
	}
	if got, err := readResponsesEvents(append(calls, responsesEnded)...); err != nil || len(got.Calls) != len(calls) {
		t.Errorf("%d calls: %d, %v; the frame limits them", len(calls), len(got.Calls), err)
	}
}

// A call that is being written is a sign of life; what carries nothing is none.
func TestResponsesSignsOfLife(t *testing.T) {
	t.Parallel()
	a := newResponses(model.Spec{}, nil).NewAnswer()
	var c chat.Chunk
	for _, tc := range []struct {
		event string
		grows bool
	}{
		{`{"type":"response.created","response":{}}`, false},
		{`{"type":"keepalive"}`, false},
		{`{"type":"response.function_call_arguments.delta","delta":"{\"a\""}`, true},
		{`{"type":"response.function_call_arguments.delta","delta":":1}"}`, true},
		{`{"type":"response.output_text.delta","delta":""}`, false},
		{responsesHello, true},
	} {
		before := a.Stats().Size
		if err := a.Decode("", []byte(tc.event), &c); err != nil || (a.Stats().Size > before) != tc.grows {
			t.Errorf("%s: from %d to %d bytes, %v", tc.event, before, a.Stats().Size, err)
		}
	}
}

// An Answer is used again, and nothing of the one before is left.
func TestResponsesReset(t *testing.T) {
	t.Parallel()
	a := newResponses(model.Spec{}, nil).NewAnswer()
	sealed := `{"type":"response.output_item.done","item":{"type":"reasoning","encrypted_content":"gAAA"}}`
	first := responsesWire(sealed, responsesCallEvent(`"call_id":"c1","name":"add"`), responsesCallEvent(`"name":""`), responsesHello, responsesEnded)
	if _, err := readResponses(a, bytes.NewReader(first)); !errors.Is(err, model.ErrMalformedCall) {
		t.Error(err)
	}
	want := model.Stats{TextLength: 5, Finish: "completed", Model: "gpt-5-2025-08-07"}
	if diff := cmp.Diff(want, a.Stats(), cmpopts.IgnoreFields(model.Stats{}, "Size")); diff != "" {
		t.Errorf("note (-want +got):\n%s", diff)
	}
	a.Reset()
	if a.HasEnded() || a.Stats() != (model.Stats{}) {
		t.Errorf("over %v, note %v", a.HasEnded(), a.Stats())
	}
	got, err := readResponses(a, bytes.NewReader(responsesWire(responsesCallEvent(`"id":"fc_1","call_id":"c1","name":"add"`), `{"type":"response.completed","response":{}}`)))
	if err != nil || len(got.Calls) != 1 || got.Parts[0].Kept != "" || got.Calls[0].ID != "c1" || got.Usage != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// A reply in one piece says what the stream of the same answer reports.
func TestResponsesWhole(t *testing.T) {
	t.Parallel()
	for _, rec := range responsesRecordings(t) {
		t.Run(rec.Name, func(t *testing.T) {
			t.Parallel()
			a := newResponses(model.Spec{}, nil).NewAnswer()
			got := new(responsesRead)
			var c chat.Chunk
			err := a.DecodeDocument(lastResponse(t, rec.Wire), &c)
			got.add(&c)
			if err == nil {
				c = chat.Chunk{}
				err = a.End(&c)
				got.add(&c)
			}
			checkResponses(t, &rec, got, err)
		})
	}
	a := newResponses(model.Spec{}, nil).NewAnswer()
	if err := errors.Join(a.DecodeDocument([]byte(`{"status":"in_progress","output":[]}`), new(chat.Chunk)), a.End(new(chat.Chunk))); !errors.Is(err, model.ErrCut) {
		t.Errorf("a response under way: %v, want %v", err, model.ErrCut)
	}
	for _, body := range []string{``, `[]`, `"x"`, `{}`, `{"output":{}}`, `{"output":[`, `{"output":[]}{}`, `<html>`} {
		if err := newResponses(model.Spec{}, nil).NewAnswer().DecodeDocument([]byte(body), new(chat.Chunk)); !errors.Is(err, model.ErrUnreadable) {
			t.Errorf("%s: %v, want %v", body, err, model.ErrUnreadable)
		}
	}
}

// lastResponse returns the response in the last event of a stream.
func lastResponse(t *testing.T, wire []byte) []byte {
	t.Helper()
	at := bytes.LastIndex(wire, []byte("data: "))
	var ev struct{ Response json.RawMessage }
	if err := json.NewDecoder(bytes.NewReader(wire[at+len("data: "):])).Decode(&ev); err != nil {
		t.Fatal(err)
	}
	return ev.Response
}

func TestResponsesDeltaAllocations(t *testing.T) {
	a := newResponses(model.Spec{}, nil).NewAnswer()
	c := chat.Chunk{Parts: make([]chat.Part, 0, 1)}
	data := []byte(responsesDelta)
	if n := testing.AllocsPerRun(100, func() {
		c.Parts = c.Parts[:0]
		if err := a.Decode("response.output_text.delta", data, &c); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("%v allocations a delta, want the text alone", n)
	}
}

// FuzzResponsesEvent reads any data, in one event after the other.
func FuzzResponsesEvent(f *testing.F) {
	for _, s := range []string{responsesHello, responsesEnded, responsesDelta, responsesCallEvent(`"call_id":"c","name":"n","arguments":"{}"`), `{"type":"error"}`, `{"delta":"\ud83d"}`} {
		f.Add("", []byte(s))
	}
	codec := newResponses(model.Spec{Key: "k", Model: "m"}, nil)
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		a := codec.NewAnswer()
		c := new(chat.Chunk)
		err := a.Decode(name, data, c)
		if w := codec.NewAnswer(); err == nil {
			_ = w.DecodeDocument(data, c)
		}
		for _, p := range c.Parts {
			if !utf8.ValidString(p.Text) {
				t.Errorf("text is not UTF-8: %q", p.Text)
			}
		}
		renderResponses(t, codec, &chat.ModelRequest{Messages: []chat.Message{{Role: chat.RoleModel, Maker: codec.maker, Parts: c.Parts}}})
	})
}
