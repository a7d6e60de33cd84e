package home_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sluice/internal/sim/home"
)

// call runs a tool as a client would and returns the text of its result.
func call(t *testing.T, m *server.MCPServer, tool, args string) (text string, failed bool) {
	t.Helper()
	request := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args)
	reply, err := json.Marshal(m.HandleMessage(t.Context(), []byte(request)))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Result struct {
			Content []mcp.TextContent `json:"content"`
			IsError bool              `json:"isError"`
		} `json:"result"`
	}
	if err := json.Unmarshal(reply, &got); err != nil || len(got.Result.Content) != 1 {
		t.Fatalf("%s: %s %v", tool, reply, err)
	}
	return got.Result.Content[0].Text, got.Result.IsError
}

func TestWhatIsSetCanBeAskedFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		server, set, args, get, ask, want string
	}{
		{home.Lights, "set_light", `{"room":"kitchen","brightness":30}`, "list_lights", `{"room":"Kitchen"}`,
			`{"room":"kitchen","on":true,"brightness":30,"color":"warm white"}`},
		{home.Lights, "activate_scene", `{"scene":"movie"}`, "list_lights", `{"room":"office"}`,
			`{"room":"office","on":true,"brightness":15,"color":"warm white"}`},
		{home.Lights, "set_light", `{"room":"hall","on":false,"color":"blue"}`, "list_lights", `{"room":"hall"}`,
			`{"room":"hall","on":false,"brightness":70,"color":"blue"}`},
		{home.Music, "play_music", `{"query":"jazz"}`, "get_music", `{}`, `{"state":"playing","track":"jazz","volume":40}`},
		{home.Music, "set_volume", `{"change":10}`, "get_music", `{}`, `{"state":"stopped","volume":50}`},
		{home.Music, "set_volume", `{"change":-100}`, "get_music", `{}`, `{"state":"stopped","volume":0}`},
		{home.Music, "set_volume", `{"level":10}`, "get_music", `{}`, `{"state":"stopped","volume":10}`},
		{home.Climate, "set_climate", `{"target":21.5,"zone":"upstairs"}`, "get_climate", `{}`,
			`[{"zone":"downstairs","mode":"auto","target":20,"now":19.5},{"zone":"upstairs","mode":"auto","target":21.5,"now":19.5}]`},
		{home.Climate, "set_climate", `{"mode":"cool"}`, "get_climate", `{"zone":"downstairs"}`,
			`[{"zone":"downstairs","mode":"cool","target":20,"now":19.5}]`},
	} {
		m := home.NewServer(tt.server, "test")
		if text, failed := call(t, m, tt.set, tt.args); failed {
			t.Errorf("%s %s: %s", tt.set, tt.args, text)
		}
		if got, failed := call(t, m, tt.get, tt.ask); failed || got != tt.want {
			t.Errorf("after %s %s: got %s, want %s", tt.set, tt.args, got, tt.want)
		}
	}
}

func TestMusicIsPausedAndGoesOn(t *testing.T) {
	t.Parallel()
	m := home.NewServer(home.Music, "test")
	for _, step := range []struct{ tool, args, want string }{
		{"play_music", `{"query":"jazz"}`, `"playing"`},
		{"control_music", `{"action":"pause"}`, `"paused"`},
		{"play_music", `{}`, `"playing"`},
		{"control_music", `{"action":"stop"}`, `"stopped"`},
	} {
		if got, failed := call(t, m, step.tool, step.args); failed || !strings.Contains(got, step.want) {
			t.Errorf("%s %s: %s", step.tool, step.args, got)
		}
	}
}

func TestWhatCannotBeDoneIsSaid(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ server, tool, args, want string }{
		{home.Lights, "set_light", `{"room":"garage","on":true}`, "there are: bathroom"},
		{home.Lights, "set_light", `{"room":"hall"}`, "nothing to change"},
		{home.Lights, "set_light", `{"room":"hall","brightness":101}`, "from 0 to 100"},
		{home.Lights, "set_light", `{"room":"hall","color":"plaid"}`, "there is no color"},
		{home.Lights, "set_light", `{"room":5}`, "not as the schema says"},
		{home.Lights, "activate_scene", `{"scene":"x"}`, "there is no scene"},
		{home.Music, "play_music", `{}`, "nothing was paused"},
		{home.Music, "control_music", `{"action":"pause"}`, "nothing is playing"},
		{home.Music, "set_volume", `{"level":-1}`, "from 0 to 100"},
		{home.Music, "set_volume", `{}`, "either level or change"},
		{home.Climate, "set_climate", `{"target":50}`, "from 5 to 35"},
		{home.Climate, "set_climate", `{}`, "nothing to change"},
		{home.Climate, "get_climate", `{"zone":"cellar"}`, "there is no zone"},
	} {
		got, failed := call(t, home.NewServer(tt.server, "test"), tt.tool, tt.args)
		if !failed || !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: %s (error %v), want %q", tt.tool, tt.args, got, failed, tt.want)
		}
	}
	if home.NewServer("home-garage", "test") != nil {
		t.Error("there is a server for an unknown name")
	}
}
