package archtest

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A context carries only facts that cannot travel as a field or a parameter: libraries, tools and
// calls of models hand on nothing else.
func TestContextsCarryFewThings(t *testing.T) {
	t.Parallel()
	want := []string{
		"handlers/conn.go connKey",
		"internal/base/telemetry/trace/trace.go key",
		"internal/edge/dialect/a2a/open.go callKey",
		"internal/engine/agent/remote/http.go exchangeKey",
		"internal/model/gemini/sdk/answer.go callKey",
		"internal/state/task/recording/serve.go turnKey",
		"internal/turn/chat/turn.go turnKey",
		"internal/turn/tool/attempt.go attemptKey",
		"mcpclient/internal/wire/exchange.go exchangeKey",
	}
	set := regexp.MustCompile(`context\.WithValue\([^\n]*?, (\w+)\{\}`)
	got := map[string]bool{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		calls := strings.Count(string(text), "context.WithValue(")
		found := set.FindAllStringSubmatch(string(text), -1)
		if len(found) != calls {
			t.Errorf("%s: %d of %d keys are of a form that is not read", name, calls-len(found), calls)
		}
		for _, m := range found {
			got[filepath.ToSlash(name)+" "+m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("keys of contexts (-want +got):\n%s", diff)
	}
}
