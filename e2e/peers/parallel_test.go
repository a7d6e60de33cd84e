package peers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const manyTurns = 100

// inParallel runs a turn for each marker at the same time, and hands each to
// check; an error fails the test.
func inParallel(t *testing.T, g *gateway, markers []string, check func(marker string, tu turn) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	began := time.Now()
	results := make(chan error)
	for _, marker := range markers {
		go func() {
			tu, err := g.tryAsk(ctx, marker)
			if err == nil {
				err = check(marker, tu)
			}
			results <- err
		}()
	}
	for range markers {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d turns in %d ms", len(markers), time.Since(began).Milliseconds())
}

// echoes makes each of so many turns say something else, and check what came back.
func echoes(count int) map[string]string {
	scripts := map[string]string{}
	for i := range count {
		payload := fmt.Sprintf("payload-%03d", i)
		scripts["turn-"+payload] = called(fmt.Sprintf(`echo {"text":"my %s"}`, payload), "my "+payload)
	}
	return scripts
}

// echoInParallel runs 100 turns at once, which share one session. Each must get
// the answer to its own call.
func echoInParallel(t *testing.T, g *gateway) {
	t.Helper()
	inParallel(t, g, slices.Collect(maps.Keys(echoes(manyTurns))), func(marker string, tu turn) error {
		want := "my " + strings.TrimPrefix(marker, "turn-")
		if ended := tu.calls("completed"); len(ended) != 1 || ended[0].Result != want || !tu.done().Success {
			return fmt.Errorf("want the result %q:\n%v", want, tu)
		}
		return nil
	})
}

// createInParallel makes 100 todos at once.
func createInParallel(t *testing.T, server, database string) {
	t.Helper()
	scripts := map[string]string{}
	var want []string
	for i := range manyTurns {
		title := fmt.Sprintf("todo-%03d", i)
		scripts["turn-"+title] = called(fmt.Sprintf(`create_todo {"title":%q,"tags":["t%d"]}`, title, i), title)
		want = append(want, fmt.Sprintf(`%s|["t%d"]`, title, i))
	}
	g := startGateway(t, byMarker(t, scripts).env("MCP_SERVER_URL", server))
	g.awaitLog(t, "mcp_connected")
	inParallel(t, g, slices.Collect(maps.Keys(scripts)), func(_ string, tu turn) error {
		if len(tu.calls("completed")) != 1 || !tu.done().Success {
			return fmt.Errorf("want one call completed:\n%v", tu)
		}
		return nil
	})
	got := strings.Split(psql(t, database, "select title, tags from todo order by title"), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
