package wholetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/settings"
	"sluice/internal/base/testnet"
)

// FirmFile is an office in which several agents may change things.
const FirmFile = `
agents:
  boss: {description: Leads, role: You are boss., tools: [todo], delegates: [researcher, writer]}
  researcher: {description: Finds things out, role: You are researcher., tools: [todo], delegates: [writer]}
  writer: {description: Writes, role: You are writer., tools: [todo]}
workflows:
  flow: {entry_point: one, nodes: {one: {type: agent, agent: boss}}}
`

// Questions are the questions of an office to a person.
type Questions struct {
	Token string `json:"token"`
	Task  string `json:"task_id"`
	Calls []struct {
		ID     string         `json:"call_id"`
		Tool   string         `json:"tool_name"`
		Agent  string         `json:"agent_id"`
		Args   map[string]any `json:"arguments"`
		Reason string         `json:"reason"`
	} `json:"calls"`
}

// Pauses sends a turn that ends with one question.
func (o *Office) Pauses(body string) (q Questions, stream string) {
	o.T.Helper()
	status, stream := o.Post(body)
	if status != http.StatusOK || strings.Count(stream, "event: approval\n") != 1 || !strings.Contains(stream, `"finish_reason":"approval_required"`) {
		o.T.Fatalf("not one question: %d %s", status, stream)
	}
	DataOf(o.T, stream, "approval", &q)
	return q, stream
}

// Answers sends an answer; the turn ends well.
func (o *Office) Answers(q Questions, members string) (done Done, stream string) {
	o.T.Helper()
	status, stream := o.Post(fmt.Sprintf(`{"approval":{"token":%q,%s}}`, q.Token, members))
	if status != http.StatusOK {
		o.T.Fatalf("%d %s", status, stream)
	}
	if DataOf(o.T, stream, "done", &done); !done.Success {
		o.T.Errorf("%+v\n%s", done, stream)
	}
	return done, stream
}

// Office is a gateway whose agents call one another. Each agent's model says what its
// script says, a list of parts for each of its calls, and the last one for all after.
type Office struct {
	*Flow
	Scripts map[string][]string
	Fails   func(path, who string) bool                // nil: nothing does
	Hangs   func(ctx context.Context, who string) bool // nil: nothing does

	mu     sync.Mutex // guards the field below
	Bodies map[string][]string
}

// OfficeFile is an office whose agents call one another.
const OfficeFile = `
agents:
  boss: {description: Leads, role: You are boss., delegates: [researcher, writer]}
  researcher: {description: Finds things out, role: You are researcher., tools: [todo], delegates: [writer, boss]}
  writer: {description: Writes, role: You are writer., delegates: [reader]}
  reader: {description: Reads, role: You are reader., delegates: [last]}
  last: {description: Is the last, role: You are last.}
workflows:
  flow: {entry_point: one, nodes: {one: {type: agent, agent: boss}}}
`

// OpenOffice starts the gateway of OfficeFile.
func OpenOffice(t *testing.T, env map[string]string, scripts map[string][]string) *Office {
	t.Helper()
	return OpenOfficeOf(t, OfficeFile, env, scripts)
}

// OpenOfficeOf is OpenOffice with another file.
func OpenOfficeOf(t *testing.T, content string, env map[string]string, scripts map[string][]string) *Office {
	t.Helper()
	return OpenOfficeWith(t, content, env, scripts, gateway.Seams{})
}

// OpenOfficeWith is OpenOffice with more of a test's own.
func OpenOfficeWith(t *testing.T, content string, env map[string]string, scripts map[string][]string, with gateway.Seams) *Office {
	t.Helper()
	all := map[string]string{"GEMINI_API_KEY": Key, "GEMINI_BASE_URL": "http://gemini"}
	for name, value := range env {
		all[name] = value
	}
	cfg, file := Configured(t, content, all)
	o := &Office{Scripts: scripts, Bodies: map[string][]string{}}
	with.Gemini = testnet.Serve(t, o)
	g, err := gateway.New(t.Context(), settings.Config{
		Config: cfg, File: file, Version: "test",
	}, zerolog.New(io.Discard), with)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	o.Flow = &Flow{T: t, Gateway: g}
	o.Client.Transport = testnet.Serve(t, g)
	return o
}

// ServeHTTP is Gemini.
func (o *Office) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	who := "nobody"
	for name := range o.Scripts {
		if strings.Contains(string(body), "You are "+name+".") {
			who = name
		}
	}
	if o.Hangs != nil && o.Hangs(r.Context(), who) {
		return
	}
	if o.Fails != nil && o.Fails(r.URL.Path, who) {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	o.mu.Lock()
	o.Bodies[who] = append(o.Bodies[who], string(body))
	script, n := o.Scripts[who], len(o.Bodies[who])
	o.mu.Unlock()
	if len(script) == 0 {
		http.Error(w, `{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}`, http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[%s]},\"finishReason\":\"STOP\"}],"+
		"\"usageMetadata\":{\"promptTokenCount\":10,\"candidatesTokenCount\":1,\"totalTokenCount\":11}}\n\n", script[min(n, len(script))-1])
}

// TextPart is a part of a model's answer that is text.
func TextPart(s string) string {
	text, _ := json.Marshal(s)
	return `{"text":` + string(text) + `}`
}

// CallPart is a part of a model's answer that calls a tool.
func CallPart(name, args string) string {
	return `{"functionCall":{"name":"` + name + `","args":` + args + `},"thoughtSignature":"c2ln"}`
}

// EventsOf returns the data of all events of a name.
func EventsOf(t *testing.T, body, name string) (list []map[string]any) {
	t.Helper()
	for _, frame := range strings.Split(body, "\n\n") {
		if !strings.Contains(frame, "event: "+name+"\n") {
			continue
		}
		_, data, _ := strings.Cut(frame, "data: ")
		var m map[string]any
		if err := json.Unmarshal([]byte(data), &m); err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	return list
}

// LastOf returns the last request to the model of an agent.
func (o *Office) LastOf(agent string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := len(o.Bodies[agent]); n > 0 {
		return o.Bodies[agent][n-1]
	}
	return ""
}
