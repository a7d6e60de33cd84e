//go:build unix

package gateway_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/engine/workflow/records"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/store/sqlite"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

const (
	rowNodes = 10
	// rowBatch is how many runs are made between two looks at the clock, whose steps are
	// milliseconds.
	rowBatch = 50
	// rowText is what each node hands to the tool and gets back.
	rowText = "The kettle in the kitchen is on, and the tea will be ready in some three minutes."
)

// row makes runs of ten tool nodes and returns the CPU time that its process took.
type row func(runs int) time.Duration

// BenchmarkRow is ten tool nodes in a row, by us and by others, in turns, so that a busy
// machine slows both: the CPU time of a run of each, and ours as a share of theirs. ADK for
// Go keeps its sessions in memory, LangGraph its checkpoints in SQLite, and we the records
// of runs in one or the other. Every tool is a function in the process that calls it. No
// model, no network, no HTTP; starting up, compiling the graph and making the store are
// left out for all. Of ours, "journal" is with a tool that is not safe to repeat, whose
// call is kept before and after it is made. See e2e/rivals; make rivals runs it.
func BenchmarkRow(b *testing.B) {
	adk := func(b *testing.B) row { return rival(b, filepath.Join("dist", "rival-adk"), rowText) }
	langgraph := func(durability string) func(*testing.B) row {
		return func(b *testing.B) row {
			return rival(b, filepath.Join(".venv", "langgraph", "bin", "python"), filepath.Join("..", "..", "..", "e2e", "rivals", "langgraph", "rows.py"),
				filepath.Join(b.TempDir(), "l.db"), rowText, durability)
		}
	}
	for _, c := range []struct {
		name    string
		ours    func(*testing.B) store.Store
		journal bool
		theirs  func(*testing.B) row
	}{
		{"memory/adk", rowsInMemory, false, adk},
		{"memory-journal/adk", rowsInMemory, true, adk},
		{"sqlite/langgraph-sync", rowsInFile, false, langgraph("sync")},
		{"sqlite/langgraph-async", rowsInFile, false, langgraph("async")},
		{"sqlite/langgraph-exit", rowsInFile, false, langgraph("exit")},
		{"sqlite-journal/langgraph-sync", rowsInFile, true, langgraph("sync")},
	} {
		b.Run(c.name, func(b *testing.B) {
			theirs, ours := c.theirs(b), ourRow(b, c.ours(b), c.journal)
			theirs(rowBatch) // what is made at the first runs
			ours(rowBatch)
			var their, our time.Duration
			for b.Loop() {
				our += ours(rowBatch)
				their += theirs(rowBatch)
			}
			runs := float64(b.N * rowBatch)
			b.ReportMetric(float64(our.Microseconds())/runs, "ours-cpu-µs/run")
			b.ReportMetric(float64(their.Microseconds())/runs, "theirs-cpu-µs/run")
			b.ReportMetric(float64(our)/float64(their), "ours/theirs")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func rowsInMemory(*testing.B) store.Store { return memory.New(memory.Config{}) }

func rowsInFile(b *testing.B) store.Store {
	b.Helper()
	s, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "s.db")})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// ourRow is the row by a workflow whose records are in a store. Each node's argument is an
// expression.
func ourRow(b *testing.B, in store.Store, journal bool) row {
	b.Helper()
	b.Cleanup(func() { _ = in.Close() })
	d := graph.Definition{Name: "row", Entry: "n0", MaxIterations: 50, Timeout: time.Hour}
	for i := range rowNodes {
		d.Nodes = append(d.Nodes, graph.Node{ID: "n" + strconv.Itoa(i), Type: engine.ToolNode, Tool: "s/echo",
			Arguments: []graph.Argument{{Name: "text", Expression: "input"}}})
		if i > 0 {
			d.Edges = append(d.Edges, graph.Edge{From: "n" + strconv.Itoa(i-1), To: "n" + strconv.Itoa(i)})
		}
	}
	w, problems := graph.Compile(d, engine.Kinds())
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	kept := records.NewRunStore(records.RunStoreConfig{Store: in, Wait: time.Hour})
	calls := rowTool{readOnly: !journal}
	r, made := engine.New(engine.Config{Workflow: w, Tools: &calls, Records: kept.Records}), 0
	return func(runs int) time.Duration {
		began := wholetest.SpentCPU(b)
		for range runs {
			made++
			calls.made = 0
			if _, err := r.Run(b.Context(), &chat.Request{Input: rowText, Keeping: chat.Keeping{Task: chat.TaskPrefix + strconv.Itoa(made)}}, unseen{}); err != nil || calls.made != rowNodes {
				b.Fatalf("%d calls, %v", calls.made, err)
			}
		}
		return wholetest.SpentCPU(b) - began
	}
}

// rowTool answers with its arguments and counts its calls.
type rowTool struct {
	readOnly bool
	made     int
}

func (t *rowTool) Tools(context.Context) *tool.Set {
	return &tool.Set{Specs: []tool.Spec{{Name: "echo", Server: "s", Annotations: tool.Annotations{ReadOnly: t.readOnly}}}}
}

func (t *rowTool) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	t.made++
	return tool.Result{ID: c.ID, Name: c.Name, Text: string(c.Arguments)}, nil
}

func (*rowTool) Named(context.Context, string, string) string { return "echo" }

// unseen is a sink that nobody reads.
type unseen struct{}

func (unseen) Emit(stream.Event) error { return nil }

func (unseen) Flush() error { return nil }

// rival starts a program of e2e/rivals, which reads a number of runs from each line
// and answers with the CPU seconds that they took it. It skips the benchmark, if the
// program is not there; its path is one in the repository.
func rival(b *testing.B, program string, args ...string) row {
	b.Helper()
	path := filepath.Join("..", "..", "..", program)
	if _, err := os.Stat(path); err != nil {
		b.Skip(program + " is not there: make rivals installs it")
	}
	cmd := exec.CommandContext(b.Context(), path, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	got := bufio.NewReader(out)
	return func(runs int) time.Duration {
		_, _ = io.WriteString(in, strconv.Itoa(runs)+"\n")
		line, err := got.ReadString('\n')
		if err != nil {
			b.Fatal(err)
		}
		seconds, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
		if err != nil {
			b.Fatal(err)
		}
		return time.Duration(seconds * float64(time.Second))
	}
}
