//go:build unix

package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"sluice/internal/state/store/redis/redistest"
)

const (
	// repeats is how many turns each SDK loses its connection to.
	repeats   = 20
	repeatAsk = "Remind me to buy"
)

// thing is what a turn of the test is about.
var thing = regexp.MustCompile(`thing-[a-z0-9]+-\d+`)

// counter is a server with a tool for which the offline model has a use. It counts the calls for
// each thing.
type counter struct {
	mu     sync.Mutex // guards the fields below
	calls  map[string]int
	called map[string]chan struct{} // closed by the first call
}

// of returns what is closed by the first call for a thing.
func (c *counter) of(name string) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.called[name] == nil {
		c.called[name] = make(chan struct{})
	}
	return c.called[name]
}

func (c *counter) count(name string) {
	first := c.of(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[name]++; c.calls[name] == 1 {
		close(first)
	}
}

func (c *counter) tools() http.Handler {
	m := server.NewMCPServer("counter", "1", server.WithToolCapabilities(true))
	m.AddTool(mcp.NewTool("create_todo", mcp.WithDescription("Creates a todo"), mcp.WithString("title", mcp.Required())),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			title := r.GetString("title", "")
			c.count(thing.FindString(title))
			return mcp.NewToolResultText(fmt.Sprintf(`{"id":"todo_1","title":%q}`, title)), nil
		})
	return server.NewStreamableHTTPServer(m)
}

// cutter stands in front of two gateways. It cuts the connection of a first try, once its turn has
// called the tool and before the client has a byte, and lets a repetition through to the other
// gateway.
type cutter struct {
	*counter
	gateways [2]*gateway
}

// ServeHTTP cuts a connection, or forwards.
func (c *cutter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	name := thing.FindString(string(body))
	first, even := r.Header.Get("X-Stainless-Retry-Count") == "0", (name[len(name)-1]-'0')%2 == 0
	to := c.gateways[0]
	if first != even {
		to = c.gateways[1]
	}
	ctx, leave := context.WithCancel(r.Context())
	defer leave()
	again, err := http.NewRequestWithContext(ctx, r.Method, to.base+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	again.Header = r.Header
	if first {
		go func() {
			<-c.of(name)
			leave()
		}()
	}
	resp, err := to.client.Do(again)
	if err == nil {
		body, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	if first || err != nil {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(body)
}

// An SDK whose connection is lost before it has a reply sends its request again by itself. Its
// turn runs once, also where the repetition reaches another gateway of the store.
func TestSDKRepetitions(t *testing.T) {
	t.Parallel()
	python, script := installed(t, sdksPython), installed(t, "e2e/peers/testdata/sdks_repeat.py")
	installed(t, sdksFolder+"/node_modules")
	nodejs, npm := dialectNode(t), installed(t, sdksFolder+"/repeat.mjs")
	kept := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") == "1", "--appendonly", "yes")
	c := &cutter{counter: &counter{calls: map[string]int{}, called: map[string]chan struct{}{}}}
	env := mcpConfig(t, map[string]any{"counter": map[string]any{"url": serve(t, c.tools()), "type": "http"}})
	for i := range c.gateways {
		c.gateways[i] = startGateway(t, with(env, "SLUICE_STORE", "unix://"+kept.Socket))
	}
	url := serve(t, c)
	input, err := json.Marshal(map[string]any{"gateway": url, "question": repeatAsk, "turns": repeats})
	if err != nil {
		t.Fatal(err)
	}
	fromPython := exec.CommandContext(t.Context(), python, script, url, repeatAsk, fmt.Sprint(repeats))
	fromNPM := exec.CommandContext(t.Context(), nodejs, npm)
	fromNPM.Stdin = bytes.NewReader(input)
	var all sync.WaitGroup
	ended := make([]map[string]map[string]int, 3)
	for i, run := range []func() (map[string]map[string]int, error){
		func() (map[string]map[string]int, error) { return endings(fromPython) },
		func() (map[string]map[string]int, error) { return endings(fromNPM) },
		func() (map[string]map[string]int, error) {
			return map[string]map[string]int{"go": repeatInGo(t.Context(), url)}, nil
		},
	} {
		all.Go(func() {
			var err error
			if ended[i], err = run(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got, refused := map[string]map[string]int{}, map[string]int{"409 duplicate_request": repeats}
	for _, of := range ended {
		maps.Copy(got, of)
	}
	if diff := cmp.Diff(map[string]map[string]int{"python": refused, "npm 6.49.0": refused, "npm 7.57.0": refused, "go": refused}, got); diff != "" {
		t.Errorf("how the turns ended (-want +got):\n%s", diff)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.calls) != 4*repeats {
		t.Errorf("%d turns called the tool, want %d", len(c.calls), 4*repeats)
	}
	for name, n := range c.calls {
		if n != 1 {
			t.Errorf("the tool was called %d times for %s", n, name)
		}
	}
}

// endings runs a program that says how the turns of its SDKs ended.
func endings(cmd *exec.Cmd) (ended map[string]map[string]int, err error) {
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &ended)
	}
	if err != nil {
		return nil, fmt.Errorf("%w:\n%s\n%s", err, complaints.Bytes(), out)
	}
	return ended, nil
}

// repeatInGo is what the programs do, through OpenAI's SDK for Go.
func repeatInGo(ctx context.Context, url string) map[string]int {
	client := openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey("none"))
	var mu sync.Mutex // guards ended
	ended := map[string]int{}
	var all sync.WaitGroup
	for i := range repeats {
		all.Go(func() {
			how := "answered"
			params := openai.ChatCompletionNewParams{Model: "sluice", Messages: []openai.ChatCompletionMessageParamUnion{
				openai.UserMessage(fmt.Sprintf("%s thing-go-%d", repeatAsk, i)),
			}}
			var err error
			if i%2 == 1 {
				stream := client.Chat.Completions.NewStreaming(ctx, params)
				err = stream.Err()
				_ = stream.Close()
			} else {
				_, err = client.Chat.Completions.New(ctx, params)
			}
			if e, ok := errors.AsType[*openai.Error](err); ok {
				how = fmt.Sprint(e.StatusCode, " ", e.Code)
			} else if err != nil {
				how = err.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			ended[how]++
		})
	}
	all.Wait()
	return ended
}
