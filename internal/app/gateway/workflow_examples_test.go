package gateway_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store/memory"
)

// The catalogue lists the examples of a workflow. Each workflow of the repository has one that
// works with the offline model: its turn answers, or asks a person.
func TestExamplesOfWorkflows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../examples/workflows/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f := startFlows(t, string(content))
			for name, examples := range listedExamples(t, f) {
				if len(examples) == 0 {
					t.Errorf("workflow %s has no example", name)
				}
				for _, example := range examples {
					checkExample(t, f, name, example)
				}
			}
		})
	}
}

// A workflow without examples has an empty list in the catalogue, as an agent has.
func TestWorkflowWithoutExamples(t *testing.T) {
	t.Parallel()
	f := startFlows(t, "agents: {a: {description: Answers}}\nworkflows: {flow: {nodes: {one: {type: agent, agent: a}}}}\n")
	if examples := listedExamples(t, f)["flow"]; examples == nil || len(examples) > 0 {
		t.Errorf("got %v, want []", examples)
	}
}

// startFlows starts a gateway with a store and the offline model.
func startFlows(t *testing.T, content string) *wholetest.Flow {
	t.Helper()
	cfg, file := wholetest.Configured(t, content, map[string]string{"SLUICE_STORE": "memory"})
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.New(io.Discard), gateway.Seams{Store: memory.New(memory.Config{})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	f := &wholetest.Flow{T: t, Gateway: g}
	f.Client.Transport = testnet.Serve(t, g)
	return f
}

// listedExamples returns the examples of GET /workflows by the name of their workflow.
func listedExamples(t *testing.T, f *wholetest.Flow) map[string][]string {
	t.Helper()
	_, body := f.Get("/workflows")
	var list struct {
		Workflows []struct {
			Name     string
			Examples []string
		}
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || len(list.Workflows) == 0 {
		t.Fatalf("%v: %s", err, body)
	}
	examples := map[string][]string{}
	for _, w := range list.Workflows {
		examples[w.Name] = w.Examples
	}
	return examples
}

// checkExample runs a workflow with an example and checks that its turn ends well.
func checkExample(t *testing.T, f *wholetest.Flow, name, example string) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"input": example, "workflow": name})
	if err != nil {
		t.Fatal(err)
	}
	status, stream := f.Post(string(body))
	var done struct {
		Success      bool
		FinishReason string `json:"finish_reason"`
		FinalOutput  string `json:"final_output"`
	}
	wholetest.DataOf(t, stream, "done", &done)
	asks := done.FinishReason == "approval_required"
	if status != 200 || !done.Success || done.FinalOutput == "" && !asks {
		t.Errorf("%q to %s: %d %+v", example, name, status, done)
	}
}
