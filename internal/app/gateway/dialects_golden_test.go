package gateway_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// seen is what a client has of a turn when it is over.
type seen struct {
	Text, Thoughts string
	Calls          []seenCall
	Verdict        string
}

// seenCall is a call as a client has it.
type seenCall struct{ ID, Name, Arguments, Outcome, Result string }

// protocol is a protocol as its clients see it: what they send, how they read the reply, and
// what they are to see of a turn that comes to f.
type protocol struct {
	name, path, body string
	header           string // a request header, and its value behind a colon
	read             func(*testing.T, string) seen
	want             func(f *folded) seen
}

// protocols lists them all. Each row needs a reader and what the protocol has no room for.
func protocols() []protocol {
	return []protocol{
		{name: "native", path: "/chat/stream", body: `{"input":"go","accumulated":false}`, read: readNative, want: wantNative},
		{name: "native, accumulated", path: "/chat/stream", body: `{"input":"go"}`, read: readNative, want: wantNative},
		{name: "AI SDK", path: "/api/chat", body: `{"id":"c","approvals":false,"messages":[{"id":"1","role":"user","parts":[{"type":"text","text":"go"}]}]}`, read: readAISDK, want: wantAISDK},
		{name: "AI SDK, which asks a person", path: "/api/chat", body: `{"id":"c","messages":[{"id":"1","role":"user","parts":[{"type":"text","text":"go"}]}]}`, read: readAISDK, want: wantAISDKAsked},
		{name: "AG-UI", path: "/agui", body: `{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":"go"}]}`, read: readAGUI, want: wantAGUI},
		{name: "Chat Completions", path: "/v1/chat/completions", body: `{"model":"sluice","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"go"}]}`, read: readChunks, want: wantCompletion},
		{name: "Chat Completions, a document", path: "/v1/chat/completions", body: `{"model":"sluice","messages":[{"role":"user","content":"go"}]}`, read: readCompletion, want: wantDocument},
		{name: "Responses", path: "/v1/responses", body: `{"model":"sluice","stream":true,"input":"go"}`, read: readResponseEvents, want: wantResponse},
		{name: "Responses, a document", path: "/v1/responses", body: `{"model":"sluice","input":"go"}`, read: readResponse, want: wantResponseDocument},
		{name: "ChatKit", path: "/chatkit", body: `{"type":"threads.create","params":{"input":{"content":[{"type":"input_text","text":"go"}],"attachments":[],"inference_options":{}}}}`, read: readChatKit, want: wantChatKit},
		{name: "A2A", path: "/a2a", header: "A2A-Extensions: urn:sluice:events:v1", read: readA2A, want: wantNative,
			body: `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"go"}]}}}`},
	}
}

// What a turn comes to is the same in each protocol: its text, its thoughts, its calls and how
// it ended. So it is for every turn of the golden transcripts, and for some that no transcript
// has.
func TestTurnsAreTheSameInAllDialects(t *testing.T) {
	t.Parallel()
	served := servedRoutes(t)
	all := protocols()
	turns := 0
	play := func(t *testing.T, turn []wholetest.Recorded) {
		turns++
		f := fold(turn)
		for _, p := range all {
			first, second := p.encode(t, served, turn), p.encode(t, served, turn)
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("%s, encoded twice (-first +second):\n%s", p.name, diff)
			}
			for how, frames := range first {
				if diff := cmp.Diff(p.want(f), p.read(t, frames)); diff != "" {
					t.Errorf("%s %s (-want +got):\n%s\nof\n%s", p.name, how, diff, frames)
				}
			}
		}
	}
	for name, tr := range wholetest.TurnTranscripts(t) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, turn := range tr.Record(t) {
					play(t, turn)
				}
			})
		})
	}
	t.Run("delegates in a run", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			turn := wholetest.Research(t, "../../../examples").Record(t)[0]
			if f := fold(turn); len(f.Runs) < 3 || !slices.ContainsFunc(f.Runs, func(r stream.Run) bool { return r.SessionID != "" }) {
				t.Errorf("%d runs of agents", len(f.Runs))
			}
			play(t, turn)
		})
	})
	for name, turn := range wholetest.RareTurns(t) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { play(t, turn) }) })
	}
	if turns < 100 {
		t.Errorf("only %d turns", turns)
	}
}

// servedRoutes returns the routes of a gateway that serves each protocol.
func servedRoutes(t *testing.T) (routes []dialect.Route) {
	t.Helper()
	tr := wholetest.Transcript{Archive: &txtar.Archive{Files: []txtar.File{{Name: "sluice.yaml", Data: []byte("a2a: {enabled: true}\n")}}}}
	tr.Second(t, gateway.Seams{Dialect: func(d dialect.Dialect) dialect.Dialect {
		routes = append(routes, d.Routes()...)
		return d
	}})
	return routes
}

// kept are the names that a store gives a turn. Without them some protocols make random ones.
var kept = stream.Start{TaskID: "task_00000000000000000000000000", TurnID: "turn_00000000000000000000000000", ConversationID: "conv_1"}

// encode returns a turn as the reply to a request of the protocol, and, where the protocol can
// have it, as what a log of the turn says of it.
func (p *protocol) encode(t *testing.T, served []dialect.Route, turn []wholetest.Recorded) map[string]string {
	t.Helper()
	i := slices.IndexFunc(served, func(r dialect.Route) bool { return r.Path == p.path && slices.Contains(r.Methods, http.MethodPost) })
	if i < 0 {
		t.Fatalf("%s is not served", p.path)
	}
	asked := chat.Turn{RequestID: wholetest.RequestID, Began: time.Unix(1_767_225_600, 0)}
	r := httptest.NewRequestWithContext(chat.WithTurn(t.Context(), asked), http.MethodPost, p.path, nil)
	r.Header.Set("Content-Type", "application/json")
	if name, value, ok := strings.Cut(p.header, ": "); ok {
		r.Header.Set(name, value)
	}
	x, err := served[i].Open(r, []byte(p.body))
	if err != nil || x.Encoder == nil {
		t.Fatalf("%s: no turn: %v", p.name, err)
	}
	all := map[string]string{"as it comes": framesOf(x.Encoder, turn)}
	if resume := served[i].Resume; resume != nil && x.Form == dialect.Streamed {
		all["from its log"] = framesOf(resume(dialect.StoredTurn{
			TurnID: kept.TurnID, RequestID: asked.RequestID, Began: asked.Began, Accumulated: x.Accumulated, Dialect: served[i].Dialect, Facts: x.Facts,
		}), turn)
	}
	return all
}

// framesOf encodes a turn, as that of a gateway with a store.
func framesOf(e stream.Encoder, turn []wholetest.Recorded) string {
	var text []byte
	for _, it := range turn {
		ev := it.Event
		if start, ok := ev.(*stream.Start); ok {
			named := *start
			named.TaskID, named.TurnID, named.ConversationID = kept.TaskID, kept.TurnID, kept.ConversationID
			ev = &named
		}
		text = e.Encode(text, it.Stamp, ev)
	}
	return string(text)
}

// folded is what a turn comes to.
type folded struct {
	stream.Fold
	thoughts strings.Builder
}

func fold(turn []wholetest.Recorded) *folded {
	f := new(folded)
	for _, e := range turn {
		f.Add(e.Event)
		if thought, ok := e.Event.(*stream.Thinking); ok {
			f.thoughts.WriteString(thought.Content)
		}
	}
	return f
}

// calls returns the calls of the gateway's servers, with results of at most so many bytes and
// what marks those that are longer, and those of the client.
func (f *folded) calls(most int, mark string) (list []seenCall) {
	for _, c := range f.Calls {
		result, cut := c.Result, false
		if c.Outcome == stream.CallCompleted {
			result, cut = chat.Truncate(c.Result, most)
		}
		if cut {
			result += mark
		}
		list = append(list, seenCall{c.ID, c.Tool, compact(string(c.Arguments)), string(c.Outcome), result})
	}
	return append(list, f.required()...)
}

// required returns the calls of the client.
func (f *folded) required() (list []seenCall) {
	for _, r := range f.Required {
		list = append(list, seenCall{ID: r.ID, Name: r.Tool, Arguments: compact(string(r.Arguments)), Outcome: "client_required"})
	}
	return list
}

// compact returns JSON without white space; anything but an object is shown as an empty one.
func compact(text string) string {
	var b bytes.Buffer
	var members map[string]any
	if json.Unmarshal([]byte(text), &members) != nil {
		return "{}"
	}
	if err := json.MarshalWrite(&b, members, json.Deterministic(true)); err != nil {
		return err.Error()
	}
	return b.String()
}
