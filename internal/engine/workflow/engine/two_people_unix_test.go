//go:build unix

package engine_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/store/sqlite"
	"sluice/internal/state/task"
)

const twoPeople = `
agents: {a: {description: answers}}
workflows:
  w:
    nodes:
      begin: {type: agent, agent: a, input: "hello"}
      one: {type: human, prompt: "One?"}
      two: {type: human, prompt: "Two?"}
      between: {type: agent, agent: a, input: "hello"}
      end: {type: human, prompt: "{{messages.filter(m, m.node == 'one')[0].content}} {{messages.filter(m, m.node == 'two')[0].content}}"}
    edges: [{from: begin, to: one}, {from: begin, to: two}, {from: one, to: between}, {from: between, to: end}, {from: two, to: end}]
`

// asks is what an approval event reports.
type asks struct {
	ID      string `json:"approval_id"`
	Task    string `json:"task_id"`
	Prompt  string `json:"prompt"`
	Token   string `json:"token"`
	Expires string `json:"expires_at"`
}

// questionsOf returns what a stream asks, by its prompts.
func questionsOf(t *testing.T, stream string) map[string]asks {
	t.Helper()
	asked := map[string]asks{}
	for block := range strings.SplitSeq(stream, "\n\n") {
		if _, data, ok := strings.Cut(block, "\nevent: approval\ndata: "); ok {
			var q asks
			if err := json.Unmarshal([]byte(data), &q); err != nil {
				t.Fatal(err)
			}
			asked[q.Prompt] = q
		}
	}
	return asked
}

func sayTo(q asks, message string) string {
	return fmt.Sprintf(`{"approval":{"token":%q,"action":"approve","message":%q}}`, q.Token, message)
}

// Each of two people who are asked at the same time answers for themselves: the answer to one
// changes nothing about the question to the other, and neither is lost if both come at once.
func TestTwoPeopleAreAsked(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) store.Store{
		"memory": func(*testing.T) store.Store { return memory.New(memory.Config{}) },
		"sqlite": func(t *testing.T) store.Store {
			in, err := sqlite.Open(t.Context(), sqlite.Config{Path: t.TempDir() + "/s.db"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = in.Close() })
			return in
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := open(t)
			f := wholetest.StartOn(t, in, twoPeople)
			t.Run("one after the other", func(t *testing.T) {
				asked := questionsOf(t, f.Serve("/chat/stream", `{"input":"go","workflow":"w"}`, io.Discard))
				one, two := asked["One?"], asked["Two?"]
				if len(asked) != 2 || one.ID == two.ID || one.Token == two.Token {
					t.Fatalf("asked %+v", asked)
				}
				asked = questionsOf(t, f.Serve("/chat/stream", sayTo(one, "first"), io.Discard))
				if len(asked) != 1 || asked["Two?"] != two {
					t.Fatalf("then asked %+v, want %+v", asked, two)
				}
				if code, got := f.Replies("/chat/stream", sayTo(one, "again")); code != http.StatusConflict || !strings.Contains(got, "approval_used") {
					t.Errorf("the first again: %d %s", code, got)
				}
				asked = questionsOf(t, f.Serve("/chat/stream", sayTo(two, "second"), io.Discard))
				if len(asked) != 1 || asked["first second"].ID == "" {
					t.Fatalf("at last asked %+v", asked)
				}
				if code, got := f.Replies("/chat/stream", sayTo(two, "again")); code != http.StatusConflict || !strings.Contains(got, "approval_used") {
					t.Errorf("the second again: %d %s", code, got)
				}
			})
			t.Run("both at once", func(t *testing.T) {
				for range 3 {
					asked := questionsOf(t, f.Serve("/chat/stream", `{"input":"go","workflow":"w"}`, io.Discard))
					var both sync.WaitGroup
					var mu sync.Mutex
					then := map[string]asks{}
					for prompt, message := range map[string]string{"One?": "first", "Two?": "second"} {
						both.Go(func() {
							code, got := f.Replies("/chat/stream", sayTo(asked[prompt], message))
							mu.Lock()
							defer mu.Unlock()
							if code != http.StatusOK {
								t.Errorf("%s %d %s", prompt, code, got)
							}
							for prompt, q := range questionsOf(t, got) {
								then[prompt] = q
							}
						})
					}
					both.Wait()
					last := then["first second"]
					if last.ID == "" || wholetest.StateOf(t, in, last.Task) != task.InputRequired {
						t.Fatalf("then asked %+v", then)
					}
				}
			})
			t.Run("by id, without a stream", func(t *testing.T) {
				asked := questionsOf(t, f.Serve("/chat/stream", `{"input":"go","workflow":"w"}`, io.Discard))
				for _, prompt := range []string{"One?", "Two?"} {
					code, got := f.Decides(asked[prompt].Task, fmt.Sprintf(`{"action":"approve","message":"m","approval_id":%q}`, asked[prompt].ID))
					if code != http.StatusOK {
						t.Errorf("%s %d %s", prompt, code, got)
					}
				}
			})
		})
	}
}
