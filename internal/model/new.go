package model

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/internal/base/check"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/turn/chat"
)

// Wire describes the part that all requests of a protocol share.
type Wire struct {
	// URL is where requests go; empty: the Spec's Endpoint.
	URL string
	// KeyHeader is the header that the key goes into, behind KeyPrefix.
	KeyHeader, KeyPrefix string
	// Header goes with each request. Headers of the Spec replace it.
	Header map[string]string
	// Event begins the names of the log's events; empty: "model".
	Event string
}

// The headers of keys.
const (
	bearer       = "Bearer "
	bearerHeader = "Authorization"
)

// Bearer returns the Wire of protocols with "Authorization: Bearer".
func Bearer() Wire { return Wire{KeyHeader: bearerHeader, KeyPrefix: bearer} }

// Options are the values that a configured Model needs from the program around it. The zero value
// works.
type Options struct {
	// Transport carries the requests; nil: one of the Model's own.
	Transport http.RoundTripper
	// Proxy is that of http.Transport, for a transport of the Model's own.
	Proxy func(*http.Request) (*url.URL, error)
	// Version of the program, as upstreams receive it.
	Version string
	Metrics *metrics.Registry
	// Log gets the lines that do not belong to a request.
	Log zerolog.Logger
	// Gate admits attempts; nil: any is.
	Gate Gate
}

// New returns the Model that spec configures, whose protocol is codec's. An error is
// about spec and holds no secret.
func New(spec Spec, wire Wire, codec Codec, opts Options) (*Model, error) {
	f, err := spec.Frame(wire, codec, opts)
	if err != nil {
		return nil, err
	}
	return NewModel(f)
}

// Service returns the name of the model's breaker. Errors use the same name for the service.
func (s Spec) Service() string { return "model:" + s.Key }

// Maker returns the Chunk.Maker of the model's answers and the Message.Maker of their messages. A
// model gets back only the parts that it made itself.
func (s Spec) Maker() string { return s.Key + "/" + s.Model }

// Frame returns the description of the Model that New makes.
func (s Spec) Frame(wire Wire, codec Codec, opts Options) (Frame, error) {
	target, err := s.newTarget(wire, opts)
	if err != nil {
		return Frame{}, fmt.Errorf("%s: %w", s.Service(), err)
	}
	guard := s.Breaker
	guard.Service, guard.Log, guard.TurnOf = s.Service(), opts.Log, chat.TurnKeyOf
	return Frame{
		Name:     s.Model,
		Key:      s.Key,
		Provider: s.Provider,
		Maker:    s.Maker(),
		Service:  s.Service(),
		Event:    wire.Event,
		Codec:    codec,
		Target:   target,
		First:    s.First,
		Idle:     s.Idle,
		Retries:  s.Retries,
		Gate:     opts.Gate,
		Breaker:  breaker.New(guard),
		Prefill:  s.Prefill,
		Extra:    s.Extra,
		Secrets:  s.secretValues(),
		Metrics:  opts.Metrics,
		Log:      opts.Log,
	}, nil
}

// newTarget returns where requests go. Headers of the configuration win over those of
// the codec. An error never quotes the key.
func (s Spec) newTarget(wire Wire, opts Options) (Target, error) {
	t := Target{URL: wire.URL, Header: http.Header{}, Transport: opts.Transport, Proxy: opts.Proxy}
	if t.URL == "" {
		t.URL = s.Endpoint
	}
	t.Header.Set("User-Agent", UserAgent(opts.Version))
	for name, value := range wire.Header {
		t.Header.Set(name, value)
	}
	if key := s.APIKey.Reveal(); key != "" && wire.KeyHeader != "" {
		if !check.Key(key) {
			return Target{}, errors.New("the API key holds characters that no header may hold")
		}
		t.Header.Set(wire.KeyHeader, wire.KeyPrefix+key)
	}
	for name, value := range s.Headers { // one named like the key's replaces it
		t.Header.Set(name, value.Reveal())
	}
	return t, nil
}

// secretValues lists the texts that an error must not contain.
func (s Spec) secretValues() []string {
	list := []string{s.APIKey.Reveal()}
	for _, v := range s.Headers {
		list = append(list, v.Reveal())
	}
	return appendValues(list, s.Extra)
}

// shortestValue is the least length of a value of extra that is kept out of errors. Shorter values
// are common words.
const shortestValue = 8

// appendValues appends the texts and numbers in v. Its recursion ends, because v was read with a
// bounded depth.
func appendValues(list []string, v jsontext.Value) []string {
	for _, m := range Members(v) {
		list = appendValues(list, m.Value)
	}
	for _, el := range Elements(v) {
		list = appendValues(list, el)
	}
	text := Unquote(v)
	if v.Kind() == '0' {
		text = string(v)
	}
	if len(text) >= shortestValue {
		list = append(list, text)
	}
	return list
}
