//go:build unix

package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/providers"
	"sluice/internal/app/settings"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// phrased answers every call with a text in deltas of about twelve bytes, framed as Chat
// Completions frames them.
type phrased string

func saying(text string) phrased {
	var b strings.Builder
	for text != "" {
		n := min(12, len(text))
		quoted, _ := json.Marshal(text[:n])
		fmt.Fprintf(&b, "data: {\"id\":\"chatcmpl-CkMdZ0lXTBFLOCnQwKTJlBr7Xm7Ng\",\"object\":\"chat.completion.chunk\",\"created\":1775700000,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\n", quoted)
		text = text[n:]
	}
	b.WriteString(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n")
	return phrased(b.String())
}

func (s phrased) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, string(s))
}

// openOver opens the models of a configuration over loopback, in front of a server that
// says text.
func openOver(b *testing.B, text string) *providers.Models {
	b.Helper()
	cfg, err := settings.Loader().Load(nil, gatewaytest.LookupIn(nil), nil)
	if err != nil {
		b.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := &http.Server{Handler: saying(text), ReadHeaderTimeout: time.Minute}
	go func() { _ = srv.Serve(ln) }()
	b.Cleanup(func() { _ = srv.Close() })
	at := "http://" + ln.Addr().String() + "/v1/chat/completions"
	models, err := providers.Open(b.Context(), providers.Config{
		Settings: cfg, Models: []model.Spec{wholetest.ChatSpec("default", at), wholetest.ChatSpec("first", at, "spare"), wholetest.ChatSpec("spare", at)},
		Log: zerolog.Nop(), Metrics: metrics.New(),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(models.Close)
	return models
}

// BenchmarkModelCall is a model call over loopback, next to the same call through a fallback
// that is not used, and next to Ask, which checks the answer by a schema.
func BenchmarkModelCall(b *testing.B) {
	req := func() *chat.ModelRequest {
		return &chat.ModelRequest{Step: 1, Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: "Hello"}}}}}
	}
	call := func(b *testing.B, m *providers.Models, key string) func() {
		return func() {
			var answer bytes.Buffer
			err := m.Link(key).Stream(b.Context(), req(), func(c *chat.Chunk) error {
				for i := range c.Parts {
					answer.WriteString(c.Parts[i].Text)
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	const prose = "It is a mild day with some clouds, and rain is not to be expected before the evening. "
	b.Run("unused-fallback", func(b *testing.B) {
		m := openOver(b, strings.Repeat(prose, 12))
		wholetest.Alternate(b, call(b, m, "default"), call(b, m, "first"))
	})
	schema, err := model.NewSchema("route", jsontext.Value(`{"type":"object","additionalProperties":false,"required":["agentId","confidence"],"properties":{
		"agentId":{"type":"string","enum":["light-agent","music-agent","fallback-agent"]},"confidence":{"type":"number","minimum":0,"maximum":1},
		"reasoning":{"type":"string"},"additionalAgents":{"type":"array","items":{"type":"string"}}}}`))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("ask", func(b *testing.B) {
		m := openOver(b, `{"agentId":"light-agent","confidence":0.93,"reasoning":"`+strings.Repeat(prose, 3)+`","additionalAgents":["music-agent"]}`)
		wholetest.Alternate(b, call(b, m, "default"), func() {
			if _, err := m.Forms().Ask(b.Context(), m.Link("default"), req(), schema, model.AskOptions{}); err != nil {
				b.Fatal(err)
			}
		})
	})
}
