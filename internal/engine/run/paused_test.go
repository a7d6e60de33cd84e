package run_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/engine/run"
)

// node is a run of a kind and a name that waits.
func node(t *testing.T, kind, name string, within ...*run.Paused) *run.Paused {
	t.Helper()
	p, err := run.Pause(kind, map[string]string{"of": kind + " <" + name + ">"}, within...)
	if err != nil {
		t.Fatal(err)
	}
	return p.As(name)
}

// A tree is read as it was stored, and each run in it is found by its kind and its name. What
// is cut or altered is refused, also what is too long or too deep.
func TestPaused(t *testing.T) {
	t.Parallel()
	p := node(t, "team", "", node(t, "agent", "a", node(t, run.KindSession, "call_1")), node(t, "agent", "b"))
	p.Shared, p.Begun = json.RawMessage(`{"k":1}`), 2
	text := p.Encode()
	again, err := run.ReadPaused("team", text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, again); diff != "" {
		t.Errorf("(-stored +read):\n%s", diff)
	}
	b, err := again.Child("agent", "b", nil)
	if own := map[string]string{}; err != nil || b.Into(&own) != nil || own["of"] != "agent <b>" || b.Into(new(int)) == nil {
		t.Errorf("the run within: %+v, %v", b, err)
	}
	for _, name := range []string{"call_1", "c"} {
		if _, err := again.Child("", name, nil); !errors.Is(err, run.ErrPaused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := again.Child(run.KindSession, "a", nil); !errors.Is(err, run.ErrPaused) {
		t.Errorf("another kind: %v", err)
	}
	for n := range text {
		altered := bytes.Clone(text)
		altered[n] ^= 1
		for _, bad := range [][]byte{text[:n], altered} {
			if _, err := run.ReadPaused("team", bad); !errors.Is(err, run.ErrPaused) {
				t.Errorf("byte %d: %v: %s", n, err, bad)
			}
		}
	}
	deep := node(t, "agent", "")
	for range 40 {
		deep = node(t, "agent", "", deep)
	}
	for name, p := range map[string]*run.Paused{"too deep": deep, "a hole": {Kind: "team", State: []byte("1"), Within: []*run.Paused{nil}},
		"no state": {Kind: "team"}, "another kind": node(t, "agent", "")} {
		text := p.Encode()
		if _, err := run.ReadPaused("team", text); !errors.Is(err, run.ErrPaused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := run.ReadPaused("team", append(text, make([]byte, run.MaxPaused)...)); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("too long: %v", err)
	}
}

// The version before the tree looked for its own version at one of these places, and refuses a
// tree by what it finds there. What later versions store is refused in the same way.
func TestOtherVersionsRefuse(t *testing.T) {
	t.Parallel()
	text := node(t, "team", "").Encode()
	var seen struct {
		Schema  int // of a question and of a session, which had 1
		Version int // of an agent, which had 1 or 2, and of a team, which had 1
		Header  struct{ Schema int }
		Team    json.RawMessage
	}
	if err := json.Unmarshal(text, &seen); err != nil || seen.Schema != run.Version || seen.Version != 0 || seen.Header.Schema != 0 || seen.Team != nil {
		t.Errorf("%v: it looks like %+v", err, seen)
	}
	for _, version := range []int{-1, 0, 1, 2, run.Version + 1} {
		later := strings.Replace(string(text), `{"schema":3`, fmt.Sprintf(`{"schema":%d`, version), 1)
		if _, err := run.ReadPaused("team", []byte(later)); !errors.Is(err, run.ErrVersion) || !errors.Is(err, run.ErrPaused) {
			t.Errorf("version %d: %v", version, err)
		}
	}
	for _, form := range []string{`{"version":4}`, `{"schema":4}`, `{"header":{"schema":4}}`, `{"team":{"version":4}}`, `{"version":3}`, `{}`} {
		if _, err := run.ReadPaused("team", []byte(form)); !errors.Is(err, run.ErrVersion) {
			t.Errorf("%s: %v", form, err)
		}
	}
}

// Each of the forms before the tree is read; testdata has one of each. The packages of the runs
// continue with them to their ends.
func TestFormsBeforeTheTree(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]string{"agent-1": "agent", "agent-2": "agent", "team-1": "team", "workflow-1": "workflow", "question-1": run.KindQuestion} {
		text, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		p, err := run.ReadPaused(kind, text)
		if own := map[string]any{}; err != nil || p.Kind != kind || p.Into(&own) != nil || len(own) < 3 {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		if bad := bytes.Replace(text, []byte(`"state":{"s`), []byte(`"state":{"x`), 1); !bytes.Equal(bad, text) && kind == "agent" {
			if _, err := run.ReadPaused(kind, bad); !errors.Is(err, run.ErrPaused) {
				t.Errorf("%s, altered: %v", name, err)
			}
		}
		turn := fmt.Sprintf(`{"team":%s,"shared":{"k":1},"begun":2}`, text)
		if p, err := run.ReadPaused(kind, []byte(turn)); err != nil || p.Begun != 2 || string(p.Shared) != `{"k":1}` {
			t.Errorf("a turn of %s: %+v, %v", name, p, err)
		}
	}
}
