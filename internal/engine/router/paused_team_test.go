package router_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
)

const mixedFile = `
agents:
  near: {description: Is here, role: You are near., tools: [todo]}
  far: {description: Is somewhere else, card: "http://far/.well-known/agent-card.json"}
  last: {description: Answers last, role: You are last.}
router: {rules: [{match: ".", agents: [%s]}]}
dispatch: {mode: %s}
`

// A team that waits has a remote agent in it: what that one has said is kept with the question
// and reported in its place, and it is asked once; one that comes after the agent that waits is
// asked when that one has ended; and what it asks back is the turn's question afterwards.
func TestPausedTeamWithARemoteAgent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, agents, mode, input string
		kept                      bool
		before, after             []string // what far is asked by then
		reported                  []string // in both streams, in this order
		reason                    string
	}{
		{"side by side", "near, far", "parallel", "hello", false, []string{"hello"}, []string{"hello"}, []string{"Noted.", "You said: ", "hello"}, "stop"},
		{"side by side, with a store", "near, far, last", "parallel", "hello", true, []string{"hello"}, []string{"hello"}, []string{"Noted.", "You said: ", "hello", "I am last."}, "stop"},
		{"one after the other", "near, far", "sequential", "hello", true, nil, []string{"hello"}, []string{"Noted.", "You said: ", "hello"}, "stop"},
		{"the remote one first", "far, near", "sequential", "hello", false, []string{"hello"}, []string{"hello"}, []string{"You said: ", "hello", "Noted."}, "stop"},
		{"it asks back", "near, far", "parallel", "ask me", true, []string{"ask me"}, []string{"ask me"}, []string{"Noted.", "Which one?"}, "input_required"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				far := wholetest.StartRemote(t, memory.New(memory.Config{}))
				var st store.Store
				if tt.kept {
					st = memory.New(memory.Config{})
				}
				o := &wholetest.Office{Scripts: map[string][]string{
					"near": {wholetest.CallPart("create_todo", `{"title":"eggs"}`), wholetest.TextPart("Noted.")}, "last": {wholetest.TextPart("I am last.")},
				}, Bodies: map[string][]string{}}
				cfg, file := wholetest.Configured(t, fmt.Sprintf(mixedFile, tt.agents, tt.mode), map[string]string{
					"GEMINI_API_KEY": wholetest.Key, "GEMINI_BASE_URL": "http://gemini", "SLUICE_STORE": "none", "SLUICE_CONFIRM": "writes", "SLUICE_HEARTBEAT": "0",
				})
				g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.New(io.Discard), gateway.Seams{
					Store: st, Gemini: testnet.Serve(t, o), Agents: far.Client.Transport,
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(g.Close)
				o.Flow = &wholetest.Flow{T: t, Gateway: g, Client: http.Client{Transport: testnet.Serve(t, g)}}
				synctest.Wait()
				q, first := o.Pauses(`{"input":"` + tt.input + `","conversation_id":"conv_1"}`)
				if len(q.Calls) != 1 || q.Calls[0].Agent != "near" || !slices.Equal(asksOf(far.Inputs), tt.before) {
					t.Errorf("asked %+v; far was asked %q", q, far.Inputs)
				}
				done, second := o.Answers(q, `"action":"approve"`)
				got := textsOf(t, first) + textsOf(t, second)
				rest := got
				for _, piece := range tt.reported {
					_, after, ok := strings.Cut(rest, piece)
					if rest = after; !ok {
						t.Errorf("told %q, which lacks %q there", got, piece)
					}
				}
				if done.Reason != tt.reason {
					t.Errorf("%+v, want %s", done, tt.reason)
				}
				if !slices.Equal(asksOf(far.Inputs), tt.after) {
					t.Errorf("far was asked %q", far.Inputs)
				}
				if tt.reason == "input_required" {
					if status, stream := o.Post(`{"input":"The red one","conversation_id":"conv_1"}`); status != http.StatusOK || !strings.Contains(stream, `"method":"sticky"`) || !strings.Contains(stream, `"agent_id":"far"`) {
						t.Errorf("the answer to it: %d %s", status, stream)
					}
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// asksOf returns what a remote agent was asked, without the notes about colleagues.
func asksOf(inputs []string) (list []string) {
	for _, in := range inputs {
		for line := range strings.SplitSeq(in, "\n") {
			if line == "hello" || line == "ask me" {
				list = append(list, line)
			}
		}
	}
	return list
}

// textsOf joins the pieces of the answer in a stream.
func textsOf(t *testing.T, stream string) (text string) {
	for _, d := range wholetest.EventsOf(t, stream, "response_delta") {
		text += d["delta"].(string)
	}
	return text
}
