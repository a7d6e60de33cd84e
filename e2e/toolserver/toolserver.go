// Package toolserver is a small MCP server over HTTP without sessions, as far as a gateway needs
// one. The caller decides the outcome of a call: tests and programs that judge a gateway count
// calls with it, hold them back, or lose them.
//
// It shares no code with the gateway, and uses no library of the protocol, because a judge must not
// share the gateway's mistakes.
package toolserver

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Server is an MCP server. It is safe for concurrent use if Call is.
type Server struct {
	Name string
	List string // its tools as JSON, with commas between them; Tool makes one
	// Call answers a call. An empty reply means that Call has answered by w itself, or that the
	// client has left.
	Call func(w http.ResponseWriter, r *http.Request, c Call) Reply
}

// Call is a call of a tool.
type Call struct {
	Name      string
	Arguments json.RawMessage
}

// Reply is a JSON-RPC reply without its id: a member "result" or "error".
type Reply string

// Text returns the result of a tool with a text.
func Text(text string) Reply { return toolResult(text, "") }

// Failure returns the result of a failed tool, with the reason.
func Failure(text string) Reply { return toolResult(text, `"isError":true,`) }

// toolResult puts text into a result, behind other members.
func toolResult(text, members string) Reply {
	quoted, _ := json.Marshal(text) // of a string it cannot fail
	return Reply(fmt.Sprintf(`"result":{%s"content":[{"type":"text","text":%s}]}`, members, quoted))
}

// Tool returns a tool for Server.List. schema is that of its arguments; annotations are the members
// of an object, or empty.
func Tool(name, about, schema, annotations string) string {
	if annotations != "" {
		annotations = fmt.Sprintf(`,"annotations":{%s}`, annotations)
	}
	return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":%s%s}`, name, about, schema, annotations)
}

// Argument returns the schema of a single argument of a type.
func Argument(name, kind string) string {
	return fmt.Sprintf(`{"type":"object","properties":{%q:{"type":%q}},"required":[%q]}`, name, kind, name)
}

// ServeHTTP answers the few methods that a client needs.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req request
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case json.NewDecoder(r.Body).Decode(&req) != nil:
		w.WriteHeader(http.StatusBadRequest)
		return
	case req.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	reply := s.answerMethod(w, r, &req)
	if reply == "" {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, req.ID, reply)
}

// request is a JSON-RPC request; a notification lacks the id.
type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		ProtocolVersion string
		Call
	}
}

// answerMethod answers the methods that a client needs. Any other method gets an error; a gateway
// can do without it.
func (s *Server) answerMethod(w http.ResponseWriter, r *http.Request, req *request) Reply {
	switch req.Method {
	case "initialize":
		return Reply(fmt.Sprintf(`"result":{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":%q,"version":"1"}}`, req.Params.ProtocolVersion, s.Name))
	case "tools/list":
		return Reply(`"result":{"tools":[` + s.List + `]}`)
	case "tools/call":
		return s.Call(w, r, req.Params.Call)
	case "ping":
		return `"result":{}`
	}
	return `"error":{"code":-32601,"message":"no such method"}`
}
