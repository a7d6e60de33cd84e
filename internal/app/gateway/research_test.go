package gateway_test

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/testnet"
	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/modelsim"
	"sluice/internal/sim/offline"
)

// The example's agents, its critic and the agent that calls another one are played over
// each protocol of models, by the same functions.
func TestResearchOverEachProtocol(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("../../../examples/workflows/research.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, spec := range map[string]string{
		"gemini":    "{provider: gemini, model: gemini-2.5-flash, api_key: k1234567}",
		"responses": "{provider: openai, model: gpt-5-mini, api_key: k1234567}",
		"chat":      "{provider: openai, api: chat, model: gpt-4o, api_key: k1234567}",
		"messages":  "{provider: anthropic, model: claude-sonnet-4-5, api_key: k1234567}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := &internet{
				models: modelsim.New(modelsim.Config{Model: offline.Model{}, Roles: offline.Roles()}),
				gemini: geminisim.New(geminisim.Config{Model: offline.Model{}, Roles: offline.Roles()}),
				down:   func(string) bool { return false },
			}
			cfg, file := wholetest.Configured(t, "models: {default: "+spec+"}\n"+string(example), nil)
			g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.New(io.Discard), gateway.Seams{Gemini: world})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(g.Close)
			f := &wholetest.Flow{T: t, Gateway: g}
			f.Client.Transport = testnet.Serve(t, g)
			status, stream := f.Post(`{"input":"How do tides work?","workflow":"research"}`)
			var done wholetest.Done
			wholetest.DataOf(t, stream, "done", &done)
			if status != 200 || !done.Success || !strings.HasPrefix(done.Output, "Hello,") || !strings.Contains(done.Output, "From the librarian") {
				t.Errorf("%d %+v", status, done)
			}
			if n := strings.Count(stream, `"role":"delegate","attempt":1,"status":"completed"`); n != 3 {
				t.Errorf("%d sessions of delegates:\n%s", n, stream)
			}
			for _, failure := range append(world.models.Failures(), world.gemini.Failures()...) {
				t.Error(failure)
			}
		})
	}
}
