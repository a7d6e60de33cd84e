//go:build unix

package records_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/telemetry/trace/tracetest"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/task"
)

// judging starts a gateway whose model writes what its judge never lets pass at first.
func judging(t *testing.T, in store.Store, tree *tracetest.Tree) *wholetest.Flow {
	t.Helper()
	file := fmt.Sprintf(wholetest.WithheldYAML, "graceful") + wholetest.WithheldTeam
	cfg, read := wholetest.Configured(t, file, map[string]string{"GEMINI_API_KEY": wholetest.Key, "GEMINI_BASE_URL": "http://gemini", "SLUICE_HEARTBEAT": "0"})
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: read, Version: "test"}, zerolog.New(io.Discard), gateway.Seams{
		Store: in, Tracer: tree, Gemini: testnet.Serve(t, wholetest.Inventor(nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	wholetest.AwaitTools(t, g)
	return &wholetest.Flow{T: t, Gateway: g}
}

// judgedElsewhere waits for the end of a run that another gateway continues with: its answer
// has been checked there, and what was withheld is nowhere.
func judgedElsewhere(t *testing.T, in store.Store, f *wholetest.Flow) {
	t.Helper()
	id := wholetest.Only(t, in)
	testnet.Eventually(t, "the run is over", func() bool { return wholetest.StateOf(t, in, id) != task.Working })
	last, err := in.Task(t.Context(), id)
	if err != nil || last.State != task.Completed || !strings.Contains(string(last.Doc), "It is as it should be.") {
		t.Errorf("the task is %s, %v", last.Doc, err)
	}
	wholetest.WantNone(t, "the task", last.Doc)
	for _, key := range []string{store.CheckpointsKey(id), store.MessagesKey(id), store.TraceKey(id)} {
		items, err := in.List(t.Context(), key, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			wholetest.WantNone(t, key, item)
		}
	}
	if v, err := in.Value(t.Context(), store.RunKey(id)); err == nil {
		wholetest.WantNone(t, "the run", v.Data)
	}
}

const beginsJudged = `{"input":"Say it","workflow":"flow"}`

// A run whose answer is held back and whose gateway loses the store, wherever it is by then, is
// judged by the gateway that continues with it.
func TestTakenOverRunIsJudged(t *testing.T) {
	t.Parallel()
	lost := 0
	for after := int64(2); after < 6; after++ {
		tree := new(tracetest.Tree)
		in := memory.New(memory.Config{})
		down := &wholetest.Cut{Store: in, Why: store.ErrUnavailable}
		down.After.Store(after)
		one := judging(t, down, tree)
		got := one.Serve("/chat/stream", beginsJudged, io.Discard)
		wholetest.WantNone(t, "the first stream", []byte(got))
		one.Close()
		if !down.Off.Load() {
			continue
		}
		lost++
		two := judging(t, in, tree)
		judgedElsewhere(t, in, two)
		two.Close()
		if got := wholetest.Names(tree); !strings.Contains(got, "\ninvoke_workflow flow after 2 completed\n") {
			t.Errorf("write %d: spans\n%s", after, got)
		}
	}
	if lost < 2 {
		t.Errorf("the store was lost in %d runs", lost)
	}
}

// judgedDir is where the process that is killed keeps its run.
const judgedDir = "SLUICE_TEST_JUDGED_DIR"

// TestJudgedChild begins a run and is killed in it.
func TestJudgedChild(t *testing.T) {
	dir := os.Getenv(judgedDir)
	if dir == "" {
		t.Skip("it is run by TestKilledRunIsJudged")
	}
	in := wholetest.OpenFile(t, dir)
	f := judging(t, wholetest.Fragile{Store: in, At: 18, Point: new(atomic.Int64)}, new(tracetest.Tree))
	f.Serve("/chat/stream", beginsJudged, os.Stdout)
}

// A run whose process was killed is judged by the next one, whose span links to that of the
// dead.
func TestKilledRunIsJudged(t *testing.T) {
	t.Parallel()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), path, "-test.run=^TestJudgedChild$")
	cmd.Env = append(os.Environ(), judgedDir+"="+dir)
	got, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%v\n%s", err, got)
	}
	wholetest.WantNone(t, "what its client saw", got)
	in := wholetest.OpenFile(t, dir)
	if state := wholetest.StateOf(t, in, wholetest.Only(t, in)); state != task.Working {
		t.Fatalf("the task is %s: it was killed too late\n%s", state, got)
	}
	tree := new(tracetest.Tree)
	judgedElsewhere(t, in, judging(t, in, tree))
	if got := wholetest.Names(tree); !strings.Contains(got, "invoke_workflow flow after 2 completed\n") {
		t.Errorf("spans\n%s", got)
	}
}
