// Package geminisim speaks the wire protocol of the Gemini API without the API.
//
// With a Script it is a fake for tests: it replies as scripted, misbehaves on demand and checks the
// requests. Without one a Model decides what to say, and the server streams that as the real API
// does.
//
// In both roles it refuses requests that the real API would refuse, in the API's
// words, so that a driver which gets along with it gets along with Gemini. It
// imports nothing of Sluice and shares no code with the driver: it is its judge.
//
// A request is decoded strictly (request.go), held against the documented rules (strict.go,
// turns.go, schema.go) and answered: by the next block of a script (script.go, directives.go) or by
// a Model. A Server is safe for concurrent use and starts no goroutine. It remembers its refusals
// too (Failures), so that a test fails although its client got the refusal.
package geminisim

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	maxBody     = 20 << 20 // bytes of a request, the API's own limit
	keptCalls   = 1000     // requests that Server.Requests returns at most
	keptFailure = 100      // texts that Server.Failures returns at most
)

// Config describes a Server. Its zero value says OK to everything.
type Config struct {
	// Script makes the server a fake that answers from it.
	Script *Script
	// Model answers requests without a script; nil answers only OK.
	Model Model
	// FirstDelay is how long the model thinks before its first chunk, and Pace how
	// long it pauses between two chunks. A script has delays of its own.
	FirstDelay, Pace time.Duration
	// RequireKey is the only API key that is let in. "" lets in anyone.
	RequireKey string
	// Roles answer requests for structured output that they know, first come first
	// served; the rest get the smallest value that their schema allows.
	Roles []Role
	// Refuse names members of generationConfig, and of its thinkingConfig, that the
	// model does not take: a request with any of them is refused, the first one first.
	Refuse []string
	// Foreign lets calls of other models in, whose first of a turn carries the API's
	// documented stand-in for a signature. Without it that is taken for an attempt to get
	// around the rule.
	Foreign bool
}

// Server is an http.Handler with the endpoints of one Gemini API. It is safe for
// concurrent use.
type Server struct {
	cfg Config

	mu       sync.Mutex // guards the fields below
	calls    int
	requests []Request
	failures []string

	issued ledger
}

// Request is one call of the server.
type Request struct {
	Method string
	URL    string // path and query
	Header http.Header
	Body   []byte
}

// New returns a server.
func New(cfg Config) *Server {
	if cfg.Model == nil {
		cfg.Model = wordless{}
	}
	return &Server{cfg: cfg, issued: ledger{foreign: cfg.Foreign}}
}

// Requests returns the first 1000 calls of a scripted server, in order of
// arrival. A server with a model keeps none.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Calls returns how many calls there were so far.
func (s *Server) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// Failures returns the faults of the calls so far, at most 100: broken expectations of the script,
// requests that the API would refuse, and requests after the script's end.
func (s *Server) Failures() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.failures...)
}

// Unused returns how many responses of the script no request has asked for.
func (s *Server) Unused() int {
	if s.cfg.Script == nil {
		return 0
	}
	return max(0, len(s.cfg.Script.responses)-s.Calls())
}

// ServeHTTP answers one call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A simulated answer must never pass for one of the real API.
	w.Header().Set("Server", "geminisim")
	w.Header().Set("X-Geminisim", "simulator")
	rest, found := strings.CutPrefix(r.URL.Path, "/v1beta/models/")
	model, method, _ := strings.Cut(rest, ":")
	out := &reply{w: w, ctx: r.Context(), model: model}
	if !found || model == "" {
		out.refuse(&apiError{Code: http.StatusNotFound, Status: statusName(http.StatusNotFound), Message: "Requested entity was not found."})
		return
	}
	switch r.Method + " " + method {
	case "GET ":
		s.describeModel(out, r)
	case "POST generateContent":
		out.framing = framingUnary
		s.generateContent(out, r)
	case "POST streamGenerateContent":
		out.framing = streamFraming(r)
		s.generateContent(out, r)
	default:
		out.refuse(&apiError{Code: http.StatusNotFound, Status: statusName(http.StatusNotFound),
			Message: fmt.Sprintf("models/%s is not found for API version v1beta, or is not supported for %s. Call ModelService.ListModels to see the list of available models and their supported methods.", model, method)})
	}
}

// streamFraming returns the framing that the query asks for. Without alt=sse the service sends one
// JSON array.
func streamFraming(r *http.Request) framing {
	q := r.URL.Query()
	if q.Get("alt") == "sse" || q.Get("$alt") == "sse" {
		return framingSSE
	}
	return framingArray
}

// describeModel answers GET /v1beta/models/{model}.
func (s *Server) describeModel(out *reply, r *http.Request) {
	if err := keyRejected(r, s.cfg.RequireKey); err != nil {
		out.refuse(err)
		return
	}
	b, err := json.Marshal(struct {
		Name        string   `json:"name"`
		Version     string   `json:"version"`
		DisplayName string   `json:"displayName"`
		Description string   `json:"description"`
		Input       int      `json:"inputTokenLimit"`
		Output      int      `json:"outputTokenLimit"`
		Methods     []string `json:"supportedGenerationMethods"`
	}{
		Name: "models/" + out.model, Version: s.cfg.Model.Version(), DisplayName: "Simulator",
		Description: "A deterministic simulator of the Gemini API, not a model.",
		Input:       1 << 20, Output: 1 << 16,
		Methods: []string{"generateContent"},
	}, jsontext.WithIndent("  "))
	if err != nil {
		panic(err) // a struct of strings and numbers
	}
	out.framing = framingUnary
	_ = out.write(string(b) + "\n") // fails only when the client is gone
}

// generateContent answers both methods that generate.
func (s *Server) generateContent(out *reply, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(out.w, r.Body, maxBody))
	if err != nil {
		out.refuse(bodyFault(err))
		return
	}
	n := s.recordCall(r, body)
	out.id = responseID(digest(body))
	if err := keyRejected(r, s.cfg.RequireKey); err != nil {
		s.refuse(out, n, err)
		return
	}
	if s.cfg.Script != nil {
		s.playScript(out, r, n, body)
		return
	}
	req, fault := s.acceptRequest(out.model, body)
	if fault != nil {
		s.refuse(out, n, fault)
		return
	}
	s.streamAnswer(out, req, digest(body))
}

// bodyFault words the fault of an incomplete body.
func bodyFault(err error) *apiError {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return invalidRequest(fmt.Sprintf("Request payload size exceeds the limit: %d bytes.", maxBody))
	}
	return invalidRequest("The request body could not be read.")
}

// acceptRequest decodes a request and applies the strict rules.
func (s *Server) acceptRequest(model string, body []byte) (*request, *apiError) {
	req, err := decodeRequest(body)
	if err != nil {
		return nil, err
	}
	if err := refusedMember(s.cfg.Refuse, body); err != nil {
		return nil, err
	}
	return req, checkRequest(model, req, &s.issued)
}

// recordCall counts the call and returns its number, from 1.
func (s *Server) recordCall(r *http.Request, body []byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.cfg.Script != nil && len(s.requests) < keptCalls {
		s.requests = append(s.requests, Request{
			Method: r.Method, URL: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body,
		})
	}
	return s.calls
}

// refuse answers with err and keeps it for Failures.
func (s *Server) refuse(out *reply, n int, err *apiError) {
	s.recordFailure(fmt.Sprintf("request %d: %s", n, strings.TrimSpace(err.Message)))
	out.refuse(err)
}

// recordFailure keeps a failed expectation for the test to report. Their number is
// bounded: a loop of a client may break the same one for minutes. It is safe
// for concurrent use.
func (s *Server) recordFailure(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.failures) < keptFailure {
		s.failures = append(s.failures, text)
	}
}
