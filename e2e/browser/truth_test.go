package browser

import (
	"maps"
	"os"
	"strconv"
	"testing"
)

// truthTurns is how many turns of each example are compared; SLUICE_TRUTH_TURNS sets another number.
const truthTurns = 2

// truthAsk is what npm/truth.mjs is asked: turns of one example.
type truthAsk struct {
	Name     string `json:"name"`
	Base     string `json:"base"`
	Turns    int    `json:"turns"`
	At       int    `json:"at"` // how many run at once
	Input    string `json:"input"`
	Workflow string `json:"workflow,omitempty"`
	Stored   bool   `json:"stored"`
}

// Each row of a trace stands for a step, a call or a line of the receipt. Only agents, nodes,
// sessions and calls of one answer are at the same time, and the tokens of the rows are those of
// done. It is checked for turns of each example, with a store and without, on the rows of the page's
// model layer.
func TestTruthOfTraces(t *testing.T) {
	t.Parallel()
	node(t)
	turns := truthTurns
	if text := os.Getenv("SLUICE_TRUTH_TURNS"); text != "" {
		var err error
		if turns, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	var asks []truthAsk
	for store, env := range map[string]map[string]string{"none": {}, "memory": {"SLUICE_STORE": "memory"}} {
		serve := func(config string, more map[string]string) string {
			all := maps.Clone(env)
			maps.Copy(all, more)
			if config != "" {
				all["SLUICE_CONFIG"] = root + "/examples/" + config
			}
			return startGateway(t, all).base
		}
		add := func(name, base, input, workflow string) {
			asks = append(asks, truthAsk{name + " with store " + store, base, turns, 2, input, workflow, store != "none"})
		}
		plain, home := serve("", nil), serve("home/sluice.yaml", nil)
		add("list", plain, "What is on my list?", "")
		add("three calls", plain, "Add milk, bread and butter to my list", "")
		add("confirm", serve("", map[string]string{"SLUICE_CONFIRM": "writes"}), "Remind me to buy eggs tomorrow at 3pm", "")
		add("team", home, "Dim the kitchen lights to 30% and play some jazz", "")
		add("agent", home, "Turn on the kitchen lights", "")
		quality := serve("quality/sluice.yaml", nil)
		add("refined", quality, "Guess how many todos I have", "")
		add("judged", quality, "Guess my timesheet", "")
		add("research", serve("workflows/research.yaml", nil), "How do tides work?", "research")
		if store != "none" {
			add("refund", serve("workflows/refund.yaml", nil), "I want a refund of 30 EUR", "refund")
		}
	}
	type report struct {
		Name        string
		Turns, Rows int
		Faults      []string
	}
	reports := drive[report](t, "truth.mjs", map[string]any{"asks": asks})
	if len(reports) != len(asks) {
		t.Errorf("%d reports of %d", len(reports), len(asks))
	}
	for _, r := range reports {
		t.Logf("%s: %d turns, %d rows", r.Name, r.Turns, r.Rows)
		if r.Turns != turns || r.Rows < 3*turns {
			t.Errorf("%s: %d turns, %d rows", r.Name, r.Turns, r.Rows)
		}
		for _, fault := range r.Faults[:min(len(r.Faults), 8)] {
			t.Errorf("%s: %s", r.Name, fault)
		}
	}
}
