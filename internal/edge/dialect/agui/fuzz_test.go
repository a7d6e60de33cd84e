package agui_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/agui"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Whatever is sent: it is refused with its faults, or it is a turn within the rules of an input,
// whose frames carry the client's own ids.
func FuzzOpen(f *testing.F) {
	for _, text := range []string{
		body(""), body(`,"tools":[{"name":"pick","description":"d","parameters":{"type":"object"}}],"context":[{"description":"a","value":"b\n\u2028"}]`),
		body(`,"forwardedProps":{"agent":"helper","timezone":"UTC","on_disconnect":"cancel","context":{"page":"x"}},"resume":[],"state":null`),
		withMessages(asked + `,{"role":"assistant","toolCalls":[{"id":"c","function":{"name":"pick","arguments":"{"}}]},{"role":"tool","toolCallId":"c","content":"x","error":"e"},` + asked),
		withMessages(`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image"}]},{"role":"reasoning","content":"h"},{"role":"system","content":"s"}`),
		`{"threadId":"t","runId":"r","runId":"r"}`, `{"a":"\ud800"}`, `[`, "{}x", "null",
	} {
		f.Add([]byte(text), "")
	}
	f.Add([]byte(body("")), "helper")
	f.Fuzz(func(t *testing.T, text []byte, path string) {
		x, err := open(t, agui.Config{}, path, string(text))
		if v, ok := errors.AsType[*chat.ValidationError](err); ok {
			if len(v.Fields) == 0 || len(v.Fields) > 32 {
				t.Fatalf("%d faults", len(v.Fields))
			}
			return
		}
		if err != nil {
			if path == "" {
				t.Fatal(err)
			}
			return
		}
		if !jsontext.Value(text).IsValid() {
			t.Fatal("what is not strict is taken")
		}
		if strings.TrimSpace(x.Request.Input) == "" || x.Request.ConversationID == "" || len(x.Facts) > dialect.MaxFacts || !jsontext.Value(x.Facts).IsValid() {
			t.Fatalf("%+v with facts %s", x.Request, x.Facts)
		}
		events := []stream.Event{begun, &stream.Delta{Text: x.Request.Input}, &stream.Done{Reason: stream.Stop}}
		var frames []byte
		for i, ev := range events {
			frames = x.Encoder.Encode(frames, stream.Stamp{N: i + 1}, ev)
		}
		verify(t, string(frames))
		k := stored()
		k.Facts = x.Facts
		if again := encoded(k, events...); again != string(frames) {
			t.Fatalf("of the log:\n%s\nand of the request:\n%s", again, frames)
		}
	})
}
