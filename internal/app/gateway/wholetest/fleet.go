package wholetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"sluice/handlers"
	"sluice/internal/app/gateway"
	"sluice/internal/app/settings"
	"sluice/internal/base/testnet"
	"sluice/internal/engine/agent"
	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/offline"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Speaking is a model without a network. With each, every piece of its answer comes by itself: a
// read gets at most one.
type Speaking struct {
	Pieces [][]byte
	each   bool
}

// NewSpeaking returns a model that answers in n pieces, each of them flushed or all at once.
func NewSpeaking(n int, each bool) Speaking {
	s := Speaking{each: each}
	for i := range n {
		finish := ""
		if i == n-1 {
			finish = `,"finishReason":"STOP"`
		}
		s.Pieces = append(s.Pieces, fmt.Appendf(nil, "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"twelve bytes\"}]}%s}],\"usageMetadata\":{\"promptTokenCount\":10,\"candidatesTokenCount\":5},\"modelVersion\":\"m\"}\r\n\r\n", finish))
	}
	return s
}

// RoundTrip implements http.RoundTripper.
func (s Speaking) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	var body io.Reader = bytes.NewReader(bytes.Join(s.Pieces, nil))
	if s.each {
		body = &onePiece{slices.Clone(s.Pieces)}
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body),
	}, nil
}

// onePiece reads one piece at a time.
type onePiece struct{ remaining [][]byte }

func (p *onePiece) Read(into []byte) (int, error) {
	if len(p.remaining) == 0 {
		return 0, io.EOF
	}
	n := copy(into, p.remaining[0])
	if p.remaining[0] = p.remaining[0][n:]; len(p.remaining[0]) == 0 {
		p.remaining = p.remaining[1:]
	}
	return n, nil
}

// WithoutBeats returns a stream without its heartbeats.
func WithoutBeats(body string) string { return strings.ReplaceAll(body, ": ping\n\n", "") }

// Silent is a model that nobody is to ask.
func Silent() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
}

// Remembered is the section of a file by which conversations are remembered.
const Remembered = "\nmemory: {enabled: true}\n"

// House makes the fleet's gateways those of the example with three agents, whose model is
// the offline one.
func (f *Fleet) House(more string) *RequestLog {
	f.T.Helper()
	file, err := os.ReadFile(filepath.Join(Root(), "examples/home/sluice.yaml"))
	if err != nil {
		f.T.Fatal(err)
	}
	f.File = string(file) + more
	sim := geminisim.New(geminisim.Config{Model: offline.Model{}, Roles: offline.Roles()})
	model := &RequestLog{next: sim}
	f.Gemini = model
	f.T.Cleanup(func() {
		for _, failure := range sim.Failures() {
			f.T.Errorf("the model was sent what it does not expect: %s", failure)
		}
	})
	return model
}

// RequestLog keeps the requests to a model.
type RequestLog struct {
	next   http.Handler
	mu     sync.Mutex // guards the field below
	bodies []string
}

// ServeHTTP implements http.Handler.
func (h *RequestLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	h.mu.Lock()
	h.bodies = append(h.bodies, string(body))
	h.mu.Unlock()
	h.next.ServeHTTP(w, r)
}

// All returns the bodies of the requests so far.
func (h *RequestLog) All() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.bodies)
}

// ContentsOf returns the texts of a conversation that the model got.
//
// The lines of the time are left out.
func ContentsOf(t *testing.T, body string) string {
	t.Helper()
	var req struct {
		Contents []struct {
			Role  string
			Parts []struct {
				Text             string
				FunctionCall     *struct{ Name string }
				FunctionResponse *struct {
					Name     string
					Response json.RawMessage
				}
				ThoughtSignature string
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &req); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range req.Contents {
		text := c.Role + ":"
		for _, p := range c.Parts {
			switch {
			case p.FunctionCall != nil:
				text += " call " + p.FunctionCall.Name
				if p.ThoughtSignature != "" {
					text += " signed"
				}
			case p.FunctionResponse != nil:
				text += " result " + p.FunctionResponse.Name
			default:
				if !timeOfMoment.MatchString(p.Text) {
					text += " " + timeLine.ReplaceAllString(p.Text, "")
				}
			}
		}
		all = append(all, text)
	}
	return strings.Join(all, "|")
}

// timeLine matches the line of the time in front of a message.
var timeLine = regexp.MustCompile(`(?m)^Now it is .+ in the time zone .+\)\.\n\n`)

// timeOfMoment matches the moment's part of a request with its own history, if it has the time alone.
var timeOfMoment = regexp.MustCompile(`^Added by the gateway, not by the user:\nNow it is .+ in the time zone .+\)\.$`)

// InPieces is a model whose answer comes in pieces, each by itself. Gate, if it is not nil, holds
// back the pieces behind the first two until it is closed.
type InPieces struct {
	Speaking
	Gate chan struct{}
}

// ServeHTTP implements http.Handler.
func (p InPieces) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	for i, piece := range p.Pieces {
		if i == 2 && p.Gate != nil {
			select {
			case <-p.Gate:
			case <-r.Context().Done():
				return
			}
		}
		_, _ = w.Write(piece)
		_ = http.NewResponseController(w).Flush()
	}
}

// Slow answers with a word a second, so often.
type Slow struct {
	Words int
	Runs  *int
}

// Run implements stream.Runner.
func (s Slow) Run(ctx context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
	*s.Runs++
	for range s.Words {
		if err := sink.Emit(&stream.Delta{Text: "word "}); err != nil {
			return stream.Result{}, err
		}
		if err := sink.Flush(); err != nil {
			return stream.Result{}, err
		}
		select {
		case <-ctx.Done():
			return stream.Result{}, context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
	return stream.Result{Reason: stream.Stop}, nil
}

// Fleet is gateways that share a store, and a slow model.
type Fleet struct {
	T     *testing.T
	Store store.Store
	Runs  int
	Words int // of the slow runner's answer; 0: five
	// Runner answers; nil: the slow one.
	Runner stream.Runner
	// gemini is the model; nil: a slow runner answers in its place.
	Gemini http.Handler
	File   string // text of the configuration file; empty without one
	Door   handlers.Door
}

// configFile returns the configuration file. With a Door it names a method, in whose place the Door is.
func (f *Fleet) configFile() string {
	if f.Door == nil || strings.Contains(f.File, "auth:") {
		return f.File
	}
	return "auth: {proxy: {from: [192.0.2.1]}}\n" + f.File
}

// Gateway starts one.
func (f *Fleet) Gateway(env map[string]string) Peer {
	f.T.Helper()
	all := map[string]string{"GEMINI_API_KEY": Key, "GEMINI_BASE_URL": "http://gemini", "SLUICE_HEARTBEAT": "0"}
	if f.File != "" {
		all["SLUICE_CONFIG"] = "sluice.yaml"
		all["SLUICE_STORE"] = "memory" // so that the file may ask for more
	}
	for name, value := range env {
		all[name] = value
	}
	var file settings.File
	cfg, err := settings.LoaderWith(&file).Load(nil, func(name string) (string, bool) { v, ok := all[name]; return v, ok },
		func(string) ([]byte, error) { return []byte(f.configFile()), nil })
	if err != nil {
		f.T.Fatal(err)
	}
	with := gateway.Seams{
		Store: f.Store, Door: f.Door, Gemini: testnet.Serve(f.T, Silent()),
		Runner: func(*agent.Agent) stream.Runner { return f.runnerOf() },
	}
	if f.Gemini != nil {
		with.Gemini, with.Runner = testnet.Serve(f.T, f.Gemini), nil
	}
	g, err := gateway.New(f.T.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.Nop(), with)
	if err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(g.Close)
	return Peer{Client: http.Client{Transport: testnet.Serve(f.T, g)}}
}

// runnerOf returns the runner in place of an agent.
func (f *Fleet) runnerOf() stream.Runner {
	if f.Runner != nil {
		return f.Runner
	}
	return Slow{Words: max(5, f.Words), Runs: &f.Runs}
}

// InFleetNamed is InFleet for a part of a test.
func InFleetNamed(t *testing.T, name string, test func(t *testing.T, f *Fleet)) {
	t.Run(name, func(t *testing.T) { InFleet(t, test) })
}

// InFleet runs a test in a bubble.
func InFleet(t *testing.T, test func(t *testing.T, f *Fleet)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		test(t, &Fleet{T: t, Store: memory.New(memory.Config{})})
		time.Sleep(time.Minute) // until the turns whose clients have left are over
	})
}

// StartOf reads a stream up to its first piece of text, and returns what Start reported.
func StartOf(t *testing.T, resp *http.Response) (read string, task, turn string) {
	t.Helper()
	var text bytes.Buffer
	r := bufio.NewReader(resp.Body)
	for !strings.Contains(text.String(), "event: response_delta\n") || !strings.HasSuffix(text.String(), "\n\n") {
		line, err := r.ReadString('\n')
		text.WriteString(line)
		if err != nil {
			t.Fatalf("%v after\n%s", err, text.String())
		}
	}
	var start struct {
		Task string `json:"task_id"`
		Turn string `json:"turn_id"`
	}
	_, data, _ := strings.Cut(text.String(), "data: ")
	if err := json.NewDecoder(strings.NewReader(data)).Decode(&start); err != nil {
		t.Fatal(err)
	}
	return text.String(), start.Task, start.Turn
}

// Created is the body of a request for a turn of a conversation.
const Created = `{"input":"hi","conversation_id":"conv_1","user_id":"ann"}`

// Document is what tests look at of a task.
type Document struct {
	ID, ContextID string
	Status        struct{ State string }
	History       []struct{ Role, Content string }
	Artifacts     []struct{ Parts []struct{ Text string } }
	Metadata      struct{ Turns []string }
}
