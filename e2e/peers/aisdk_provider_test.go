package peers

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/sim/geminisim"
	demo "sluice/sim/offline"
)

// providerSeen is what one client has got.
type providerSeen struct {
	Text, Streamed, Thoughts, Finish, Colour, Wrong, Broken string
	Calls, Usage                                            int
	Steps                                                   []string
	Object                                                  *struct {
		Title  *string
		Urgent *bool
		Tags   *[]string
	}
}

// colours is the offline model, which also picks a colour by a tool of the client's, and fails
// where it is asked to break.
func colours(t *testing.T) *gemini {
	t.Helper()
	sim := simulator(t, geminisim.Config{Model: demo.Model{}})
	picks := simulator(t, geminisim.Config{Script: parse(t, "loop\nlenient\ncall pick_color {}\nfinish STOP")})
	says := simulator(t, geminisim.Config{Script: parse(t, "loop\nlenient\ntext It is red.\nfinish STOP")})
	breaks := simulator(t, geminisim.Config{Script: parse(t, "loop\nerror 400 No such luck")})
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the gateway has left
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		switch has := func(text string) bool { return bytes.Contains(body, []byte(text)) }; {
		case has("Break"):
			breaks.ServeHTTP(w, r)
		case has("Pick a colour") && has("functionResponse"):
			says.ServeHTTP(w, r)
		case has("Pick a colour"):
			picks.ServeHTTP(w, r)
		default:
			sim.ServeHTTP(w, r)
		}
	}))
	return &gemini{url: url}
}

// The AI SDK's packages for OpenAI's API have the gateway as a provider of models: text, the same
// as a stream, a tool of their own, an object, and errors of their own classes.
func TestAISDKProviders(t *testing.T) {
	t.Parallel()
	installed(t, dialectsFolder+"/aisdk/node_modules")
	g := startGateway(t, colours(t).env())
	native := g.ask(t, "Show my todos").done().FinalOutput
	clients := []string{"chat", "compatible", "compatible, plain"}
	responses := serves(t, g, "/v1/responses")
	if responses {
		clients = append(clients, "responses")
	}
	seen := map[string]providerSeen{}
	runDialect(t, "aisdk", "provider.mjs", map[string]any{"gateway": g.base, "responses": responses}, &seen)
	for _, name := range clients {
		t.Run(name, func(t *testing.T) {
			got := seen[name]
			if got.Object == nil || name != "compatible, plain" && (got.Object.Title == nil || got.Object.Urgent == nil || got.Object.Tags == nil) {
				t.Errorf("object: %+v", got.Object)
			}
			if !strings.HasPrefix(got.Wrong, "true 404 ") || got.Broken == "" || got.Usage == 0 {
				t.Errorf("%+v", got)
			}
			if (got.Thoughts != "") == (name == "chat") { // which has no words for them
				t.Errorf("thoughts: %q", got.Thoughts)
			}
			want := providerSeen{Text: native, Streamed: native, Finish: "stop", Colour: "It is red.", Steps: []string{"tool-calls pick_color", "stop"}}
			want.Thoughts, want.Wrong, want.Broken, want.Usage, want.Object = got.Thoughts, got.Wrong, got.Broken, got.Usage, got.Object
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// serves says whether the gateway has a path for POST.
func serves(t *testing.T, g *gateway, path string) bool {
	t.Helper()
	resp, err := g.client.Post(g.base+path, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var reply json.RawMessage
	_ = json.NewDecoder(resp.Body).Decode(&reply)
	return resp.StatusCode != http.StatusNotFound
}
