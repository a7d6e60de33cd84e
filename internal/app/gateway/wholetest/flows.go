package wholetest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
)

// Serve answers a request with the gateway's reply, and writes it to seen as well. A reply may
// break off.
func (f *Flow) Serve(path, body string, seen io.Writer) string {
	return f.ServeMethod(http.MethodPost, path, body, seen)
}

// ServeMethod is Serve for any method. The headers are pairs.
func (f *Flow) ServeMethod(method, path, body string, seen io.Writer, headers ...string) string {
	req := httptest.NewRequestWithContext(f.T.Context(), method, path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	func() {
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler { // a stream that breaks off
				panic(p)
			}
		}()
		f.ServeHTTP(streaming{w, seen}, req)
	}()
	return w.Body.String()
}

// streaming is a reply that is seen as it is written.
type streaming struct {
	*httptest.ResponseRecorder
	seen io.Writer
}

func (t streaming) Write(p []byte) (int, error) {
	_, _ = t.seen.Write(p)
	return t.ResponseRecorder.Write(p)
}

// StartQuestion begins or continues a run, and returns its task and its next question.
func (f *Flow) StartQuestion(path, body string) (id, question string) {
	f.T.Helper()
	var q struct {
		ID   string `json:"approval_id"`
		Task string `json:"task_id"`
	}
	DataOf(f.T, f.Serve(path, body, io.Discard), "approval", &q)
	return q.Task, q.ID
}

// Answer answers the question of a task.
func (f *Flow) Answer(task, body string) (int, string) {
	f.T.Helper()
	req, _ := http.NewRequestWithContext(f.T.Context(), http.MethodPost, "http://gateway/tasks/"+task+"/decision", strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	resp, err := f.Client.Do(req)
	if err != nil {
		f.T.Fatal(err)
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil {
		f.T.Fatal(err)
	}
	return resp.StatusCode, text.String()
}

// StartOn starts a gateway on a store, with that file.
func StartOn(t *testing.T, in store.Store, file string) *Flow {
	t.Helper()
	cfg, read := Configured(t, file, nil)
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: read, Version: "test"}, zerolog.New(io.Discard), gateway.Seams{Store: in})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	AwaitTools(t, g)
	return &Flow{T: t, Gateway: g}
}

// Begun begins a run that waits, and returns its task.
func (f *Flow) Begun(body string) (id string) {
	f.T.Helper()
	var start struct {
		Task string `json:"task_id"`
	}
	got := f.Serve("/chat/stream", body, io.Discard)
	DataOf(f.T, got, "start", &start)
	if !strings.Contains(got, `"finish_reason":"approval_required"`) {
		f.T.Fatal(got)
	}
	return start.Task
}

// Decides posts a decision and returns the reply.
func (f *Flow) Decides(id, body string) (int, string) {
	return f.Replies("/tasks/"+id+"/decision", body)
}

// Replies posts a body and returns the reply.
func (f *Flow) Replies(path, body string) (int, string) {
	req := httptest.NewRequestWithContext(f.T.Context(), http.MethodPost, path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	f.ServeHTTP(w, req)
	return w.Code, w.Body.String()
}

// Get returns the status and the body of a reply.
func (f *Flow) Get(path string) (int, string) {
	f.T.Helper()
	req, _ := http.NewRequestWithContext(f.T.Context(), http.MethodGet, "http://gateway"+path, nil)
	return f.Do(req)
}

// Into reads the reply of a path into value.
func (f *Flow) Into(path string, value any) {
	f.T.Helper()
	status, text := f.Get(path)
	if err := json.Unmarshal([]byte(text), value); status != http.StatusOK || err != nil {
		f.T.Fatalf("%s: %d %v %s", path, status, err, text)
	}
}

// Flow is a gateway with a configuration file.
type Flow struct {
	T *testing.T
	*gateway.Gateway
	Client http.Client
}

// Configured reads the settings and the file of a gateway.
func Configured(t testing.TB, content string, env map[string]string) (config.Config, settings.File) {
	t.Helper()
	all := map[string]string{"SLUICE_CONFIG": "f.yaml", "SLUICE_TODO_DB": ":memory:", "SLUICE_STORE": "memory", "GEMINI_API_KEY": ""}
	for name, value := range env {
		all[name] = value
	}
	var file settings.File
	cfg, err := settings.LoaderWith(&file).Load(nil, gatewaytest.LookupIn(all), func(name string) ([]byte, error) {
		if name != "f.yaml" {
			return nil, os.ErrNotExist
		}
		return []byte(content), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return cfg, file
}

// AwaitTools waits until the sessions of a gateway with all its tool servers are up.
func AwaitTools(t testing.TB, g http.Handler) {
	t.Helper()
	testnet.Eventually(t, "the servers are connected", func() bool {
		w := httptest.NewRecorder()
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil)
		req.Header = http.Header{"Authorization": {"Bearer of an operator"}, "X-Who": {"/operator"}, "X-Scopes": {"ops"}} // for a Door
		g.ServeHTTP(w, req)
		return strings.Contains(w.Body.String(), `"mcp":[`) && !strings.Contains(w.Body.String(), `"connected":false`)
	})
}

// StartFlows starts a gateway with that file.
func StartFlows(t *testing.T, content string, env map[string]string) *Flow {
	t.Helper()
	cfg, file := Configured(t, content, env)
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.New(io.Discard), gateway.Seams{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	f := &Flow{T: t, Gateway: g}
	f.Client.Transport = testnet.Serve(t, g)
	return f
}

// Post returns the status and the body of a turn.
func (f *Flow) Post(body string) (int, string) {
	f.T.Helper()
	return f.PostTo("/chat/stream", body)
}

// PostTo is Post to another path.
func (f *Flow) PostTo(path, body string) (int, string) {
	f.T.Helper()
	req, _ := http.NewRequestWithContext(f.T.Context(), http.MethodPost, "http://gateway"+path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	return f.Do(req)
}

// Do returns the status and the body of the reply to a request.
func (f *Flow) Do(req *http.Request) (int, string) {
	f.T.Helper()
	resp, err := f.Client.Do(req)
	if err != nil {
		f.T.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		f.T.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// DataOf returns the data of the last event of that name.
func DataOf(t *testing.T, stream, name string, into any) {
	t.Helper()
	i := strings.LastIndex(stream, "event: "+name+"\ndata: ")
	if i < 0 {
		t.Fatalf("there is no %s in\n%s", name, stream)
	}
	data, _, _ := strings.Cut(stream[i+len("event: "+name+"\ndata: "):], "\n")
	if err := json.Unmarshal([]byte(data), into); err != nil {
		t.Fatal(err)
	}
}

// Done has the data of the last event of a turn.
type Done struct {
	Output  string   `json:"final_output"`
	Reason  string   `json:"finish_reason"`
	Success bool     `json:"success"`
	Tools   []string `json:"tools_called"`
}
