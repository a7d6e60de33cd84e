package engine_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/state/store"
)

func itoa(i int) string { return strconv.Itoa(i) }

// name is that of a node of a test's graph.
func name(i int) string { return "n" + itoa(i) }

// mustRead returns the only workflow of a file that is fine. The file has agents and servers of
// every name that a test uses.
func mustRead(t testing.TB, content string) *graph.Workflow {
	t.Helper()
	var list []*graph.Workflow
	cfg := new(config.Config)
	config.Bind[store.Config](cfg).At.Kind = store.Memory
	table := file.Table{
		{Name: "mcpServers", Schema: `{"type":"object"}`}, {Name: "agents", Schema: `{"type":"object"}`},
		graph.Section(&list, cfg, engine.Kinds()),
	}
	head := "mcpServers: {payments: {}}\nagents: {support: {}, writer: {}, reviewer: {}}\nworkflows:\n"
	if r := table.Read("f", []byte(head+content), config.Sources{}); len(r.Faults) > 0 || len(list) != 1 {
		t.Fatalf("%d workflows, faults: %v", len(list), r.Faults)
	}
	return list[0]
}

// text is a definition as a failure shows it.
func text(t *testing.T, d graph.Definition) string {
	t.Helper()
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
