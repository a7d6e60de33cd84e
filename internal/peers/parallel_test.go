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

// 100 turns at once share one session, and each gets the answer to its own call.
func TestParallelCalls(t *testing.T) {
	t.Parallel()
	server, j := startQuirks(t)
	for _, tt := range []struct {
		name  string
		entry map[string]any
	}{
		{"http 2025-11-25", map[string]any{"url": server.url, "protocolVersion": "2025-11-25"}},
		{"http auto", map[string]any{"url": server.url, "protocolVersion": "auto"}},
		{"stdio", map[string]any{"command": python(t, "python"), "args": []string{installed(t, quirksServer)},
			"env": quiet("QUIRKS_JOURNAL", string(j))}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			scripts := map[string]string{}
			for i := range manyTurns {
				payload := fmt.Sprintf("payload-%03d", i)
				scripts["turn-"+payload] = called(fmt.Sprintf(`echo {"text":"my %s"}`, payload), "my "+payload)
			}
			env := mcpConfig(t, map[string]any{"quirks": tt.entry})
			maps.Copy(env, byMarker(t, scripts).env())
			g := startGateway(t, env)
			g.awaitLog(t, "mcp_connected")
			inParallel(t, g, slices.Collect(maps.Keys(scripts)), func(marker string, tu turn) error {
				want := "my " + strings.TrimPrefix(marker, "turn-")
				if ended := tu.calls("completed"); len(ended) != 1 || ended[0].Result != want || !tu.done().Success {
					return fmt.Errorf("want the result %q:\n%v", want, tu)
				}
				return nil
			})
		})
	}
}

// 100 turns at once make 100 todos in PostgreSQL, no more and no fewer.
func TestParallelTodos(t *testing.T) {
	t.Parallel()
	db := postgres(t)
	scripts := map[string]string{}
	var want []string
	for i := range manyTurns {
		title := fmt.Sprintf("todo-%03d", i)
		scripts["turn-"+title] = called(fmt.Sprintf(`create_todo {"title":%q,"tags":["t%d"]}`, title, i), title)
		want = append(want, fmt.Sprintf(`%s|["t%d"]`, title, i))
	}
	env := mcpConfig(t, map[string]any{"todo": overHTTP()(t, db.url)})
	maps.Copy(env, byMarker(t, scripts).env())
	g := startGateway(t, env)
	g.awaitLog(t, "mcp_connected")
	inParallel(t, g, slices.Collect(maps.Keys(scripts)), func(_ string, tu turn) error {
		if len(tu.calls("completed")) != 1 || !tu.done().Success {
			return fmt.Errorf("want one call completed:\n%v", tu)
		}
		return nil
	})
	got := strings.Split(psql(t, db.url, "select title, tags from todo order by title"), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
