package peers

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// The AI SDK's packages for OpenAI's API have the gateway as a provider of models: text, the same
// as a stream, a tool of their own, an object, and errors of their own classes.
func TestAISDKProviders(t *testing.T) {
	t.Parallel()
	installed(t, dialectsFolder+"/aisdk/node_modules")
	const breaks = "error 400 No such luck"
	g := startGateway(t, withAsides(t, aside{"Pick a colour", "call pick_color {}\nfinish STOP", "text It is red.\nfinish STOP"}, aside{"Break", breaks, breaks}).env())
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
