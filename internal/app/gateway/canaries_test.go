package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/operate"
	"sluice/internal/app/settings"
)

// configuredSecrets are the secrets of a configuration, by the names of their variables.
func configuredSecrets() map[string]string {
	return map[string]string{
		"TEST_KEY": "c4nary-of-the-key", "TEST_HEADER": "c4nary-of-a-header", "TEST_EXTRA": "c4nary-of-extra",
		"TEST_SERVER": "c4nary-of-a-server", "HOOK": "whsec_YzRuYXJ5LW9mLWEtd2ViaG9vay0wMTIz",
		"HOOK_QUERY": "c4nary-of-an-address", "SLUICE_APPROVAL_KEY": "YzRuYXJ5LW9mLWFwcHJvdmFscy0wMTIzNDU2Nzg5MDE=",
	}
}

// typedKey is a key of the configuration that a user writes into a question.
const typedKey = "c4nary-of-a-key-that-was-typed"

// The secrets that users and tools write themselves.
const (
	canaryResult   = "c4nary-of-a-result"
	canaryArgument = "c4nary-of-an-argument"
	canaryCookie   = "c4nary-of-a-cookie"
	canaryPEM      = "YzRuYXJ5b2ZhcHJpdmF0ZWtleQYzRuYXJ5b2ZhcHJpdmF0ZWtleQ"
	canaryCard     = "4111 1111-1111 1111"
	pemBlock       = "-----BEGIN PRIVATE KEY-----\n" + canaryPEM + "\n-----END PRIVATE KEY-----"
)

// canaryFile is a configuration with a secret at each place that may have one.
const canaryFile = `models:
  default:
    {provider: openai, api: chat, model: m, endpoint: %[1]q, api_key: "${TEST_KEY}", retries: 0, breaker: "100,60s,1",
     headers: {X-Secret: "${TEST_HEADER}"}, extra: {metadata: {user: "${TEST_EXTRA}"}}}
  other: {provider: openai, api: chat, model: m, endpoint: %[1]q, api_key: "${TYPED_KEY}"}
mcpServers:
  vault: {url: %[2]q, headers: {Authorization: "Bearer ${TEST_SERVER}"}, confirm: {lookup: never, pay: always}}
channels: {text: {extends: sms, deliver: {url: "%[3]s?k=${HOOK_QUERY}", secret: "${HOOK}", tries: 1}}}
agents: {helper: {description: Helps, role: Helper, tools: [vault]}}
workflows:
  flow: {nodes: {last: {type: agent, agent: helper}}, edges: []}
`

// secretive is a model that sends with its calls, and repeats in its errors, what it should
// not.
func secretive(t *testing.T) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var head strings.Builder
		_ = r.Header.Write(&head)
		sent := head.String() + string(body)
		for _, name := range []string{"TEST_KEY", "TEST_HEADER", "TEST_EXTRA"} {
			if !strings.Contains(sent, configuredSecrets()[name]) {
				t.Errorf("the model was not sent %s", name)
			}
		}
		for _, status := range []int{400, 401, 500} {
			if strings.Contains(string(body), fmt.Sprint("fail with ", status)) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": sent, "type": configuredSecrets()["TEST_KEY"], "code": sent}})
				return
			}
		}
		delta := `{"content":"Fine."}`
		arguments, _ := json.Marshal(fmt.Sprintf(`{"password":%q,"note":"password=%[1]s"}`, canaryArgument))
		switch tools := strings.Count(string(body), `"role":"tool"`); {
		case tools == 0:
			delta = `{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"lookup","arguments":` + string(arguments) + `}}]}`
		case tools == 1 && !strings.Contains(string(body), "pay nothing"):
			delta = `{"tool_calls":[{"index":0,"id":"call_2","type":"function","function":{"name":"pay","arguments":` + string(arguments) + `}}]}`
		}
		w.Header().Set("Content-Type", "text/event-stream")
		reason := "stop"
		if strings.Contains(delta, "tool_calls") {
			reason = "tool_calls"
		}
		fmt.Fprintf(w, `data: {"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":%s,"finish_reason":null}]}`+"\n\n", delta)
		fmt.Fprintf(w, `data: {"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},"finish_reason":%q}]}`+"\n\ndata: [DONE]\n\n", reason)
	})
}

// vault is an MCP server whose tools answer with secrets: in JSON, in headers, in a block of
// PEM, in a card's number. One of them repeats in an error what it was sent.
func vault(t *testing.T) http.Handler {
	m := server.NewMCPServer("vault", "1")
	result, _ := json.Marshal(map[string]any{
		"password": canaryResult, "nested": `{"token":"` + canaryResult + `"}`, "head": "Cookie: session=" + canaryCookie + "\r\nX: y",
		"key": pemBlock, "text": "the card " + canaryCard,
	})
	schema := []byte(`{"type":"object","properties":{"password":{"type":"string"},"note":{"type":"string"}}}`)
	m.AddTool(mcp.NewToolWithRawSchema("lookup", "Looks up.", schema), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(string(result)), nil
	})
	m.AddTool(mcp.NewToolWithRawSchema("pay", "Pays.", schema), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError(fmt.Sprintf("refused: Authorization: %s, password=%s, %s %s", r.Header.Get("Authorization"), canaryArgument, canaryCard, pemBlock)), nil
	})
	h := server.NewStreamableHTTPServer(m)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Authorization"), configuredSecrets()["TEST_SERVER"]) {
			t.Error("the server was not sent its header")
		}
		h.ServeHTTP(w, r)
	})
}

// found are texts in which no canary may be, by what they are.
type found map[string]string

// none reports each of the secrets that a text has.
func (f found) none(t *testing.T, secrets ...string) {
	t.Helper()
	for name, text := range f {
		for _, secret := range secrets {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%s has %s: …%s…", name, secret, text[max(0, i-200):min(len(text), i+len(secret)+40)])
			}
		}
	}
}

// filesIn returns the files under a folder, with their names as a text of its own.
func filesIn(t *testing.T, dir string) found {
	t.Helper()
	all := found{"the names of " + dir: ""}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		all[name] = string(text)
		all["the names of "+dir] += name + "\n"
		return err
	})
	if err != nil || len(all) < 2 {
		t.Fatal(err, "there are no files in ", dir)
	}
	return all
}

// Secrets of the configuration are in nothing that a gateway says, logs, stores, records or exports,
// whatever its model, its tools and its receivers make of them; what users and tools write
// that is secret by its form is in no trace and in no line of the log.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	for _, payloads := range []string{"false", "true"} {
		t.Run("payloads "+payloads, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			hook := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Error(w, r.URL.String()+fmt.Sprint(r.Header)+configuredSecrets()["HOOK"], http.StatusForbidden)
			}))
			path := filepath.Join(dir, "sluice.yaml")
			content := fmt.Sprintf(canaryFile, gatewaytest.ServeHandler(t, secretive(t))+"/v1/chat/completions", gatewaytest.ServeHandler(t, vault(t))+"/mcp", hook+"/")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			env := gatewaytest.WithDefaults(t, configuredSecrets())
			for name, value := range map[string]string{
				"TYPED_KEY": typedKey, "SLUICE_CONFIG": path, "SLUICE_STORE": "sqlite:" + filepath.Join(dir, "store", "s.db"),
				"SLUICE_RECORD": filepath.Join(dir, "records"), "SLUICE_LOG_LEVEL": "debug", "SLUICE_LOG_PAYLOADS": payloads,
			} {
				env[name] = value
			}
			if err := os.Mkdir(filepath.Join(dir, "store"), 0o700); err != nil {
				t.Fatal(err)
			}
			var file settings.File
			cfg, err := settings.LoaderWith(&file).Load(nil, gatewaytest.LookupIn(env), os.ReadFile)
			if err != nil {
				t.Fatal(err)
			}
			whole := settings.Config{Config: cfg, File: file, Version: "test"}
			r := wholetest.ListenAs(t, whole, new(gatewaytest.LogTail))
			r.Log.Await(t, "mcp_connected", r.Ended)
			c := &canaries{t: t, r: r, seen: found{}}
			c.ask()
			if r.Stop() != wholetest.ExitOK {
				t.Error("it did not end well")
			}
			c.look(whole, dir)
		})
	}
}

// canaries asks a gateway, and looks for secrets.
type canaries struct {
	t      *testing.T
	r      *gatewaytest.Running
	seen   found    // what the gateway said
	errors string   // its error events and refusals
	tokens []string // of approvals
	tasks  []string
}

// say sends a turn, and returns the reply.
func (c *canaries) say(body string) string {
	c.t.Helper()
	resp, err := c.r.Client.Post(c.r.Base+"/chat/stream", "application/json", strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		c.errors += string(text)
	}
	for event := range strings.SplitSeq(string(text), "\n\n") {
		if strings.Contains(event, "event: error") || strings.Contains(event, "event: warning") || strings.Contains(event, "event: delivery") {
			c.errors += event
		}
	}
	if id := between(string(text), `"task_id":"`, `"`); id != "" {
		c.tasks = append(c.tasks, id)
	}
	return string(text)
}

// ask sends turns that meet every secret, and reads what the gateway shows to operators.
func (c *canaries) ask() {
	c.t.Helper()
	typed, _ := json.Marshal("My password=" + canaryArgument + " key " + typedKey + " card " + canaryCard + " Cookie: a=" + canaryCookie + "\n" + pemBlock)
	const who = `{"user_id":"ann","accumulated":false,"input":`
	for _, more := range []string{`,"agent":"helper"`, `,"workflow":"flow"`} {
		text := c.say(who + string(typed) + more + "}")
		q := between(text, `"token":"`, `"`)
		if q == "" {
			c.t.Fatalf("nobody was asked: %s", text)
		}
		c.tokens = append(c.tokens, q)
		if text := c.say(`{"user_id":"ann","accumulated":false,"approval":{"token":"` + q + `","action":"approve"}}`); !strings.Contains(text, `"success":true`) {
			c.t.Errorf("the answer: %s", text)
		}
		c.say(`{"user_id":"ann","approval":{"token":"` + q + `","action":"approve"}}`)                // it was used
		c.say(`{"user_id":"ann","approval":{"token":"` + q[:len(q)-4] + `xxxx","action":"approve"}}`) // it is none
	}
	c.say(who + `"pay nothing","agent":"helper","channel":"text","deliver":true}`)
	for _, status := range []int{400, 401, 500} {
		if text := c.say(who + fmt.Sprintf(`"fail with %d","agent":"helper"}`, status)); !strings.Contains(text, "event: error") {
			c.t.Errorf("%d: %s", status, text)
		}
	}
	for _, task := range c.tasks {
		_, text := c.r.Get("/tasks/" + task + "/trace?user_id=ann")
		if !strings.Contains(text, `"steps"`) {
			c.t.Errorf("there is no trace: %s", text)
		}
		c.seen["the trace of "+task] = text
	}
	for _, path := range []string{"/readyz", "/metrics", "/tools", "/agents", "/workflows", "/channels", "/approvals?user_id=ann"} {
		_, c.seen[path] = c.r.Get(path)
	}
}

// look looks for secrets in all that there is.
func (c *canaries) look(whole settings.Config, dir string) {
	c.t.Helper()
	var secrets []string
	for _, value := range configuredSecrets() {
		secrets = append(secrets, value)
	}
	written := []string{typedKey, canaryResult, canaryArgument, canaryCookie, canaryPEM, canaryCard}
	c.seen["the log"] = c.r.Log.String()
	c.seen["errors"] = c.errors
	c.seen.none(c.t, append(append(secrets, written...), c.tokens...)...)
	for _, task := range c.tasks {
		if err := operate.Export(c.t.Context(), whole, task, filepath.Join(dir, "out")); err != nil {
			c.t.Error(err)
		}
	}
	out := filesIn(c.t, filepath.Join(dir, "out"))
	out.none(c.t, append(append(secrets, typedKey), c.tokens...)...)
	for name, text := range out {
		if strings.HasSuffix(name, "trace.json") {
			found{name: text}.none(c.t, written...)
		}
	}
	// Where what was said is stored as it was, only the configuration's secrets count. A store
	// also has tokens that wait, and a recording what the client was sent.
	filesIn(c.t, filepath.Join(dir, "store")).none(c.t, secrets...)
	records := filesIn(c.t, filepath.Join(dir, "records"))
	records.none(c.t, append(secrets, typedKey)...)
	found{"names of recordings": records["the names of "+filepath.Join(dir, "records")]}.none(c.t, append(written, c.tokens...)...)
}

// between returns what stands between two texts.
func between(text, before, after string) string {
	_, rest, _ := strings.Cut(text, before)
	found, _, _ := strings.Cut(rest, after)
	return found
}
