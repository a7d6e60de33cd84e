package approval_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/base/testnet"
	"sluice/internal/engine/approval"
	"sluice/internal/state/store/memory"
)

var (
	frameHead = regexp.MustCompile(`(?m)^id: .*\n`)
	// ofOneStream matches what belongs to one stream, and not to the turn.
	ofOneStream = regexp.MustCompile(`(?s)^(retry: \d+\n)?event: (start|approval|done|route|agent)\n|"phase":"(planning|extracting)"`)
	accumulated = regexp.MustCompile(`,"accumulated":"(?:[^"\\]|\\.)*"`)
	callTime    = regexp.MustCompile(`"(duration|elapsed)_ms":\d+`)
)

// A turn whose calls all wait for a person, who allows them, asks the model what it would
// have asked without, and reports the same. So it does with a store, where each answer is a new
// turn of the task.
func TestApprovedTurnIsTheTurnThatNeverPaused(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../testdata/transcripts/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		tr := wholetest.ReadTranscript(t, file)
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if !strings.Contains(tr.Get("want.sse"), `"tool_call`) && !strings.Contains(tr.Get("want.sse"), "event: tool_call") || differs[name] != "" || strings.HasPrefix(name, "approval_") {
			continue
		}
		for _, with := range []string{"a token", "a store"} {
			t.Run(name+" with "+with, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					seams := gateway.Seams{}
					if with == "a store" {
						seams.Store = memory.New(memory.Config{})
					}
					plain, sim := playApproved(tr, t, "off", gateway.Seams{})
					paused, simPaused := playApproved(tr, t, "all", seams)
					if diff := cmp.Diff(wholetest.WireRequests(t, sim.Requests()), wholetest.WireRequests(t, simPaused.Requests())); diff != "" {
						t.Errorf("what the model was sent (-never paused +paused):\n%s", diff)
					}
					if diff := cmp.Diff(turnFrames(plain), turnFrames(paused)); diff != "" {
						t.Errorf("what was told (-never paused +paused):\n%s", diff)
					}
				})
			})
		}
	}
}

// A token in which the version before the tree has put a team continues here, with the agents
// that wait in it and what they know of one another's calls.
func TestTeamOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	token, err := os.ReadFile("../run/testdata/token-team-1.txt")
	if err != nil {
		t.Fatal(err)
	}
	tr := wholetest.ReadTranscript(t, "../../../testdata/transcripts/team_tools.txtar")
	synctest.Test(t, func(t *testing.T) {
		want, _ := playApproved(tr, t, "all", gateway.Seams{})
		got, _ := playApproved(tr, t, "all", gateway.Seams{}, strings.TrimSpace(string(token)))
		if diff := cmp.Diff(turnFrames(want), turnFrames(got)); diff != "" || len(got) != 2 {
			t.Errorf("what was told (-this version +the one before):\n%s", diff)
		}
	})
}

// differs names transcripts of turns that cannot be the same, and why.
var differs = map[string]string{
	"team_retry_after_reading": "an agent that has paused is not tried again",
	"fallback":                 "nobody was asked about the fallback, so it does not run",
	"fallback_never_there":     "nobody was asked about the fallback, so it does not run",
	"mcp_unavailable_once":     "nobody was asked about the fallback, so it does not run",
	"nine_parallel_calls":      "the ninth is refused at once, while the others wait",
	"mcp_down_tool_called":     "what a person might have to allow must be known",
	"team_tool_not_ours":       "what a person might have to allow must be known",
	"get_readonly":             "a call that is refused is told at once, while the others wait",
	"unknown_tool":             "what a person might have to allow must be known",
}

// turnFrames returns the frames of a turn, over all its streams, that are the turn's and not a
// stream's.
func turnFrames(streams []string) (frames []string) {
	for _, body := range streams {
		for block := range strings.SplitSeq(body, "\n\n") {
			block = wholetest.WithoutChance(accumulated.ReplaceAllString(block, ""))
			block = callTime.ReplaceAllString(frameHead.ReplaceAllString(block, ""), `"${1}_ms":0`)
			if block != "" && !ofOneStream.MatchString(block) {
				frames = append(frames, block)
			}
		}
	}
	if slices.ContainsFunc(frames, func(f string) bool { return strings.Contains(f, `"agent_id"`) }) {
		slices.Sort(frames) // of agents that work at the same time
	}
	return frames
}

// playApproved plays a transcript's only request, and allows all that is asked until the turn
// has ended. It returns the streams. instead are tokens in place of those that came first.
func playApproved(tr wholetest.Transcript, t *testing.T, mode string, with gateway.Seams, instead ...string) (streams []string, sim *wholetest.GeminiSim) {
	t.Helper()
	sim = tr.Gemini(t)
	cfg, file := tr.Config(t)
	wholetest.SetServers(&cfg, nil)
	config.Change(&cfg, func(c *approval.Config) {
		c.Mode, c.Keys = approval.Mode(mode), []approval.Key{approval.Key([]byte("0123456789abcdef0123456789abcdef"))}
	})
	models, _ := tr.ByAgent(t, sim)
	with.Gemini, with.Servers = testnet.Serve(t, models), tr.Servers(t, cfg)
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.Nop(), with)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	synctest.Wait()
	client := http.Client{Transport: testnet.Serve(t, g)}
	requests := tr.Requests(t)
	req := requests[len(requests)-1]
	for n := 0; ; n++ {
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		r := wholetest.ReadReply(t, resp)
		synctest.Wait()
		if r.Status != http.StatusOK {
			t.Fatalf("reply %d: %s", n, r.Text())
		}
		streams = append(streams, r.Body)
		token := wholetest.Tokens.FindString(r.Body)
		if token == "" {
			return streams, sim
		}
		if n > 9 {
			t.Fatal("it never ends")
		}
		if n < len(instead) {
			token = instead[n]
		}
		body, _ := json.Marshal(map[string]any{"accumulated": false, "approval": map[string]any{"token": token, "action": "approve"}})
		req = wholetest.ReadRequest(t, "POST /chat/stream\nContent-Type: application/json\n\n"+string(body))
	}
}
