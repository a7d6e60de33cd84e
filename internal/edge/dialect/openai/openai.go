// Package openai speaks OpenAI's Chat Completions and Responses, as its SDKs and what stands on
// them send and read them: POST /v1/chat/completions and /v1/responses as a stream or as one
// document, responses that are kept, and GET /v1/models.
//
// A frame of Chat Completions, byte for byte:
//
//	data: {"id":"chatcmpl-req_0123456789ab","object":"chat.completion.chunk",...}
//
// and at the end data: [DONE]. Calls that the gateway's servers run are in no chunk: a client
// would run what stands in tool_calls too. One of Responses, where they are items of their own:
//
//	event: response.output_text.delta
//	data: {"type":"response.output_text.delta","sequence_number":4,...}
package openai

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Names of the two protocols in metrics and logs, and in what is kept of a turn.
const (
	chatName      = "chat_completions"
	responsesName = "responses"
)

// Config describes a Server. Its zero value serves the default agent alone.
type Config struct {
	Rules dialect.Rules
	// Models returns the ids of agents and of workflows that somebody of a tenant may name. It is asked for
	// each request. nil: there are none.
	Models func(tenant string) (agents, workflows []string)
	// Began is since when the models are there, as GET /v1/models reports it.
	Began time.Time
	// Turns are the turns of a store, and the responses of them; nil: there is no store.
	Turns Turns
}

// Server answers the SDKs' requests. It is safe for concurrent use. Use New.
type Server struct{ cfg Config }

// New returns a Server.
func New(cfg Config) *Server {
	if cfg.Models == nil {
		cfg.Models = func(string) (agents, workflows []string) { return nil, nil }
	}
	return &Server{cfg: cfg}
}

// Routes implements dialect.Dialect. The last two routes have no
// method: they word the refusals of all other paths.
func (s *Server) Routes() []dialect.Route {
	route := func(method, path string, open func(*http.Request, []byte) (*dialect.Exchange, error)) dialect.Route {
		return dialect.Route{
			Dialect: chatName, Methods: []string{method}, Path: path, MaxBody: s.cfg.Rules.MaxBody(), Open: open, Refuse: refuse,
			NoBody: method == http.MethodGet, Mixed: method == http.MethodGet, LabelsUsers: true,
		}
	}
	completions := route(http.MethodPost, "/v1/chat/completions", s.open)
	completions.Resume, completions.Repeats = resume, repeats
	responses := route(http.MethodPost, "/v1/responses", s.create)
	responses.Dialect, responses.Repeats = responsesName, repeats
	kept := func(method, path string, use dialect.Use, open func(*http.Request, []byte) (*dialect.Exchange, error)) dialect.Route {
		rt := route(method, path, open)
		rt.Dialect, rt.NoBody, rt.Mixed, rt.Use = responsesName, true, true, use
		return rt
	}
	models := func(path string, open func(*http.Request, []byte) (*dialect.Exchange, error)) dialect.Route {
		rt := route(http.MethodGet, path, open)
		rt.Use = dialect.Read
		return rt
	}
	return []dialect.Route{
		completions,
		models("/v1/models", s.list),
		models("/v1/models/{id...}", s.show),
		responses,
		kept(http.MethodGet, "/v1/responses/{id}", dialect.Read, s.response),
		kept(http.MethodDelete, "/v1/responses/{id}", dialect.Free, s.drop),
		kept(http.MethodPost, "/v1/responses/{id}/cancel", dialect.Free, s.cancel),
		{Dialect: chatName, Path: "/v1", Refuse: refuse},
		{Dialect: chatName, Path: "/v1/{rest...}", Refuse: refuse},
	}
}

// repeats reads what the SDKs count: they send a request again by themselves.
func repeats(r *http.Request) int {
	n, _ := strconv.Atoi(r.Header.Get("X-Stainless-Retry-Count"))
	return n
}

// own begins the names of models that are the gateway's.
const own = dialect.DefaultModel

// chosen is what a model's name stands for; all empty: the default agent or the router.
type chosen struct{ agent, workflow string }

// tenantOf returns whose catalogue a request is about.
func tenantOf(r *http.Request) string { return chat.TurnOf(r.Context()).Principal.Tenant }

// choose returns what a name stands for.
func (s *Server) choose(tenant, name string) (c chosen, ok bool) {
	id, named := s.cfg.Rules.Models[name]
	if !named {
		if id, ok = strings.CutPrefix(name, own+"/"); !ok {
			return c, name == own
		}
	}
	agents, workflows := s.cfg.Models(tenant)
	switch {
	case slices.Contains(agents, id):
		return chosen{agent: id}, true
	case slices.Contains(workflows, id):
		return chosen{workflow: id}, true
	}
	return c, named && id == own
}

// names lists the models that a client may name.
func (s *Server) names(tenant string) []string {
	agents, workflows := s.cfg.Models(tenant)
	all := []string{own}
	for _, id := range append(slices.Clone(agents), workflows...) {
		all = append(all, own+"/"+id)
	}
	var more []string
	for name := range s.cfg.Rules.Models {
		if _, ok := s.choose(tenant, name); ok {
			more = append(more, name)
		}
	}
	slices.Sort(more)
	return slices.Compact(append(all, more...))
}

// model is an entry of GET /v1/models.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func (s *Server) model(name string) model {
	return model{name, "model", max(s.cfg.Began.Unix(), 0), own}
}

// list answers GET /v1/models.
func (s *Server) list(r *http.Request, _ []byte) (*dialect.Exchange, error) {
	all := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{Object: "list"}
	for _, name := range s.names(tenantOf(r)) {
		all.Data = append(all.Data, s.model(name))
	}
	return document(all)
}

// show answers GET /v1/models/{id}.
func (s *Server) show(r *http.Request, _ []byte) (*dialect.Exchange, error) {
	name := r.PathValue("id")
	if _, ok := s.choose(tenantOf(r), name); !ok {
		return nil, noModel()
	}
	return document(s.model(name))
}

func document(v any) (*dialect.Exchange, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &dialect.Exchange{Reply: dialect.JSON(text)}, nil
}

// noModelText is the sentence about a model that there is none of.
const noModelText = "There is no such model; GET /v1/models lists them"

func noModel() error { return &fault.Error{Type: fault.NotFound, Message: noModelText} }

// open reads the request of a turn.
func (s *Server) open(r *http.Request, body []byte) (*dialect.Exchange, error) {
	e := new(chat.ValidationError)
	q := s.read(body, e)
	key, err := dialect.HeaderKey(r, faultOf(e))
	if err != nil {
		return nil, err
	}
	by, ok := s.choose(tenantOf(r), q.model)
	if !ok {
		return nil, noModel()
	}
	q.assign(by)
	x := &dialect.Exchange{Request: q.request, Repetition: dialect.Repetition{Key: key}, Mode: q.mode(), Header: http.Header{}, Facts: q.facts()}
	dialect.AddIgnored(x.Header, q.ignored)
	turn := chat.TurnOf(r.Context())
	x.Encoder = newEncoder(turn.RequestID, turn.Began, q.model, q.usage)
	if !q.stream {
		x.Form, x.Words, x.Attach, x.Again = dialect.Document, hasWords, true, again
		x.Encoder = newCollector(turn.RequestID, turn.Began, q.model)
	}
	return x, nil
}

// faultOf is nil if there is no fault.
func faultOf(e *chat.ValidationError) error {
	if len(e.Fields) == 0 {
		return nil
	}
	return e
}

// facts are what the encoder of a log must know.
type facts struct {
	Model string `json:"model"`
	Usage bool   `json:"usage,omitempty"`
}

// resume returns the encoder of a stream that is kept. A turn that was asked for in another
// protocol has the default model's name.
func resume(k dialect.StoredTurn) stream.Encoder {
	f := factsOf(k)
	return newEncoder(k.RequestID, k.Began, f.Model, f.Usage)
}

// again returns the encoder of a document that a repeated key gets once more.
func again(k dialect.StoredTurn) stream.Encoder {
	return newCollector(k.RequestID, k.Began, factsOf(k).Model)
}

func factsOf(k dialect.StoredTurn) (f facts) {
	if k.Dialect == chatName {
		_ = json.Unmarshal(k.Facts, &f)
	}
	f.Model = cmp.Or(f.Model, own)
	return f
}
