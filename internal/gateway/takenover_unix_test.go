//go:build unix

package gateway

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/settings"
	"sluice/internal/testnet"
	"sluice/store"
	"sluice/store/memory"
	"sluice/store/sqlite"
	"sluice/task"
	"sluice/trace/tracetest"
)

// judging starts a gateway whose model writes what its judge never lets pass at first.
func judging(t *testing.T, in store.Store, tree *tracetest.Tree) *flowing {
	t.Helper()
	file := fmt.Sprintf(withheldYAML, "graceful") + withheldTeam
	cfg, read := configured(t, file, map[string]string{"GEMINI_API_KEY": goldenKey, "GEMINI_BASE_URL": "http://gemini", "SLUICE_HEARTBEAT": "0"})
	g, err := New(t.Context(), settings.Config{Config: cfg, File: read, Version: "test"}, zerolog.New(io.Discard), Seams{
		Store: in, Tracer: tree, Gemini: testnet.Serve(t, inventor(nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	awaitTools(t, g)
	return &flowing{t: t, Gateway: g}
}

// only returns the one task that a store has.
func only(t *testing.T, in store.Store) string {
	t.Helper()
	page, err := in.Tasks(t.Context(), store.Query{Limit: 10})
	if err != nil || len(page.IDs) != 1 {
		t.Fatal(err, page.IDs)
	}
	return page.IDs[0]
}

// judgedElsewhere waits for the end of a run that another gateway goes on with: its answer has
// been checked there, and what was withheld is nowhere.
func judgedElsewhere(t *testing.T, in store.Store, f *flowing) {
	t.Helper()
	id := only(t, in)
	testnet.Eventually(t, "the run is over", func() bool { return stateOf(t, in, id) != task.Working })
	last, err := in.Task(t.Context(), id)
	if err != nil || last.State != task.Completed || !strings.Contains(string(last.Doc), "It is as it should be.") {
		t.Errorf("the task is %s, %v", last.Doc, err)
	}
	wantNone(t, "the task", last.Doc)
	for _, key := range []string{store.CheckpointsKey(id), store.MessagesKey(id), store.TraceKey(id)} {
		items, err := in.List(t.Context(), key, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			wantNone(t, key, item)
		}
	}
	if v, err := in.Value(t.Context(), store.RunKey(id)); err == nil {
		wantNone(t, "the run", v.Data)
	}
}

const beginsJudged = `{"input":"Say it","workflow":"flow"}`

// A run whose answer is held back and whose gateway loses the store, wherever it is by then, is
// judged by the gateway that goes on with it.
func TestTakenOverRunIsJudged(t *testing.T) {
	t.Parallel()
	lost := 0
	for after := int64(2); after < 6; after++ {
		tree := new(tracetest.Tree)
		in := memory.New(memory.Config{})
		away := &cut{Store: in, why: store.ErrUnavailable}
		away.after.Store(after)
		one := judging(t, away, tree)
		told := one.serve("/chat/stream", beginsJudged, io.Discard)
		wantNone(t, "the first stream", []byte(told))
		one.Close()
		if !away.off.Load() {
			continue
		}
		lost++
		two := judging(t, in, tree)
		judgedElsewhere(t, in, two)
		two.Close()
		if got := names(tree); !strings.Contains(got, "\ninvoke_workflow flow after 2 completed\n") {
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
	in := openFile(t, dir)
	f := judging(t, fragile{Store: in, at: 18, point: new(atomic.Int64)}, new(tracetest.Tree))
	f.serve("/chat/stream", beginsJudged, os.Stdout)
}

func openFile(t *testing.T, dir string) store.Store {
	t.Helper()
	in, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(dir, "s.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close() })
	return in
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
	told, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%v\n%s", err, told)
	}
	wantNone(t, "what its client saw", told)
	in := openFile(t, dir)
	if state := stateOf(t, in, only(t, in)); state != task.Working {
		t.Fatalf("the task is %s: it was killed too late\n%s", state, told)
	}
	tree := new(tracetest.Tree)
	judgedElsewhere(t, in, judging(t, in, tree))
	if got := names(tree); !strings.Contains(got, "invoke_workflow flow after 2 completed\n") {
		t.Errorf("spans\n%s", got)
	}
}
