package quality_test

import (
	"bytes"
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

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/operate"
	"sluice/internal/base/telemetry/trace/tracetest"
	"sluice/internal/state/store/sqlite"
)

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
		"written again": {fmt.Sprintf(wholetest.WithheldYAML, "graceful"), `{"input":"Say it","drafts":true}`, `"outcome":"refined"`},
		"never passed":  {fmt.Sprintf(wholetest.WithheldYAML, "graceful"), `{"input":"Say it, hopeless","drafts":true}`, `"outcome":"graceful_failure"`},
		"a run":         {fmt.Sprintf(wholetest.WithheldYAML, "graceful") + wholetest.WithheldTeam, `{"input":"Say it","drafts":true,"workflow":"flow"}`, `"outcome":"refined"`},
		"a run, never":  {fmt.Sprintf(wholetest.WithheldYAML, "graceful") + wholetest.WithheldTeam, `{"input":"Say it, hopeless","drafts":true,"workflow":"flow"}`, `"outcome":"graceful_failure"`},
		"in rounds":     {fmt.Sprintf(wholetest.WithheldYAML, "graceful") + withheldRounds, `{"input":"Say it","drafts":true,"workflow":"flow"}`, `"outcome":"refined"`},
		"an agent":      {fmt.Sprintf(wholetest.WithheldYAML, "graceful") + wholetest.WithheldTeam, `{"input":"Say it","drafts":true,"agent":"writer"}`, `"outcome":"refined"`},
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
				client, _, cfg := checkedGateway(t, tt.file, &log, gateway.Seams{Store: kept, Tracer: tree}, wholetest.Inventor)
				text := askChecked(t, client, tt.body)
				if !strings.Contains(text, tt.want) || !strings.Contains(strings.Join(wholetest.Drafts(text), ""), wholetest.Canary) {
					t.Fatalf("no draft was shown, or it was sent: %s", text)
				}
				synctest.Wait()
				task := wholetest.EventOf(t, text, "start")["task_id"].(string)
				for _, path := range []string{"", "/trace", "/events", "/checkpoints"} {
					status, body := fetched(t, client, "/tasks/"+task+path)
					isRun := strings.Contains(tt.body, "workflow")
					if status != http.StatusOK && (isRun || path != "/checkpoints") {
						t.Errorf("%s: %d", path, status)
					}
					wholetest.WantNone(t, "GET "+path, []byte(body))
				}
				time.Sleep(5 * time.Minute) // a run that is kept as one that continues would be taken over
				if status, doc := fetched(t, client, "/tasks/"+task); status != http.StatusOK || !strings.Contains(doc, `"state":"completed"`) || !strings.Contains(doc, wholetest.EventOf(t, text, "done")["final_output"].(string)) {
					t.Errorf("afterwards: %d %s", status, doc)
				}
				if again := strings.Count(log.String(), `"event":"workflow_started"`); again > 1 {
					t.Errorf("the run was begun %d times", again)
				}
				wholetest.WantNone(t, "the spans", []byte(tree.String()))
				wholetest.WantNone(t, "the log", log.Bytes())
				wholetest.SetStore(&cfg.Config, "sqlite:"+path)
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
				wholetest.WantNone(t, name, text)
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
