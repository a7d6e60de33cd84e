package a2a

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/log"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// call is one request on its way through a transport.
type call struct {
	envelope
	request   *http.Request
	body      []byte
	agent     string // of the path; empty: the team
	principal chat.Principal
	events    bool // the client wants the extension

	// reached is true if the transport could read the request. Otherwise its reply is reworded.
	reached bool
	// Results of the handler. At most one is set; else the transport's reply is the reply.
	turn *dialect.Exchange
	err  error
}

// callKey is the key of a call in the context that the SDK passes through.
type callKey struct{}

// callOf returns the call of a context, for a handler, and marks it as reached.
func callOf(ctx context.Context) *call {
	c := ctx.Value(callKey{}).(*call)
	c.reached = true
	return c
}

// errHandled informs the transport that the handler answers by itself.
var errHandled = errors.New("answered elsewhere")

// newCall reads the head of a request.
func (s *Server) newCall(r *http.Request, body []byte, w wire) (*call, error) {
	body = wholeNumbers(chat.ReplaceLoneSurrogates(body))
	c := &call{envelope: envelope{wire: w}, request: r, body: body, agent: r.PathValue("id"), principal: chat.TurnOf(r.Context()).Principal}
	if c.agent != "" {
		if _, ok := s.exposedAgent(c.agent); !ok {
			return nil, &fault.Error{Type: fault.NotFound, Message: "There is no such agent"}
		}
	}
	if len(body) > 0 && !isJSON(r.Header) {
		return nil, &fault.Error{Type: fault.UnsupportedMediaType, Message: "Send the request as Content-Type: application/json"}
	}
	c.events = s.cfg.Native != nil && wantsExtension(r.Header)
	return c, nil
}

// isJSON says whether a body is of one of the types that the protocol has for JSON.
func isJSON(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && (kind == "application/json" || kind == "application/a2a+json")
}

// wantsExtension says whether a client asks for the extension.
func wantsExtension(h http.Header) bool {
	for _, name := range []string{sdk.SvcParamExtensions, "X-" + sdk.SvcParamExtensions} {
		for _, line := range h.Values(name) {
			for uri := range strings.SplitSeq(line, ",") {
				if strings.TrimSpace(uri) == extensionURI {
					return true
				}
			}
		}
	}
	return false
}

// requestedVersion returns which version a client asks for: by header or query, else old says. The
// third number of a version does not count.
func (s *Server) requestedVersion(r *http.Request, old bool) (v03 bool, err error) {
	given := r.Header.Get(sdk.SvcParamVersion)
	for name, values := range r.URL.Query() {
		if given == "" && strings.EqualFold(name, sdk.SvcParamVersion) {
			given = values[0]
		}
	}
	major, rest, _ := strings.Cut(strings.TrimSpace(given), ".")
	minor, _, _ := strings.Cut(rest, ".")
	switch {
	case given == "":
		v03 = old
	case major == "0" && minor == "3":
		v03 = true
	case major == "1" && minor == "0":
	default:
		return false, sdk.NewError(sdk.ErrVersionNotSupported, "This version of A2A is not supported; "+s.supportedVersions())
	}
	if v03 && !s.cfg.V03 {
		return false, sdk.NewError(sdk.ErrVersionNotSupported, "This version of A2A is not supported; "+s.supportedVersions())
	}
	return v03, nil
}

// supportedVersions says which versions are spoken, for a refusal.
func (s *Server) supportedVersions() string {
	if s.cfg.V03 {
		return "supported are 1.0 and 0.3"
	}
	return "1.0 is"
}

// openRPC reads a request of JSON-RPC.
func (s *Server) openRPC(r *http.Request, body []byte) (*dialect.Exchange, error) {
	c, err := s.newCall(r, body, rpc10)
	if err != nil {
		return nil, err
	}
	body = c.body
	var req struct {
		Version jsontext.Value `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Method  jsontext.Value `json:"method"`
		Params  jsontext.Value `json:"params"`
	}
	value := jsontext.Value(body)
	switch {
	case !value.IsValid():
		return c.refuseWith(sdk.NewError(sdk.ErrParseError, "The body is not valid JSON in UTF-8, or repeats a key"))
	case value.Kind() != '{':
		return c.refuseWith(sdk.NewError(sdk.ErrInvalidRequest, "The body must be one request of JSON-RPC; batches are not supported"))
	}
	_ = json.Unmarshal(body, &req) // it is valid
	if !isID(req.ID) {
		return c.refuseWith(sdk.NewError(sdk.ErrInvalidRequest, "id must be a string or a number that fits 64 bits"))
	}
	c.id = req.ID
	if string(req.Version) != `"2.0"` {
		return c.refuseWith(sdk.NewError(sdk.ErrInvalidRequest, `jsonrpc must be "2.0"`))
	}
	if req.Method.Kind() != '"' {
		return c.refuseWith(sdk.NewError(sdk.ErrInvalidRequest, "method must be a string"))
	}
	text, _ := jsontext.AppendUnquote(nil, req.Method)
	v03, err := s.requestedVersion(r, strings.Contains(string(text), "/"))
	if err != nil {
		return c.refuseWith(err)
	}
	if v03 {
		c.wire = rpc03
	}
	if k := req.Params.Kind(); k != '{' && (k != 0 || !strings.HasSuffix(string(text), "Card")) {
		return c.refuseWith(sdk.NewError(sdk.ErrInvalidParams, "params must be an object"))
	} else if k == 0 { // the transport refuses a request without params
		c.body = append(bytes.TrimRight(bytes.TrimSpace(body), "}"), `,"params":{}}`...)
	}
	return s.callTransport(c, "/")
}

// isID says whether a value can identify a request. A number that is larger than any float
// could not be sent back.
func isID(v jsontext.Value) bool {
	if v.Kind() == '0' {
		_, err := strconv.ParseFloat(string(v), 64)
		return err == nil
	}
	return v.Kind() == '"'
}

// openREST reads a request of HTTP+JSON.
func (s *Server) openREST(r *http.Request, body []byte) (*dialect.Exchange, error) {
	c, err := s.newCall(r, body, rest10)
	if err != nil {
		return nil, err
	}
	body = c.body
	path := "/" + r.PathValue("rest")
	v03, err := s.requestedVersion(r, path == "/v1" || strings.HasPrefix(path, "/v1/"))
	if err != nil {
		return c.refuseWith(err)
	}
	if v03 {
		c.wire = rest03
	}
	if value := jsontext.Value(body); len(body) > 0 && !value.IsValid() {
		return c.refuseWith(sdk.NewError(sdk.ErrParseError, "The body is not valid JSON in UTF-8, or repeats a key"))
	} else if len(body) > 0 && value.Kind() != '{' {
		return c.refuseWith(sdk.NewError(sdk.ErrInvalidRequest, "The body must be an object"))
	}
	if v03 && len(body) > 0 {
		c.body = renameMembers(body)
	}
	return s.callTransport(c, path)
}

// refuseWith is the exchange of a request that is answered with an error.
func (c *call) refuseWith(err error) (*dialect.Exchange, error) {
	reply := c.errorReply(err, 0)
	return &dialect.Exchange{Reply: &reply}, nil
}

// callTransport sends the request through a transport of a2a-go.
func (s *Server) callTransport(c *call, path string) (*dialect.Exchange, error) {
	ctx := context.WithValue(log.AttachLogger(c.request.Context(), s.discards), callKey{}, c)
	inner := (&http.Request{
		Method: c.request.Method, URL: &url.URL{Path: path, RawQuery: c.request.URL.RawQuery}, Header: c.request.Header,
		Body: readCloser{bytes.NewReader(c.body)}, ContentLength: int64(len(c.body)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	out := &recorder{header: http.Header{}}
	s.wires[c.wire].ServeHTTP(out, inner)
	switch {
	case c.err != nil:
		return nil, c.err
	case c.turn != nil:
		return c.turn, nil
	case out.isRouterReply():
		return nil, &fault.Error{Type: fault.NotFound, Message: "There is nothing at this path, or not with this method"}
	}
	return &dialect.Exchange{Reply: out.toReply(c)}, nil
}

// readCloser is a body that was read already.
type readCloser struct{ *bytes.Reader }

// Close does nothing: the body is in memory.
func (readCloser) Close() error { return nil }

// recorder takes the immediate answer of a transport.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) { r.status = cmp.Or(r.status, status) }

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

// Flush implements http.Flusher, as the transports require.
func (*recorder) Flush() {}

// isRouterReply says that the reply is that of net/http's router, for a path or a method that
// the transport does not know.
func (r *recorder) isRouterReply() bool {
	return r.status == http.StatusMethodNotAllowed || r.status/100 == 3 ||
		r.status == http.StatusNotFound && strings.HasPrefix(r.header.Get("Content-Type"), "text/plain")
}

// toReply returns the transport's reply. A stream's head with one frame, always an error, becomes a
// document.
func (r *recorder) toReply(c *call) *dialect.Reply {
	body := r.body.Bytes()
	status := r.status
	if r.header.Get("Content-Type") == "text/event-stream" {
		_, data, _ := bytes.Cut(body, []byte("data: "))
		body, _, _ = bytes.Cut(data, []byte("\n\n"))
		if !c.wire.isRPC() {
			status = errorStatus(body)
		}
	}
	if !c.reached {
		if reply, ok := c.rewordError(body); ok {
			return reply
		}
	}
	if status >= http.StatusBadRequest && !c.wire.isRPC() {
		body = c.wire.rewordDocument(body)
	}
	return &dialect.Reply{Status: status, ContentType: "application/json", Body: body}
}

// errorStatus returns the status that an error of HTTP+JSON reports.
func errorStatus(body []byte) int {
	var reply struct {
		Error struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	_ = json.Unmarshal(body, &reply)
	if reply.Error.Code < 400 || reply.Error.Code > 599 {
		return http.StatusInternalServerError
	}
	return reply.Error.Code
}
