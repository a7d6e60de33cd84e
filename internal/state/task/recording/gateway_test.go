package recording_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/operate"
	"sluice/internal/app/providers"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/task/recording"
)

// unlike has transcripts whose turn asks more when it is run again, with what it depended on.
func unlike() map[string]string {
	return map[string]string{"breaker_open": "the state of a breaker, which earlier turns have made"}
}

// Every golden transcript is also a recording: played, it gives the transcript's stream,
// and run again with what was recorded, without model and tools, it gives the same once
// more.
func TestTranscriptsAreRecordings(t *testing.T) {
	t.Parallel()
	for name, tr := range wholetest.TurnTranscripts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var last wholetest.WireReply
			synctest.Test(t, func(t *testing.T) { last = record(tr, t, dir) })
			list, err := filepath.Glob(filepath.Join(dir, "*.slrec"))
			if err != nil || len(list) == 0 {
				t.Fatal(err, "there is no recording")
			}
			synctest.Test(t, func(t *testing.T) { playAgain(tr, t, name, list[len(list)-1], last) })
		})
	}
}

// record plays the transcript over a gateway that records, and returns the last reply.
func record(tr wholetest.Transcript, t *testing.T, dir string) wholetest.WireReply {
	t.Helper()
	cfg, file := tr.Config(t)
	wholetest.SetServers(&cfg, nil) // they are the transcript's own
	config.Change(&cfg, func(c *recording.Config) { c.Dir = dir })
	models, calls := tr.ByAgent(t, tr.Gemini(t))
	with := gateway.Seams{Gemini: testnet.Serve(t, models), Servers: tr.Servers(t, cfg)}
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.Nop(), with)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	synctest.Wait() // for the sessions with the MCP servers
	replies := tr.AskAll(t, testnet.Serve(t, g), calls)
	return replies[len(replies)-1]
}

// playAgain plays a recording of the transcript, and runs it again.
func playAgain(tr wholetest.Transcript, t *testing.T, name, path string, last wholetest.WireReply) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if bytes.Contains(content, []byte(wholetest.Key)) {
		t.Error("the key is in the recording")
	}
	r, err := recording.Read(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	var played bytes.Buffer
	if err := r.Play(t.Context(), &played, 0); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(last.Body, played.String()); diff != "" {
		t.Errorf("played (-as it was +got):\n%s", diff)
	}
	last.Body = played.String()
	if diff := cmp.Diff(tr.Get("want.sse"), wholetest.WithoutChance(last.Text())); diff != "" {
		t.Errorf("played (-want +got):\n%s", diff)
	}
	if r.Continues != "" {
		if !strings.Contains(tr.Get("request"), "{{token}}") {
			t.Errorf("it goes on with %s", r.Continues)
		}
		return
	}
	cfg, file := tr.Config(t)
	got, err := operate.Rerun(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, r, 0, startRerun)
	if err != nil {
		t.Fatal(err)
	}
	if d, reordered := r.Compare(got.Body); d != nil || reordered || (len(got.Unanswered) > 0 || got.Unused > 0) && unlike()[name] == "" {
		t.Errorf("run again: %v\nasked without an answer: %q, and %d answers left", d, got.Unanswered, got.Unused)
	}
}

// startRerun starts a gateway over a player.
func startRerun(ctx context.Context, cfg settings.Config, player *recording.Player, kept store.Store) (operate.Gateway, error) {
	return gateway.New(ctx, cfg, zerolog.Nop(), gateway.Seams{Tape: player, Store: kept})
}

// A workflow whose branches and sub-agents speak at the same time is run again like any turn;
// a run that continues after a wait cannot be.
func TestRunsAreRecorded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(name, body string, answers ...string) (list []string, file settings.Config) {
		t.Helper()
		content, err := os.ReadFile("../../../../examples/workflows/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		into := filepath.Join(dir, name)
		cfg, f := wholetest.Configured(t, string(content), map[string]string{"GEMINI_MODEL": providers.OfflineModel, "SLUICE_RECORD": into})
		file = settings.Config{Config: cfg, File: f, Version: "test"}
		g, err := gateway.New(t.Context(), file, zerolog.Nop(), gateway.Seams{})
		if err != nil {
			t.Fatal(err)
		}
		flow := &wholetest.Flow{T: t, Gateway: g}
		flow.Client.Transport = testnet.Serve(t, g)
		_, reply := flow.Post(body)
		var start struct {
			Task string `json:"task_id"`
		}
		wholetest.DataOf(t, reply, "start", &start)
		for _, answer := range answers {
			if _, reply = flow.Answer(start.Task, answer); !strings.Contains(reply, "event: done") {
				t.Fatal(reply)
			}
		}
		g.Close()
		if list, err = filepath.Glob(filepath.Join(into, "*.slrec")); err != nil || len(list) != 1+len(answers) {
			t.Fatal(list, err)
		}
		return list, file
	}
	read := func(path string) *recording.Recording {
		t.Helper()
		in, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		r, err := recording.Read(in)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	again := func(path string, cfg settings.Config) {
		t.Helper()
		r := read(path)
		got, err := operate.Rerun(t.Context(), cfg, r, 0, startRerun)
		if err != nil {
			t.Fatal(err)
		}
		if d, _ := r.Compare(got.Body); d != nil || len(got.Unanswered) > 0 || got.Unused > 0 {
			t.Errorf("%v\nasked %q, unused %d", d, got.Unanswered, got.Unused)
		}
	}
	list, cfg := run("research", `{"input":"Compare tea and coffee","workflow":"research"}`)
	again(list[0], cfg)
	list, cfg = run("refund", `{"input":"I want a refund of 30 EUR","workflow":"refund"}`, `{"action":"approve"}`)
	again(list[0], cfg)
	if r := read(list[1]); r.Continues == "" {
		t.Error("a run that went on after a wait says nothing of it")
	}
}
