package peers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/edge/dialect/agui"
	"sluice/internal/sim/geminisim"
	"sluice/internal/turn/chat"
	events "sluice/stream"
)

// aguiClients are the last versions of each era of AG-UI's client.
var aguiClients = []string{"client-0.0.45", "client-0.0.59", "client-1.0.0"}

// aguiRun is what a thread has more after a run.
type aguiRun struct {
	Text, Thoughts string
	Calls          []aguiCall
	Results        map[string]string // also of calls of an earlier run
	Verdict        string
	Complaints     []string
}

type aguiCall struct{ ID, Name, Arguments, Result string }

// tape is the turns of golden transcripts, and of others, by name.
type tape map[string][][]wholetest.Recorded

// recordedTurns plays all golden transcripts, and a run of a workflow, once for all tests.
func recordedTurns(t *testing.T) tape {
	t.Helper()
	recordOnce.Do(func() {
		files, err := filepath.Glob(root + "/testdata/transcripts/*.txtar")
		if err != nil {
			t.Fatal(err)
		}
		record := func(name string, tr wholetest.Transcript) {
			synctest.Test(t, func(t *testing.T) {
				if turns := tr.Record(t); len(turns) > 0 {
					recordedOnce[name] = turns
				}
			})
		}
		for _, file := range files {
			record(strings.TrimSuffix(filepath.Base(file), ".txtar"), wholetest.ReadTranscript(t, file))
		}
		record("research", wholetest.Research(t, root+"/examples"))
		for name, turn := range wholetest.RareTurns(t) {
			recordedOnce[name] = [][]wholetest.Recorded{turn}
		}
	})
	if len(recordedOnce) < 90 {
		t.Fatalf("only %d transcripts have turns", len(recordedOnce))
	}
	return recordedOnce
}

var (
	recordOnce   sync.Once
	recordedOnce = tape{}
)

// runs returns how many runs each thread has.
func (tp tape) runs() map[string]int {
	runs := map[string]int{}
	for name, turns := range tp {
		runs[name] = len(turns)
	}
	return runs
}

// frames returns a turn as the reply to a request.
func (tp tape) frames(t *testing.T, name string, i int, r *http.Request, body []byte) ([]byte, error) {
	t.Helper()
	asked := chat.Turn{RequestID: fmt.Sprintf("req_%s_%d", name, i), Began: time.Unix(1_767_225_600, 0)}
	x, err := agui.New(agui.Config{}).Routes()[0].Open(r.WithContext(chat.WithTurn(r.Context(), asked)), body)
	if err != nil {
		return nil, err
	}
	var frames []byte
	for _, ev := range tp[name][i] {
		if q, ok := ev.Event.(*events.Approval); ok { // a client answers none that has expired
			lasting := *q
			lasting.ExpiresAt = "2100-01-01T00:00:00Z"
			ev.Event = &lasting
		}
		frames = x.Encoder.Encode(frames, ev.Stamp, ev.Event)
	}
	return frames, nil
}

// serve answers POST /NAME/RUN with that turn, as the reply to what the client asks.
func (tp tape) serve(t *testing.T) string {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{name}/{run}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		i, err := strconv.Atoi(r.PathValue("run"))
		if err != nil || i >= len(tp[name]) {
			http.NotFound(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		frames, err := tp.frames(t, name, i, r, body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(frames)
	})
	return serve(t, mux)
}

// aguiWant returns what a client must have of a turn; earlier are the calls that its thread has
// already.
func aguiWant(turn []wholetest.Recorded, earlier map[string]bool) (want aguiRun) {
	var fold events.Fold
	for _, ev := range turn {
		fold.Add(ev.Event)
		if thought, ok := ev.Event.(*events.Thinking); ok {
			want.Thoughts += thought.Content
		}
	}
	want.Text, want.Verdict = fold.Text(), "success"
	for _, c := range fold.Calls {
		if c.Outcome == events.CallCompleted {
			c.Result, _ = chat.Truncate(c.Result, 2<<10)
		}
		want.Calls = append(want.Calls, aguiCall{c.ID, c.Tool, string(c.Arguments), c.Result})
	}
	for _, c := range fold.Required {
		want.Calls = append(want.Calls, aguiCall{c.ID, c.Tool, string(c.Arguments), ""})
	}
	if e := fold.Fatal(); e != nil {
		want.Verdict = string(e.Type) + " " + e.Message
	} else if len(fold.Questions) > 0 {
		want.Verdict = "interrupt"
		for _, c := range fold.Questions[0].Calls {
			want.Calls = append(want.Calls, aguiCall{c.CallID, c.Tool, string(c.Arguments), ""})
		}
	}
	want.Calls = slices.DeleteFunc(want.Calls, func(c aguiCall) bool { return earlier[c.ID] })
	for _, c := range want.Calls {
		earlier[c.ID] = true
	}
	return want
}

// inOrder sorts the calls, which stand with the messages that they belong to, and spells their
// arguments alike.
func (r aguiRun) inOrder() aguiRun {
	r.Results = nil
	r.Calls, r.Complaints = append([]aguiCall{}, r.Calls...), append([]string{}, r.Complaints...)
	for i := range r.Calls {
		var members map[string]any
		if json.Unmarshal([]byte(r.Calls[i].Arguments), &members) != nil {
			members = map[string]any{}
		}
		text, _ := json.Marshal(members)
		r.Calls[i].Arguments = string(text)
	}
	slices.SortFunc(r.Calls, func(a, b aguiCall) int { return cmp.Compare(a.ID, b.ID) })
	return r
}

// AG-UI's own client, of each era, plays every golden transcript without a complaint and has
// what a native client has; and it talks with a gateway: turns with calls side by side, tools of
// the page's, questions to a person, failures and a stop.
func TestAGUI(t *testing.T) {
	needPeers(t)
	turns := recordedTurns(t)
	for _, client := range aguiClients {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			// The calls of the page's tools come back as the client's word.
			g := startGateway(t, byMarkerAs(t, geminisim.Config{Foreign: true}, aguiScripts).env("SLUICE_CONFIRM", "writes"))
			var seen struct{ Runs, Talks map[string][]aguiRun }
			runDialect(t, "agui", "play.mjs", map[string]any{
				"package": client, "tape": turns.serve(t), "runs": turns.runs(), "gateway": g.base,
			}, &seen)
			if len(seen.Runs) != len(turns) {
				t.Errorf("%d threads, want %d", len(seen.Runs), len(turns))
			}
			for name, runs := range seen.Runs {
				earlier := map[string]bool{}
				for i, got := range runs {
					want := aguiWant(turns[name][i], earlier).inOrder()
					if text := diff.Diff(want, got.inOrder()); text != "" {
						t.Errorf("%s, run %d (-want +got):\n%s", name, i+1, text)
					}
				}
			}
			wantTalks(t, seen.Talks)
			g.awaitLog(t, "request_completed", "finish_reason", "cancelled")
		})
	}
}

// The protocol's own models for Python know each frame of every golden transcript, with all of
// its members.
func TestAGUIModels(t *testing.T) {
	t.Parallel()
	python := installed(t, ".venv/ag-ui/bin/python")
	turns := recordedTurns(t)
	var all bytes.Buffer
	for name, count := range turns.runs() {
		for i := range count {
			body := fmt.Sprintf(`{"threadId":%q,"runId":"run-%d","messages":[{"id":"1","role":"user","content":"go"}]}`, name, i)
			frames, err := turns.frames(t, name, i, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/agui", nil), []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			all.Write(frames)
		}
	}
	cmd := exec.CommandContext(t.Context(), python, installed(t, "e2e/peers/testdata/agui_judge.py"))
	var complaints bytes.Buffer
	cmd.Stdin, cmd.Stderr = &all, &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, complaints.Bytes())
	}
	var seen map[string]int
	if err := json.Unmarshal(out, &seen); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, kind := range []string{"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "STEP_STARTED", "REASONING_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "TOOL_CALL_RESULT", "CUSTOM"} {
		if seen[kind] == 0 {
			t.Errorf("there is no %s: %v", kind, seen)
		}
	}
}

// aguiScripts are what the model answers, by what stands in the first message of the thread.
var aguiScripts = map[string]string{
	"[turns]": `thought **Both lists**
parts [{"functionCall":{"name":"list_todos","args":{}}},{"functionCall":{"name":"list_todos","args":{"status":"all"}}}]
finish STOP
---
text One.
finish STOP
---
parts [{"functionCall":{"name":"list_todos","args":{}}},{"functionCall":{"name":"list_todos","args":{"status":"all"}}}]
finish STOP
---
text Two.
finish STOP
---
text Three.
finish STOP`,
	"[page]": `call pick_color {}
finish STOP
---
expect-contains /contents/2/parts/0/functionResponse/response/output red
text It is red.
finish STOP`,
	"[approve]": asked,
	"[reject]":  asked,
	"[edit]":    asked,
	"[blocked]": `text Well
finish SAFETY`,
	"[stop]": `text One
stall`,
}

// asked is a call that a person must allow, what follows it, and another turn.
const asked = `call create_todo {"title":"milk"}
finish STOP
---
text So be it.
finish STOP
---
text Nothing.
finish STOP`

// wantTalks checks the conversations with the gateway.
func wantTalks(t *testing.T, talks map[string][]aguiRun) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(talks)) {
		for i, r := range talks[name] {
			if len(r.Complaints) > 0 && name != "refused" && name != "stop" {
				t.Errorf("%s, run %d: %q", name, i+1, r.Complaints)
			}
		}
	}
	verdicts := map[string][]string{}
	texts := map[string][]string{}
	for name, runs := range talks {
		for _, r := range runs {
			verdict, _, _ := strings.Cut(r.Verdict, " ")
			verdicts[name] = append(verdicts[name], verdict)
			texts[name] = append(texts[name], r.Text)
		}
	}
	over := []string{"interrupt", "success", "success"}
	if text := diff.Diff(map[string][]string{
		"turns": {"success", "success", "success"}, "page": {"success", "success"}, "approve": over, "reject": over, "edit": over,
		"blocked": {"model_blocked"}, "refused": {""}, "stop": {"abort"},
	}, verdicts); text != "" {
		t.Errorf("ends (-want +got):\n%s", text)
	}
	decided := []string{"", "So be it.", "Nothing."}
	if text := diff.Diff(map[string][]string{
		"turns": {"One.", "Two.", "Three."}, "page": {"", "It is red."}, "approve": decided, "reject": decided, "edit": decided,
		"blocked": {"Well"}, "refused": {""}, "stop": {"One"},
	}, texts); text != "" {
		t.Errorf("texts (-want +got):\n%s", text)
	}
	wantTurns(t, talks["turns"])
	for name, want := range map[string]string{"approve": `"title":"milk"`, "edit": `"title":"oat milk"`, "reject": "not allowed"} {
		results := slices.Collect(maps.Values(talks[name][1].Results))
		if len(results) != 1 || !strings.Contains(results[0], want) || len(talks[name][1].Calls) > 0 {
			t.Errorf("%s: the results are %q, and the calls %v", name, results, talks[name][1].Calls)
		}
	}
	if said := fmt.Sprint(talks["refused"][0].Complaints); !strings.Contains(said, "must hold more than white space") {
		t.Errorf("the refusal is %s", said)
	}
}

// wantTurns checks three turns of one thread, two of which have two calls at once: the model
// gives these no ids, and a client finds calls by their ids in the whole thread.
func wantTurns(t *testing.T, runs []aguiRun) {
	t.Helper()
	ids := map[string]bool{}
	var texts []string
	for _, r := range runs {
		texts = append(texts, r.Text)
		for _, c := range r.Calls {
			ids[c.ID] = true
			if !strings.HasPrefix(c.Result, "{") {
				t.Errorf("a result of another call, or none: %+v", c)
			}
		}
	}
	if text := diff.Diff([]string{"One.", "Two.", "Three."}, texts); text != "" {
		t.Fatalf("texts (-want +got):\n%s", text)
	}
	if len(ids) != 4 || len(runs[0].Calls) != 2 || len(runs[1].Calls) != 2 || runs[0].Thoughts == "" {
		t.Errorf("the calls are %v, the first thoughts %q", ids, runs[0].Thoughts)
	}
}
