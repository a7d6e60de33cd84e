package protocols

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/engine/agent"
	"sluice/internal/model"
	"sluice/internal/model/modeltest"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// script writes the events of an answer in one protocol.
type script struct {
	// call is a call of the tool "pay" that is whole: its events, the last of which says that
	// it is. at is its place in the answer.
	call func(at int, id, args string) []string
	// text is a whole text.
	text string
	// open and end stand around the events of an answer.
	open, end string
}

// scripts are those of the four protocols.
func scripts() map[string]script {
	return map[string]script{
		"chat": {
			call: func(at int, id, args string) []string {
				return []string{fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":"pay","arguments":%q}}]}}]}`, at, id, args)}
			},
			text: `{"choices":[{"index":0,"delta":{"content":"Done."}}]}`,
			end:  `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
		},
		"responses": {
			call: func(at int, id, args string) []string {
				return []string{
					fmt.Sprintf(`{"type":"response.function_call_arguments.delta","output_index":%d,"delta":%q}`, at, args),
					fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":{"type":"function_call","id":"fc_%s","call_id":%q,"name":"pay","arguments":%q,"status":"completed"}}`, at, id, id, args),
				}
			},
			text: `{"type":"response.output_text.delta","delta":"Done."}`,
			end:  `{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":1,"output_tokens":1}}}`,
		},
		"messages": {
			open: `{"type":"message_start","message":{"type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`,
			call: func(at int, id, args string) []string {
				return []string{
					fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%q,"name":"pay","input":{}}}`, at, id),
					fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%q}}`, at, args),
					fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, at),
				}
			},
			text: `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Done."}}`,
			end:  `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}` + "\x00" + `{"type":"message_stop"}`,
		},
		"gemini": {
			call: func(_ int, id, args string) []string {
				return []string{fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"pay","id":%q,"args":%s},"thoughtSignature":"c2ln"}]}}]}`, id, args)}
			},
			text: `{"candidates":[{"content":{"role":"model","parts":[{"text":"Done."}]}}]}`,
			end:  `{"candidates":[{"content":{"role":"model","parts":[]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}`,
		},
	}
}

// answer is a reply of the provider with these events, and what stands around them.
func (w script) answer(events ...string) modeltest.Reply {
	reply := w.cut(events...)
	reply.Pieces = append(reply.Pieces, framed(w.end)...)
	return reply
}

// cut is an answer without its end.
func (w script) cut(events ...string) modeltest.Reply {
	return modeltest.Reply{Pieces: append(framed(w.open), framed(events...)...)}
}

// framed makes events of data.
func framed(data ...string) (pieces []string) {
	for _, d := range data {
		for one := range strings.SplitSeq(d, "\x00") {
			if one != "" {
				pieces = append(pieces, "data: "+one+"\n\n")
			}
		}
	}
	return pieces
}

// bank has one tool, which must not run more often than it was called.
type bank struct {
	mu   sync.Mutex // guards the field below
	paid []string
}

func (*bank) Tools(context.Context) *tool.Set {
	return &tool.Set{Specs: []tool.Spec{{Name: "pay", Server: "bank", InputSchema: []byte(`{"type":"object","properties":{"sum":{"type":"integer"}}}`)}}}
}

func (b *bank) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paid = append(b.paid, string(c.Arguments))
	return tool.Result{ID: c.ID, Name: c.Name, Text: "paid"}, nil
}

// turnOver runs a turn with a model that gets these replies, and returns what was paid.
func turnOver(t *testing.T, p provider, sink stream.Sink, replies ...modeltest.Reply) (paid []string, sent []modeltest.Request, err error) {
	t.Helper()
	service := &modeltest.Service{Replies: replies}
	spec := p.spec
	spec.Endpoint, spec.Retries = "http://provider.test", 2
	m, err := connectOver(spec, service)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	b := new(bank)
	frame := stream.Frame{Runner: agent.New(agent.Config{Model: m, Tools: b, Keyed: true}), Model: m.Name()}
	err = frame.Run(t.Context(), &chat.Request{Input: "Pay."}, sink)
	slices.Sort(b.paid)
	return b.paid, service.Requests(), err
}

// A call that a provider sends twice is made once: an event that comes again, all of the
// call in another place, the same call after the connection broke. Two calls stay two.
func TestRepeatedCallRunsOnce(t *testing.T) {
	t.Parallel()
	for _, p := range protocols() {
		w := scripts()[p.spec.Key]
		once := w.call(0, "c1", `{"sum":5}`)
		broken := w.cut(once...)
		broken.End = modeltest.ErrBroken
		begun := w.cut(once[0])
		begun.End = modeltest.ErrBroken
		rows := map[string]struct {
			first []modeltest.Reply
			want  []string
		}{
			"once":                    {[]modeltest.Reply{w.answer(once...)}, []string{`{"sum":5}`}},
			"its last event again":    {[]modeltest.Reply{w.answer(append(once, once[len(once)-1])...)}, []string{`{"sum":5}`}},
			"in another place":        {[]modeltest.Reply{w.answer(append(once, w.call(1, "c1", `{"sum":5}`)...)...)}, []string{`{"sum":5}`}},
			"spaced in another way":   {[]modeltest.Reply{w.answer(append(once, w.call(1, "c1", `{ "sum": 5 }`)...)...)}, []string{`{"sum":5}`}},
			"after a break":           {[]modeltest.Reply{broken, w.answer(once...)}, []string{`{"sum":5}`}},
			"begun before a break":    {[]modeltest.Reply{begun, w.answer(once...)}, []string{`{"sum":5}`}},
			"another of the same id":  {[]modeltest.Reply{w.answer(append(once, w.call(1, "c1", `{"sum":6}`)...)...)}, []string{`{"sum":5}`, `{"sum":6}`}},
			"the same of another id":  {[]modeltest.Reply{w.answer(append(once, w.call(1, "c2", `{"sum":5}`)...)...)}, []string{`{"sum":5}`, `{"sum":5}`}},
			"again, in the next step": {[]modeltest.Reply{w.answer(once...), w.answer(once...)}, []string{`{"sum":5}`, `{"sum":5}`}},
		}
		if p.spec.Key == "gemini" { // whose calls come whole: they are parts, after which nothing is sent again
			for _, name := range []string{"after a break", "begun before a break"} {
				delete(rows, name)
			}
		}
		for name, row := range rows {
			t.Run(p.spec.Key+"/"+name, func(t *testing.T) {
				t.Parallel()
				paid, sent, err := turnOver(t, p, deaf{}, append(row.first, w.answer(w.text))...)
				if diff := cmp.Diff(row.want, paid); err != nil || diff != "" || len(sent) != len(row.first)+1 {
					t.Errorf("%v after %d requests, paid (-want +got):\n%s", cause(err), len(sent), diff)
				}
			})
		}
	}
}

// ids are those of the calls that a turn reported, in their order.
type ids []string

func (s *ids) Emit(ev stream.Event) error {
	if ev, ok := ev.(*stream.ToolStarted); ok {
		*s = append(*s, ev.ID)
	}
	return nil
}

func (*ids) Flush() error { return nil }

// A provider that gives an id once more in a later step, or none, is answered by the id that
// the events of the call have: an id of ours.
func TestIDsOfCallsAreTheSameEverywhere(t *testing.T) {
	t.Parallel()
	for _, p := range protocols() {
		if p.spec.Key == "gemini" {
			continue // its own ids go back as they are, also where it gives one twice
		}
		w := scripts()[p.spec.Key]
		t.Run(p.spec.Key, func(t *testing.T) {
			t.Parallel()
			var got ids
			_, sent, err := turnOver(t, p, &got, w.answer(w.call(0, "c1", `{"sum":5}`)...), w.answer(w.call(0, "c1", `{"sum":6}`)...), w.answer(w.call(0, "", `{"sum":7}`)...), w.answer(w.text))
			if err != nil || len(got) != 3 || got[0] != "c1" || !model.NineLetters(got[1]) || !model.NineLetters(got[2]) {
				t.Fatalf("%v, told %q", err, got)
			}
			last := sent[len(sent)-1].Body
			for _, id := range got {
				if strings.Count(last, `"`+id+`"`) != 2 {
					t.Errorf("%s is not the id of one call and its result in %s", id, last)
				}
			}
		})
	}
}
