package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/rs/zerolog"
	"golang.org/x/tools/txtar"

	"sluice/config"
	"sluice/internal/geminisim"
	"sluice/internal/todo"
	"sluice/mcpclient"
)

var update = flag.Bool("update", false, "rewrite the want files of the golden transcripts")

// TestGolden plays each transcript over the whole HTTP path, in fake time, and
// compares the bytes that the client gets. A transcript has the files
//
//	config       NAME=value lines, as in the environment (optional)
//	request      METHOD path, headers, an empty line, the body
//	gemini       a script of internal/geminisim
//	mcp          "todo" for the built-in server, or a list of fakeTool (optional)
//	want.sse     the reply
//	want.gemini  the bodies of the requests that Gemini got (optional)
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("../../testdata/transcripts/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) { playTranscript(t, file, ar) })
		})
	}
}

func playTranscript(t *testing.T, file string, ar *txtar.Archive) {
	tr := transcript{Archive: ar}
	script, err := geminisim.ParseScript(tr.get("gemini"))
	if err != nil {
		t.Fatal(err)
	}
	sim := geminisim.New(geminisim.Config{Script: script})
	reply := tr.play(t, sim)
	tr.check(t, "want.sse", reply)
	if tr.has("want.gemini") {
		tr.check(t, "want.gemini", requestBodies(t, sim))
	}
	for _, f := range sim.Failures() {
		t.Errorf("Gemini was asked what it did not expect: %v", f)
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

type transcript struct{ *txtar.Archive }

func (tr transcript) file(name string) *txtar.File {
	for i := range tr.Files {
		if tr.Files[i].Name == name {
			return &tr.Files[i]
		}
	}
	return nil
}

func (tr transcript) has(name string) bool { return tr.file(name) != nil }

func (tr transcript) get(name string) string {
	if f := tr.file(name); f != nil {
		return string(f.Data)
	}
	return ""
}

// check compares, or with -update rewrites.
func (tr transcript) check(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if f := tr.file(name); f != nil {
			f.Data = []byte(got)
			return
		}
		tr.Files = append(tr.Files, txtar.File{Name: name, Data: []byte(got)})
		return
	}
	if diff := cmp.Diff(tr.get(name), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// play starts a gateway in front of sim and the transcript's tools, sends the
// request and returns the reply.
func (tr transcript) play(t *testing.T, sim http.Handler) string {
	t.Helper()
	env := map[string]string{"GEMINI_API_KEY": "test-key", "GEMINI_BASE_URL": "http://gemini", "SLUICE_HEARTBEAT": "0"}
	for line := range strings.Lines(tr.get("config")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		env[name] = value
	}
	cfg, err := config.Load(nil, func(name string) (string, bool) { v, ok := env[name]; return v, ok }, os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	g, err := newGateway(t.Context(), cfg, zerolog.Nop(), seams{gemini: serveInMemory(t, sim), servers: tr.servers(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	synctest.Wait() // for the sessions with the MCP servers
	client := http.Client{Transport: serveInMemory(t, g.server)}
	resp, err := client.Do(tr.request(t))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("the reply broke off: %v", err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Sprintf("HTTP %s\n%s\n", resp.Status, body)
	}
	return string(body)
}

func (tr transcript) request(t *testing.T) *http.Request {
	t.Helper()
	head, body, _ := strings.Cut(tr.get("request"), "\n\n")
	line, headers, _ := strings.Cut(head, "\n")
	raw := line + " HTTP/1.1\r\nHost: gateway\r\nX-Request-ID: req_golden\r\n"
	for h := range strings.Lines(headers) {
		raw += strings.TrimSpace(h) + "\r\n"
	}
	req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(strings.TrimRight(raw, "\r\n") + "\r\n\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	out, err := http.NewRequestWithContext(t.Context(), req.Method, "http://gateway"+req.RequestURI, strings.NewReader(strings.TrimSpace(body)))
	if err != nil {
		t.Fatal(err)
	}
	out.Header = req.Header
	return out
}

// fakeTool is a tool of a scripted MCP server.
type fakeTool struct {
	Name       string
	Schema     json.RawMessage
	ReadOnly   bool
	Idempotent bool
	Delay      string // of the answer
	Result     string
	IsError    bool
}

func (tr transcript) servers(t *testing.T) []mcpclient.Server {
	t.Helper()
	text := strings.TrimSpace(tr.get("mcp"))
	var tools []fakeTool
	switch text {
	case "todo":
		return []mcpclient.Server{{Name: "todo", Transport: "inprocess", InProcess: todoServer(t)}}
	case "":
	default:
		if err := json.Unmarshal([]byte(text), &tools); err != nil {
			t.Fatalf("mcp: %v", err)
		}
	}
	m := server.NewMCPServer("fake", "1", server.WithToolCapabilities(true))
	for _, tool := range tools {
		m.AddTool(tool.spec(), tool.run)
	}
	return []mcpclient.Server{{Name: "fake", Transport: "inprocess", InProcess: m}}
}

func (f fakeTool) spec() mcp.Tool {
	schema := f.Schema
	if schema == nil {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	tool := mcp.NewToolWithRawSchema(f.Name, "The tool "+f.Name+".", schema)
	tool.Annotations = mcp.ToolAnnotation{ReadOnlyHint: &f.ReadOnly, IdempotentHint: &f.Idempotent}
	return tool
}

func (f fakeTool) run(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if f.Delay != "" {
		d, err := time.ParseDuration(f.Delay)
		if err != nil {
			return nil, err
		}
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if f.IsError {
		return mcp.NewToolResultError(f.Result), nil
	}
	return mcp.NewToolResultText(f.Result), nil
}

// todoServer is the built-in todo server, in memory, with ids that do not change.
func todoServer(t *testing.T) *server.MCPServer {
	t.Helper()
	n := 0
	store, err := todo.Open(t.Context(), todo.Config{NewID: func() string { n++; return fmt.Sprintf("todo_%d", n) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return todo.NewServer(store, "test")
}

// requestBodies returns what Gemini was sent, readable.
func requestBodies(t *testing.T, sim *geminisim.Server) string {
	t.Helper()
	var b bytes.Buffer
	for _, r := range sim.Requests() {
		if err := json.Indent(&b, r.Body, "", "  "); err != nil {
			t.Fatal(err)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
