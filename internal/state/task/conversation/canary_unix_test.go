//go:build unix

package conversation_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	goredis "github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store/redis/redistest"
	"sluice/mcpclient"
)

const canary = "CANARY-of-a-person"

// bank is an MCP server with one tool, whose results have the canary.
func bank(t *testing.T) (url string) {
	m := server.NewMCPServer("bank", "1", server.WithToolCapabilities(true))
	m.AddTool(mcp.NewTool("pay"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(canary + "-result"), nil
	})
	s := httptest.NewServer(server.NewStreamableHTTPServer(m, server.WithStateLess(true)))
	t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

// canaryModel answers with the canary, pays if it is asked to, and hangs if it is asked to.
func canaryModel(w http.ResponseWriter, r *http.Request) {
	asked, _ := io.ReadAll(r.Body)
	newest := string(asked[bytes.LastIndex(asked, []byte(`"role":"user"`)):])
	part := `{"text":"` + canary + `-answer"}`
	if strings.Contains(newest, "please pay") {
		part = `{"functionCall":{"name":"pay","args":{"to":"` + canary + `-argument"}}}`
	}
	finish := `,"finishReason":"STOP"`
	if strings.Contains(newest, "please hang") {
		finish = ""
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[%s]}%s}]}\r\n\r\n", part, finish)
	if finish == "" {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// fillConversation makes a conversation with a turn of each kind: native, of ChatKit, that runs, and
// that waits for a person. It returns once the store has all of them.
func fillConversation(t *testing.T, p wholetest.Peer) {
	t.Helper()
	p.RunTurn(t, wholetest.Input(canary+"-input", wholetest.OfAnn+`,"context":{"room":"`+canary+`-context"},"user_name":"`+canary+`-name"`))
	askChatKit(t, p, "threads.add_user_message", `{"thread_id":"conv_1","input":`+fmt.Sprintf(said, canary+" in ChatKit")+`}`)
	if status, body := p.Ask(t, http.MethodPost, "/chat/stream", wholetest.Input("please pay "+canary, wholetest.OfAnn)); status != http.StatusOK || !strings.Contains(body, "approval_required") {
		t.Fatalf("%d %s", status, body)
	}
	got := see(t, p, ofAnn)
	if got.Turns != 3 || len(got.Waiting) != 1 || got.Waiting[0].ID == "" || got.Waiting[0].Token != "" {
		t.Errorf("%+v", got)
	}
	wholetest.StartOf(t, p.Send(t, t.Context(), http.MethodPost, "/chat/stream", wholetest.Input("please hang "+canary, wholetest.OfAnn)))
	if status, body := p.Ask(t, http.MethodPatch, ofAnn, `{"title":"`+canary+`-title"}`, "Content-Type", "application/json"); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
}

// forgotten deletes the conversation, and wants the canary to be in no place any more.
func forgotten(t *testing.T, at string, places func() []string) {
	f := &wholetest.Fleet{T: t, Gemini: http.HandlerFunc(canaryModel), File: fmt.Sprintf("%s\nmcpServers: {bank: {url: %q}}\n", journalled, bank(t))}
	g := f.Gateway(map[string]string{"SLUICE_STORE": at, "SLUICE_CONFIRM": "all"})
	fillConversation(t, g)
	if before := places(); len(before) < 1 {
		t.Fatalf("it is in %q: this test shows nothing", before)
	}
	if status, body := g.Ask(t, http.MethodDelete, ofAnn, ""); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, body)
	}
	testnet.SleepAtLeast(200e6)
	if after := places(); len(after) > 0 {
		t.Errorf("it is in %q", after)
	}
}

// A deletion removes every word of a conversation from all keys of Redis.
func TestDeletedFromRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
	client := goredis.NewClient(&goredis.Options{Network: "unix", Addr: server.Socket})
	t.Cleanup(func() { _ = client.Close() })
	forgotten(t, "unix://"+server.Socket, func() (found []string) {
		for _, key := range client.Keys(t.Context(), "*").Val() {
			if strings.Contains(rawValue(t.Context(), client, key), canary) {
				found = append(found, key)
			}
		}
		return found
	})
}

// rawValue returns all that a key holds.
func rawValue(ctx context.Context, client *goredis.Client, key string) string {
	switch client.Type(ctx, key).Val() {
	case "string":
		return client.Get(ctx, key).Val()
	case "list":
		return strings.Join(client.LRange(ctx, key, 0, -1).Val(), "\n")
	case "hash":
		return fmt.Sprint(client.HGetAll(ctx, key).Val())
	case "zset":
		return fmt.Sprint(client.ZRange(ctx, key, 0, -1).Val())
	case "set":
		return fmt.Sprint(client.SMembers(ctx, key).Val())
	case "stream":
		return fmt.Sprint(client.XRange(ctx, key, "-", "+").Val())
	}
	return ""
}

// A deletion removes every word of a conversation from all files of SQLite.
func TestDeletedFromSQLite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	forgotten(t, "sqlite:"+path, func() (found []string) {
		names, _ := filepath.Glob(path + "*")
		for _, name := range names {
			if all, _ := os.ReadFile(name); bytes.Contains(all, []byte(canary)) {
				found = append(found, name)
			}
		}
		return found
	})
}

// BenchmarkConversation is a turn of a conversation that is kept next to one that is remembered: x-plain
// is the ratio of their CPU times, with the client in this process.
func BenchmarkConversation(b *testing.B) {
	for _, kind := range []string{"memory", "redis", "sqlite"} {
		b.Run(kind, func(b *testing.B) {
			wholetest.Alternate(b, conversationTurns(b, kind, false), conversationTurns(b, kind, true))
		})
	}
}

// conversationTurns starts a gateway, and returns a function that runs a turn of its conversation.
func conversationTurns(b *testing.B, kind string, kept bool) func() {
	b.Helper()
	file := filepath.Join(b.TempDir(), "sluice.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "memory: {enabled: true}\nconversations: {enabled: %t}\n", kept), 0o600); err != nil {
		b.Fatal(err)
	}
	env := map[string]string{"SLUICE_TODO_DB": ":memory:", "SLUICE_STORE": wholetest.StoreFor(b, kind), "SLUICE_CONFIG": file, "GEMINI_API_KEY": wholetest.Key, "GEMINI_BASE_URL": "http://gemini"}
	var read settings.File
	cfg, err := settings.LoaderWith(&read).Load(nil, func(name string) (string, bool) { v, ok := env[name]; return v, ok }, os.ReadFile)
	if err != nil {
		b.Fatal(err)
	}
	g, err := gateway.New(b.Context(), settings.Config{Config: cfg, File: read, Version: "test"}, zerolog.New(io.Discard).Level(zerolog.InfoLevel),
		gateway.Seams{Gemini: wholetest.NewSpeaking(40, false), Servers: []mcpclient.Server{}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(g.Close)
	server := httptest.NewServer(g)
	b.Cleanup(server.Close)
	n := 0
	return func() {
		n++ // a conversation has 40 turns
		body := fmt.Sprintf(`{"input":"hello","accumulated":false,"conversation_id":"conv_%d","user_id":"ann"}`, n/40)
		req, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, server.URL+"/chat/stream", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		resp, err := server.Client().Do(req)
		if err != nil {
			b.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || !bytes.Contains(got, []byte(`"finish_reason":"stop"`)) {
			b.Fatalf("%v: %s", err, got)
		}
	}
}
