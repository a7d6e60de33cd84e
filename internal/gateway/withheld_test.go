package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/operate"
	"sluice/store/sqlite"
	"sluice/trace/tracetest"
)

// canary stands in every draft that is withheld, and in what the judge says of it.
const canary = "c4nary"

// inventor puts the canary into what the model writes as long as nobody has complained, and
// into each verdict. It never passes.
func inventor(sim http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		say := func(text string) {
			quoted, _ := json.Marshal(text)
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, `data: {"candidates":[{"content":{"role":"model","parts":[{"text":%s}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":3}}`+"\r\n\r\n", quoted)
		}
		switch {
		case bytes.Contains(body, []byte("You check an answer")):
			say(`{"verdicts":[{"id":"kind","passed":` + fmt.Sprint(!bytes.Contains(body, []byte(canary))) + `,"feedback":"It says ` + canary + `, which is wrong."}]}`)
		case bytes.Contains(body, []byte("You rewrite an answer")) && !bytes.Contains(body, []byte("hopeless")):
			say("It is as it should be.")
		case bytes.Contains(body, []byte("Judge the draft below")):
			say(`{"score":9,"passed":true,"feedback":""}`)
		case bytes.Contains(body, []byte("You plan how")):
			say(`{"criteria":[]}`)
		default:
			say("The secret number is " + canary + ".")
		}
	})
}

const withheldYAML = `
quality:
  mode: enforce
  drafts: ask
  plan: none
  on_fail: %s
  criteria: [{id: kind, description: "The answer is kind"}]
`

const withheldTeam = `
agents:
  writer: {description: Writes, role: Writer}
workflows:
  flow:
    nodes:
      first: {type: condition, expression: "'x'"}
      last: {type: agent, agent: writer}
    edges: [{from: first, to: {default: last}}]
`

// withheldRounds is a workflow whose answer a critic sees first.
const withheldRounds = `
agents:
  writer: {description: Writes, role: Writer}
workflows:
  flow:
    nodes:
      last: {type: agent, agent: writer, pattern: reflection, repeat: {critic: writer, until: "true"}}
`

// What a draft said that was withheld, and what the judge said of it, is in no store, in no
// log of events, in no task, trace, export, checkpoint, span and line of the log: of plain
// turns and of runs, of texts that were written again and of those that never passed.
func TestWithheldTextIsNowhere(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ file, body, want string }{
		"written again": {fmt.Sprintf(withheldYAML, "graceful"), `{"input":"Say it","drafts":true}`, `"outcome":"refined"`},
		"never passed":  {fmt.Sprintf(withheldYAML, "graceful"), `{"input":"Say it, hopeless","drafts":true}`, `"outcome":"graceful_failure"`},
		"a run":         {fmt.Sprintf(withheldYAML, "graceful") + withheldTeam, `{"input":"Say it","drafts":true,"workflow":"flow"}`, `"outcome":"refined"`},
		"a run, never":  {fmt.Sprintf(withheldYAML, "graceful") + withheldTeam, `{"input":"Say it, hopeless","drafts":true,"workflow":"flow"}`, `"outcome":"graceful_failure"`},
		"in rounds":     {fmt.Sprintf(withheldYAML, "graceful") + withheldRounds, `{"input":"Say it","drafts":true,"workflow":"flow"}`, `"outcome":"refined"`},
		"an agent":      {fmt.Sprintf(withheldYAML, "graceful") + withheldTeam, `{"input":"Say it","drafts":true,"agent":"writer"}`, `"outcome":"refined"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "sluice.db")
			synctest.Test(t, func(t *testing.T) {
				kept, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
				if err != nil {
					t.Fatal(err)
				}
				var log bytes.Buffer
				tree := new(tracetest.Tree)
				client, _, cfg := checkedGateway(t, tt.file, &log, Seams{Store: kept, Tracer: tree}, inventor)
				text := askChecked(t, client, tt.body)
				if !strings.Contains(text, tt.want) || !strings.Contains(strings.Join(drafts(text), ""), canary) {
					t.Fatalf("no draft was shown, or it was sent: %s", text)
				}
				synctest.Wait()
				task := eventOf(t, text, "start")["task_id"].(string)
				for _, path := range []string{"", "/trace", "/events", "/checkpoints"} {
					status, body := fetched(t, client, "/tasks/"+task+path)
					isRun := strings.Contains(tt.body, "workflow")
					if status != http.StatusOK && (isRun || path != "/checkpoints") {
						t.Errorf("%s: %d", path, status)
					}
					wantNone(t, "GET "+path, []byte(body))
				}
				time.Sleep(5 * time.Minute) // a run that is kept as one that goes on would be taken over
				if status, doc := fetched(t, client, "/tasks/"+task); status != http.StatusOK || !strings.Contains(doc, `"state":"completed"`) || !strings.Contains(doc, eventOf(t, text, "done")["final_output"].(string)) {
					t.Errorf("afterwards: %d %s", status, doc)
				}
				if again := strings.Count(log.String(), `"event":"workflow_started"`); again > 1 {
					t.Errorf("the run was begun %d times", again)
				}
				wantNone(t, "the spans", []byte(tree.String()))
				wantNone(t, "the log", log.Bytes())
				setStore(&cfg.Config, "sqlite:"+path)
				if err := operate.Export(t.Context(), cfg, task, filepath.Join(dir, "out")); err != nil {
					t.Fatal(err)
				}
				if err := kept.Close(); err != nil {
					t.Error(err)
				}
			})
			files := 0
			err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return err
				}
				files++
				text, err := os.ReadFile(name)
				wantNone(t, name, text)
				return err
			})
			if err != nil || files < 4 {
				t.Errorf("%d files, %v", files, err)
			}
		})
	}
}

func fetched(t *testing.T, client *http.Client, path string) (int, string) {
	t.Helper()
	resp, err := client.Get("http://gateway" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// wantNone looks for the canary.
func wantNone(t *testing.T, where string, text []byte) {
	t.Helper()
	if i := bytes.Index(text, []byte(canary)); i >= 0 {
		t.Errorf("%s: …%s…", where, bytes.ToValidUTF8(text[max(0, i-200):min(len(text), i+100)], []byte("?")))
	}
}
