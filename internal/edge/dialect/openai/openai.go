// Package openai speaks OpenAI's Chat Completions and Responses as the SDKs, and libraries on top
// of them, do: POST /v1/chat/completions and /v1/responses as a stream or as one document,
// responses that are kept, and GET /v1/models.
//
// A frame of Chat Completions, byte for byte:
//
//	data: {"id":"chatcmpl-req_0123456789ab","object":"chat.completion.chunk",...}
//
// and at the end data: [DONE]. Chunks leave out the calls that the gateway's servers run: a client
// would run all tool_calls. A frame of Responses, where such calls are items:
//
//	event: response.output_text.delta
//	data: {"type":"response.output_text.delta","sequence_number":4,...}
//
// The verbs: read (a member), add (a message or fault), open and end (a stretch), append (to a
// frame), store (a record), find (a record).
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

// Names of the two protocols in metrics, logs and stored turns.
const (
	chatName      = "chat_completions"
	responsesName = "responses"
)

// Config describes a Server. Its zero value serves the default agent alone.
type Config struct {
	Rules dialect.Rules
	// Models returns the ids of agents and of workflows that the callers of a tenant may name. It
	// is called for each request. nil stands for an empty catalogue.
	Models func(tenant string) (agents, workflows []string)
	// Began is the time since which the models exist, as GET /v1/models reports it.
	Began time.Time
	// Turns gives access to stored turns and their responses; nil without a store.
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

// Routes implements dialect.Dialect. The last two routes match every method: they word the refusals
// of all other paths.
func (s *Server) Routes() []dialect.Route {
	route := func(method, path string, open func(*http.Request, []byte) (*dialect.Exchange, error)) dialect.Route {
		return dialect.Route{
			Dialect: chatName, Methods: []string{method}, Path: path, MaxBody: s.cfg.Rules.MaxBody(), Open: open, Refuse: refuse,
			NoBody: method == http.MethodGet, Mixed: method == http.MethodGet, LabelsUsers: true,
		}
	}
	completions := route(http.MethodPost, "/v1/chat/completions", s.openCompletion)
	completions.Resume, completions.Repeats = resumeStream, retryCount
	responses := route(http.MethodPost, "/v1/responses", s.openResponse)
	responses.Dialect, responses.Repeats = responsesName, retryCount
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
		models("/v1/models", s.listModels),
		models("/v1/models/{id...}", s.showModel),
		responses,
		kept(http.MethodGet, "/v1/responses/{id}", dialect.Read, s.getResponse),
		kept(http.MethodDelete, "/v1/responses/{id}", dialect.Free, s.deleteResponse),
		kept(http.MethodPost, "/v1/responses/{id}/cancel", dialect.Free, s.cancelResponse),
		{Dialect: chatName, Path: "/v1", Refuse: refuse},
		{Dialect: chatName, Path: "/v1/{rest...}", Refuse: refuse},
	}
}

// retryCount returns how often the SDK has sent the request before, by itself.
func retryCount(r *http.Request) int {
	n, _ := strconv.Atoi(r.Header.Get("X-Stainless-Retry-Count"))
	return n
}

// gatewayModel begins the names of models that are the gateway's.
const gatewayModel = dialect.DefaultModel

// modelTarget is the target of a model name. Both fields are empty for the default agent or the router.
type modelTarget struct{ agent, workflow string }

// tenantOf returns whose catalogue a request is about.
func tenantOf(r *http.Request) string { return chat.TurnOf(r.Context()).Principal.Tenant }

// resolveModel returns the agent or workflow that a model name stands for.
func (s *Server) resolveModel(tenant, name string) (c modelTarget, ok bool) {
	id, named := s.cfg.Rules.Models[name]
	if !named {
		if id, ok = strings.CutPrefix(name, gatewayModel+"/"); !ok {
			return c, name == gatewayModel
		}
	}
	agents, workflows := s.cfg.Models(tenant)
	switch {
	case slices.Contains(agents, id):
		return modelTarget{agent: id}, true
	case slices.Contains(workflows, id):
		return modelTarget{workflow: id}, true
	}
	return c, named && id == gatewayModel
}

// modelNames lists the models that a client may name.
func (s *Server) modelNames(tenant string) []string {
	agents, workflows := s.cfg.Models(tenant)
	all := []string{gatewayModel}
	for _, id := range append(slices.Clone(agents), workflows...) {
		all = append(all, gatewayModel+"/"+id)
	}
	var more []string
	for name := range s.cfg.Rules.Models {
		if _, ok := s.resolveModel(tenant, name); ok {
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

func (s *Server) modelEntry(name string) model {
	return model{name, "model", max(s.cfg.Began.Unix(), 0), gatewayModel}
}

// listModels answers GET /v1/models.
func (s *Server) listModels(r *http.Request, _ []byte) (*dialect.Exchange, error) {
	all := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{Object: "list"}
	for _, name := range s.modelNames(tenantOf(r)) {
		all.Data = append(all.Data, s.modelEntry(name))
	}
	return jsonReply(all)
}

// showModel answers GET /v1/models/{id}.
func (s *Server) showModel(r *http.Request, _ []byte) (*dialect.Exchange, error) {
	name := r.PathValue("id")
	if _, ok := s.resolveModel(tenantOf(r), name); !ok {
		return nil, noModel()
	}
	return jsonReply(s.modelEntry(name))
}

func jsonReply(v any) (*dialect.Exchange, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &dialect.Exchange{Reply: dialect.JSON(text)}, nil
}

// noModelText is the message for an unknown model name.
const noModelText = "There is no such model; GET /v1/models lists them"

func noModel() error { return &fault.Error{Type: fault.NotFound, Message: noModelText} }

// openCompletion reads the request of a turn.
func (s *Server) openCompletion(r *http.Request, body []byte) (*dialect.Exchange, error) {
	e := new(chat.ValidationError)
	q := s.readCompletion(body, e)
	key, err := dialect.HeaderKey(r, faultOf(e))
	if err != nil {
		return nil, err
	}
	by, ok := s.resolveModel(tenantOf(r), q.model)
	if !ok {
		return nil, noModel()
	}
	q.assignModel(by)
	x := &dialect.Exchange{Request: q.request, Repetition: dialect.Repetition{Key: key}, Mode: q.mode(), Header: http.Header{}, Facts: q.encodeFacts()}
	dialect.AddIgnored(x.Header, q.ignored)
	turn := chat.TurnOf(r.Context())
	x.Encoder = newEncoder(turn.RequestID, turn.Began, q.model, q.usage)
	if !q.stream {
		x.Form, x.Words, x.Attach, x.RepeatEncoder = dialect.Document, hasWords, true, repeatEncoder
		x.Encoder = newCollector(turn.RequestID, turn.Began, q.model)
	}
	return x, nil
}

// faultOf returns e, or nil if e has an empty list of faults.
func faultOf(e *chat.ValidationError) error {
	if len(e.Fields) == 0 {
		return nil
	}
	return e
}

// facts are the members of a request that the encoder of its log needs.
type facts struct {
	Model string `json:"model"`
	Usage bool   `json:"usage,omitempty"`
}

// resumeStream returns the encoder of a stream that is kept. A turn that was asked for in another
// protocol has the default model's name.
func resumeStream(k dialect.StoredTurn) stream.Encoder {
	f := factsOf(k)
	return newEncoder(k.RequestID, k.Began, f.Model, f.Usage)
}

// repeatEncoder returns the encoder of a document that a repeated key gets once more.
func repeatEncoder(k dialect.StoredTurn) stream.Encoder {
	return newCollector(k.RequestID, k.Began, factsOf(k).Model)
}

func factsOf(k dialect.StoredTurn) (f facts) {
	if k.Dialect == chatName {
		_ = json.Unmarshal(k.Facts, &f)
	}
	f.Model = cmp.Or(f.Model, gatewayModel)
	return f
}
