package gemini

import (
	"strings"
	"testing"

	"sluice/internal/turn/tool"
)

// An image is passed over, however large it is, and the text around it is not. An answer
// that is nothing but an image says so.
func TestImagesAreLeftOut(t *testing.T) {
	base64 := strings.Repeat("iVBORw0KGgoAAAANSUhEUgAAAAUA", 3<<20/28)
	image := func(data string) string { return `{"inlineData":{"mimeType":"image/png","data":"` + data + `"}}` }
	parts := func(list ...string) string {
		return event(`{"candidates":[{"content":{"role":"model","parts":[` + strings.Join(list, ",") + `]}}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}`)
	}
	long := strings.Repeat(`x\"data\":\"`, 10<<10)
	args := `{"candidates":{"content":{"parts":{"inlineData":{"data":"` + strings.Repeat("a", 100<<10) + `"}}}},"inlineData":{"data":"AA=="}}`
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		for _, tt := range []struct {
			name, stream, text string
			calls              []tool.Call
		}{
			{"an image alone", parts(image("AA==")), "[image left out]", nil},
			{"a large one alone", parts(image(base64)), "[image left out]", nil},
			{"a large one on its own, spaced", event(`{ "candidates" : [ { "content" : { "parts" : [ { "inline_data" : { "data" : "`+base64+`" } } ] } } ] }`) + parts(`{"text":"hello"}`), "hello", nil},
			{"text and large ones", parts(`{"text":"hel"}`, image(base64), image(base64), `{"text":"lo"}`) + parts(image(base64)), "hello", nil},
			{"text that looks like one", parts(`{"text":"` + long + `"}`), strings.ReplaceAll(long, `\"`, `"`), nil},
			{"arguments that look like one", parts(`{"functionCall":{"name":"f","id":"i","args":` + args + `}}`), "", []tool.Call{{ID: "i", Name: "f", Arguments: []byte(args)}}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				u := serve(t, stream(tt.stream+finishChunk("STOP")))
				got, err := ask(t.Context(), open(t, Config{BaseURL: u.URL}))
				if err != nil || got.Text != tt.text || len(got.Calls) != len(tt.calls) || len(u.requests()) != 1 {
					t.Fatalf("%v, text %.60q, %d calls after %d requests", err, got.Text, len(got.Calls), len(u.requests()))
				}
				if len(tt.calls) > 0 && string(got.Calls[0].Arguments) != string(tt.calls[0].Arguments) {
					t.Errorf("arguments of %d bytes, want %d", len(got.Calls[0].Arguments), len(tt.calls[0].Arguments))
				}
			})
		}
	})
}

// A line may be cut anywhere while it is read: what is left of it is the same.
func TestLinesArePassedOverInPieces(t *testing.T) {
	t.Parallel()
	line := `data: [{"candidates":[{"content":{"parts":[{"text":"a\"b","x":{"inlineData":{"data":"kept"}}},{"inlineData":{"mimeType":"image/png","data":"QUJD"}},{"inlineData":{"data":"REVG"},"text":"}{"}]}}]}]`
	want := strings.NewReplacer("QUJD", "", "REVG", "").Replace(line)
	for cut := range len(line) {
		b := []byte(line[:cut])
		b = b[:new(codec).PassOver(b)]
		b = append(b, line[cut:]...)
		if b = b[:new(codec).PassOver(b)]; string(b) != want {
			t.Fatalf("cut at %d: %s", cut, b)
		}
	}
}
