// Package modelsim speaks Chat Completions, Responses and Messages without the
// models behind them: the plans of package geminisim, in three more protocols.
//
// A geminisim.Model decides what to say, or a Script does. Directives make the
// server misbehave as real endpoints do (ParseScript lists them), for a request of a
// script or, in the header X-Modelsim, for the request that carries it.
//
// Requests that the real endpoints would refuse are refused, in their words. Messages of rules
// stricter than the endpoints' say "a rule of the simulator". It imports nothing of Sluice but the
// plans and shares no code with the codecs: it is their judge.
package modelsim

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/sim/geminisim"
)

const (
	maxBody     = 20 << 20 // bytes of a request
	keptCalls   = 1000     // requests that Server.Requests returns at most
	keptFailure = 100      // texts that Server.Failures returns at most
	// directivesHeader is the header with directives for one request, separated by semicolons.
	directivesHeader = "X-Modelsim"
)

// Config describes a Server. Its zero value says OK to everything.
type Config struct {
	// Name separates servers: one refuses the signatures of another.
	Name string
	// Model answers where the script says nothing. nil: one that only says OK.
	Model geminisim.Model
	// Roles answer requests for structured output that they know.
	Roles []geminisim.Role
	// Script holds answers and directives, a block for each request. nil: none.
	Script *Script
	// FirstDelay is the pause before the first event, Pace the one between two.
	FirstDelay, Pace time.Duration
	// RequireKey is the only API key that is let in. "" lets in anyone.
	RequireKey string
}

// Server is an http.Handler for /v1/chat/completions, /v1/responses and
// /v1/messages. It is safe for concurrent use.
//
// Requests and failures are kept up to a bound, for long tests with many requests.
type Server struct {
	cfg       Config
	protocols map[string]protocol // by path

	mu       sync.Mutex // guards the fields below
	calls    int
	requests []Request
	failures []string
	thought  map[string]bool // digests of the reasoning that was sent without a signature
}

// Request is one call of the server.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte
}

// New returns a server.
func New(cfg Config) *Server {
	if cfg.Model == nil {
		cfg.Model = wordless{}
	}
	return &Server{
		cfg:     cfg,
		thought: map[string]bool{},
		protocols: map[string]protocol{
			"/v1/chat/completions": chatProtocol(),
			"/v1/responses":        responsesProtocol(),
			"/v1/messages":         messagesProtocol(),
		},
	}
}

// wordless is the model of a Server that was given none.
type wordless struct{}

// It names the model of the answers.
func (wordless) Version() string { return "modelsim" }

// It says the same to everything.
func (wordless) Answer(geminisim.Question) geminisim.Answer {
	return geminisim.Answer{Text: "OK."}
}

// Requests returns the first 1000 calls, in order of arrival.
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

// Failures returns the faults of the calls so far, at most 100. They are requests that a real
// endpoint would refuse, without the errors that a directive asked for.
func (s *Server) Failures() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.failures...)
}

// protocol is one of the three ways to ask.
type protocol struct {
	key     func(http.Header) string // the API key of a request
	members map[string]string        // what requests may hold: see members.go
	strict  bool                     // members that it does not know are always refused
	read    func(*turn) *refusal     // checks the body and fills in the turn
	write   func(*turn) answer
	errors  func(*refusal) any  // the body of an error
	forms   map[string]string   // forms of an error within the stream, by name
	done    string              // data of an event after the last; "": none
	stamp   func(h http.Header) // sets the headers of every reply
}

// turn is one request on its way to an answer.
//
// It belongs to the goroutine of its request. directives and protocol are embedded, as
// nearly every method reads them.
type turn struct {
	protocol
	s      *Server
	header http.Header
	body   []byte
	directives
	nonce string // names the answer; derived from the request

	// read fills these in.
	model        string
	stream       bool
	includeUsage bool
	thinks       bool // thoughts are shown
	unreasoned   bool // none are made for the caller
	encrypted    bool // reasoning items are sent so that they can come back
	question     geminisim.Question

	reply geminisim.Answer
}

// ServeHTTP answers one call.
//
// A directive error comes before any check of the request, because a server that is down does not
// read it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A simulated answer must never pass for a real one.
	w.Header().Set("Server", "modelsim")
	w.Header().Set("X-Modelsim", "simulator")
	p, found := s.protocols[r.URL.Path]
	if !found || r.Method != http.MethodPost {
		http.Error(w, "modelsim: no such endpoint", http.StatusNotFound)
		return
	}
	p.stamp(w.Header())
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		rejectRequest(w, p, &refusal{Status: http.StatusRequestEntityTooLarge, Message: "The request could not be read."})
		return
	}
	n := s.record(r, body)
	t := &turn{protocol: p, s: s, header: r.Header, body: body, nonce: nonce(body)}
	t.pace = s.cfg.Pace
	t.first = s.cfg.FirstDelay
	if err := s.direct(t, n, r.Header.Values(directivesHeader)); err != nil {
		s.refuse(w, t, n, &refusal{Status: http.StatusInternalServerError, Message: err.Error()})
		return
	}
	if t.fault != nil { // the endpoint is out of order, whatever it is asked
		t.reject(w)
		return
	}
	if err := t.accept(); err != nil {
		s.refuse(w, t, n, err)
		return
	}
	t.respond()
	out := &writer{w: w, ctx: r.Context(), turn: t}
	out.play(t.write(t))
}

// reject answers with the fault that a directive asks for.
func (t *turn) reject(w http.ResponseWriter) {
	for name, value := range t.faultHeaders {
		w.Header().Set(name, value)
	}
	rejectRequest(w, t.protocol, t.fault)
}

// respond chooses the answer: the script's, or the model's.
func (t *turn) respond() {
	if t.prompted && t.question.Schema == nil {
		t.question.Schema = jsontext.Value("{}")
	}
	if t.answer == nil {
		t.reply = geminisim.Respond(t.s.cfg.Model, t.s.cfg.Roles, t.question)
	} else {
		t.reply = *t.answer
	}
}

// accept applies the strict rules to the request.
//
// The order is that of real servers: the key, the JSON, the members, the rules.
func (t *turn) accept() *refusal {
	if want := t.s.cfg.RequireKey; want != "" && t.key(t.header) != want {
		return &refusal{Status: http.StatusUnauthorized, Type: "authentication_error", Code: "invalid_api_key",
			Message: "Incorrect API key provided. This is a simulator."}
	}
	var doc any
	if err := json.Unmarshal(t.body, &doc); err != nil {
		return invalidMember("", "We could not parse the JSON body of your request. (a rule of the simulator: no duplicate names, no invalid UTF-8)")
	}
	if err := t.checkMembers(doc); err != nil {
		return err
	}
	return t.read(t)
}

// record counts the call and returns its number, from 1.
func (s *Server) record(r *http.Request, body []byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if len(s.requests) < keptCalls {
		s.requests = append(s.requests, Request{Path: r.URL.Path, Header: r.Header.Clone(), Body: body})
	}
	return s.calls
}

// refuse answers with a refusal and keeps it for Failures, unless it was asked for.
func (s *Server) refuse(w http.ResponseWriter, t *turn, n int, e *refusal) {
	if !e.isRequested {
		s.mu.Lock()
		if len(s.failures) < keptFailure {
			s.failures = append(s.failures, fmt.Sprintf("request %d: %s", n, strings.TrimSpace(e.Message)))
		}
		s.mu.Unlock()
	}
	rejectRequest(w, t.protocol, e)
}

// direct gives the turn the directives of the script's block for request n and then
// those of the request itself.
//
// The request's own directives come last and so win.
func (s *Server) direct(t *turn, n int, header []string) error {
	if s.cfg.Script != nil {
		d, err := s.cfg.Script.block(n)
		if err != nil {
			return err
		}
		for _, set := range d {
			set(&t.directives)
		}
	}
	for _, h := range header {
		script, err := ParseScript(strings.ReplaceAll(h, ";", "\n"))
		if err != nil {
			return err
		}
		for _, set := range script.blocks[0] {
			set(&t.directives)
		}
	}
	return nil
}
