package judges

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	openaioption "github.com/openai/openai-go/v3/option"

	"sluice/e2e/replay"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// canned answers every request with the same stream, without a network: what is measured is the
// reader.
type canned []byte

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Request: r, ContentLength: -1,
		Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}, Body: io.NopCloser(bytes.NewReader(c)),
	}, nil
}

// deltas is how many pieces of text the streams have that are measured.
const deltas = 2000

// stream repeats a chunk as its API sends it between what opens and ends an answer.
func stream(open, delta, end string) canned {
	return canned(open + string(bytes.Repeat([]byte(delta), deltas)) + end)
}

// race is one protocol, read by us and by its library.
type race struct {
	name   string
	api    string
	body   canned
	theirs func(context.Context) (chunks int, err error)
	factor float64 // how much less of the CPU we are to take, at least
}

func races() []race {
	chatBody := stream("",
		`data: {"id":"chatcmpl-CkMdZ0lXTBFLOCnQwKTJlBr7Xm7Ng","object":"chat.completion.chunk","created":1775700000,"model":"gpt-4o-mini-2024-07-18","service_tier":"default","system_fingerprint":"fp_560af6e559","choices":[{"index":0,"delta":{"content":" several words of an answer"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"Zx0QbTz"}`+"\n\n",
		`data: {"id":"chatcmpl-CkMdZ0lXTBFLOCnQwKTJlBr7Xm7Ng","object":"chat.completion.chunk","created":1775700000,"model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}`+"\n\ndata: [DONE]\n\n")
	responsesBody := stream(`event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","model":"gpt-5","output":[]}}

`, `event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":7,"item_id":"msg_0a1b2c3d4e5f60718293a4b5c6d7e8f9","output_index":1,"content_index":0,"delta":" several words of an answer","logprobs":[],"obfuscation":"Zx0QbTz"}

`, `event: response.completed
data: {"type":"response.completed","sequence_number":9,"response":{"id":"resp_1","object":"response","status":"completed","model":"gpt-5","output":[],"usage":{"input_tokens":10,"output_tokens":5,"total_tokens":15}}}

`)
	messagesBody := stream(`event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

`, `event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" several words of an answer"}}

`, `event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}

event: message_stop
data: {"type":"message_stop"}

`)
	return []race{
		{"chat", replay.Chat, chatBody, readAllChat(chatBody), 4},
		{"responses", replay.Responses, responsesBody, readAllResponses(responsesBody), 4},
		{"messages", replay.Messages, messagesBody, readAllMessages(messagesBody), 4},
	}
}

// The libraries are not asked to join what they read, as our codecs are not.

func readAllChat(body canned) func(context.Context) (int, error) {
	client := openAI("http://api.test/v1", openaioption.WithHTTPClient(&http.Client{Transport: body}))
	return func(ctx context.Context) (n int, err error) {
		s := client.Chat.Completions.NewStreaming(ctx, chatParams())
		defer s.Close()
		for s.Next() {
			if c := s.Current(); len(c.Choices) > 0 && c.Choices[0].Delta.Content != "" {
				n++
			}
		}
		return n, s.Err()
	}
}

func readAllResponses(body canned) func(context.Context) (int, error) {
	client := openAI("http://api.test/v1", openaioption.WithHTTPClient(&http.Client{Transport: body}))
	return func(ctx context.Context) (n int, err error) {
		s := client.Responses.NewStreaming(ctx, responsesParams())
		defer s.Close()
		for s.Next() {
			if e := s.Current(); e.Type == "response.output_text.delta" && e.Delta != "" {
				n++
			}
		}
		return n, s.Err()
	}
}

func readAllMessages(body canned) func(context.Context) (int, error) {
	client := anthropicClient("http://api.test", anthropicoption.WithHTTPClient(&http.Client{Transport: body}))
	return func(ctx context.Context) (n int, err error) {
		s := client.Messages.NewStreaming(ctx, messagesParams())
		defer s.Close()
		for s.Next() {
			if e, ok := s.Current().AsAny().(anthropic.ContentBlockDeltaEvent); ok && e.Delta.Text != "" {
				n++
			}
		}
		return n, s.Err()
	}
}

// ours returns what reads the race's stream with our model.
func (r *race) ours(t testing.TB) func(context.Context) (int, error) {
	m, err := replay.Open(replay.Spec(r.api, "http://api.test/v1/"+r.api), model.Options{Transport: r.body})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return func(ctx context.Context) (n int, err error) {
		err = m.Stream(ctx, replay.Hello(), func(c *chat.Chunk) error {
			for _, p := range c.Parts {
				if p.Text != "" {
					n++
				}
			}
			return nil
		})
		return n, err
	}
}

// Reading a stream takes us a fraction of what it takes its library: the best of some
// rounds counts, in which we and they take turns, so that a busy machine slows both.
func TestCost(t *testing.T) {
	for _, r := range races() {
		t.Run(r.name, func(t *testing.T) {
			ours, theirs := r.ours(t), r.theirs
			bestOurs, bestTheirs := time.Hour, time.Hour
			for range 15 {
				bestOurs = min(bestOurs, cost(t, ours))
				bestTheirs = min(bestTheirs, cost(t, theirs))
			}
			factor := float64(bestTheirs) / float64(bestOurs)
			t.Logf("a delta takes us %v, the library %v: %.1f times as long", bestOurs/deltas, bestTheirs/deltas, factor)
			if factor < r.factor {
				t.Errorf("the library takes %.1f times as long as we, want %v", factor, r.factor)
			}
		})
	}
}

// cost returns how much CPU this process has used until read has ended.
func cost(t *testing.T, read func(context.Context) (int, error)) time.Duration {
	t.Helper()
	runtime.GC()
	start := used(t)
	n, err := read(t.Context())
	elapsed := used(t) - start
	if err != nil || n != deltas {
		t.Fatal(fmt.Errorf("%d deltas: %w", n, err))
	}
	return elapsed
}

func BenchmarkDelta(b *testing.B) {
	for _, r := range races() {
		for who, read := range map[string]func(context.Context) (int, error){"ours": r.ours(b), "theirs": r.theirs} {
			b.Run(r.name+"/"+who, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if n, err := read(b.Context()); err != nil || n != deltas {
						b.Fatal(n, err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/deltas, "ns/delta")
			})
		}
	}
}
