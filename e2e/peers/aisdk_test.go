package peers

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/edge/dialect/aisdk"
	"sluice/internal/turn/chat"
)

// aiSDKSeen is what chat.mjs writes.
type aiSDKSeen struct {
	Turns         [][]string
	Messages      int
	Events, Calls []string
	Errors        []string
	Resent        struct {
		Requests, Messages int
		Parts              []string
	}
	Asked map[string]struct {
		Requests    int
		Parts, Next []string
	}
	Both struct { // calls, of which the second is answered after the first
		Early, Requests int // requests after each
		Parts           []string
	}
}

// What useChat stands on has a conversation with the gateway: the oldest version that takes
// what we send, which refuses any key that it does not know, and newer ones.
func TestAISDK(t *testing.T) {
	t.Parallel()
	installed(t, dialectsFolder+"/aisdk/node_modules")
	model := withAsides(t, aside{"Buy both", "call create_todo {\"title\":\"a\"}\ncall create_todo {\"title\":\"b\"}\nfinish STOP", "text Both are decided.\nfinish STOP"})
	g, asking := startGateway(t, model.env()), startGateway(t, model.env("SLUICE_CONFIRM", "writes"))
	for _, name := range []string{"ai-5.0.100", "ai-5.0.277", "ai-6.0.230", "ai-6.0.326", "ai-7.0.173"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen aiSDKSeen
			runDialect(t, "aisdk", "chat.mjs", map[string]string{"package": name, "gateway": g.base, "asking": asking.base}, &seen)

			for i, tool := range []string{"create_todo", "list_todos", "update_todo"} {
				wantParts(t, seen.Turns[i], "reasoning  done **", "dynamic-tool "+tool+" output-available {", "step-start", "text  done ")
			}
			if seen.Messages != 6 || len(seen.Calls) > 0 || !slices.Contains(seen.Events, "done") {
				t.Errorf("%d messages, the client's calls %v, events %v", seen.Messages, seen.Calls, seen.Events)
			}
			if len(seen.Errors) != 1 || !strings.Contains(seen.Errors[0], "must hold more than white space (req_") {
				t.Errorf("errors: %q", seen.Errors)
			}
			if seen.Resent.Requests != 2 || seen.Resent.Messages != 2 {
				t.Errorf("the answer to a call of the page's: %+v", seen.Resent)
			}
			wantParts(t, seen.Resent.Parts, "dynamic-tool pick_color output-available red", "step-start", "text  done ")
			seen.checkAsked(t, !strings.HasPrefix(name, "ai-5"))
		})
	}
}

// checkAsked wants what a person was asked about to be done, or not, by the words of the one who
// answered; in a client that cannot ask it is not done.
func (s *aiSDKSeen) checkAsked(t *testing.T, asks bool) {
	t.Helper()
	want := map[string][]string{"cannot": {"text  done I couldn't add"}}
	if asks {
		want["yes"] = []string{"dynamic-tool create_todo output-available {", "step-start", "text  done I've added"}
		want["no"] = []string{"dynamic-tool create_todo output-error", "step-start", "text  done I couldn't add"}
	}
	if asks {
		if s.Both.Early != 1 || s.Both.Requests != 2 {
			t.Errorf("two calls: %+v", s.Both)
		}
		wantParts(t, s.Both.Parts, "dynamic-tool create_todo output-available {", "dynamic-tool create_todo output-error", "text  done Both are decided.")
	}
	if len(s.Asked) != len(want) {
		t.Errorf("asked %d times: %v", len(s.Asked), s.Asked)
	}
	for how, parts := range want {
		got := s.Asked[how]
		wantParts(t, got.Parts, parts...)
		wantParts(t, got.Next, "dynamic-tool list_todos output-available {", "step-start", "text  done ")
		calls, answers := 0, 1
		if how == "cannot" {
			answers = 0
		}
		for _, part := range got.Parts {
			if strings.HasPrefix(part, "dynamic-tool") {
				calls++
			}
		}
		if calls != answers || got.Requests != 2+answers {
			t.Errorf("%s: %d requests, parts %q", how, got.Requests, got.Parts)
		}
	}
}

// wantParts wants parts with these beginnings, in this order, among those of a message.
func wantParts(t *testing.T, parts []string, want ...string) {
	t.Helper()
	rest := parts
	for _, begin := range want {
		i := slices.IndexFunc(rest, func(part string) bool { return strings.HasPrefix(part, begin) })
		if i < 0 {
			t.Errorf("no part %q in its place in %q", begin, parts)
			return
		}
		rest = rest[i+1:]
	}
}

// Each frame of each turn of the golden transcripts is one that each version of the AI SDK reads. A
// question to a person is for those that know one.
func TestAISDKReadsEveryTranscript(t *testing.T) {
	needPeers(t)
	installed(t, dialectsFolder+"/aisdk/node_modules")
	node, script := dialectNode(t), installed(t, dialectsFolder+"/aisdk/validate.mjs")
	turns := recordedTurns(t)
	for packages, body := range map[string]string{
		"ai-5.0.100 ai-5.0.277":            `{"id":"c","approvals":false,"messages":[{"id":"1","role":"user","parts":[{"type":"text","text":"go"}]}]}`,
		"ai-6.0.230 ai-6.0.326 ai-7.0.173": `{"id":"c","messages":[{"id":"1","role":"user","parts":[{"type":"text","text":"go"}]}]}`,
	} {
		t.Run(packages, func(t *testing.T) {
			t.Parallel()
			var frames []byte
			for name, runs := range turns {
				for _, turn := range runs {
					asked := chat.Turn{RequestID: "req_" + name, Began: time.Unix(1_767_225_600, 0)}
					r := httptest.NewRequestWithContext(chat.WithTurn(t.Context(), asked), http.MethodPost, "/api/chat", nil)
					x, err := aisdk.New(aisdk.Config{}).Routes()[0].Open(r, []byte(body))
					if err != nil {
						t.Fatal(err)
					}
					for _, ev := range turn {
						frames = x.Encoder.Encode(frames, ev.Stamp, ev.Event)
					}
				}
			}
			cmd := exec.CommandContext(t.Context(), node, append([]string{script}, strings.Fields(packages)...)...)
			cmd.Stdin = bytes.NewReader(frames)
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			verdicts := map[string]struct {
				Frames int
				Faults []string
			}{}
			if err := json.Unmarshal(out, &verdicts); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for _, name := range strings.Fields(packages) {
				if v := verdicts[name]; v.Frames < 1000 || len(v.Faults) > 0 {
					t.Errorf("%s: %d frames, %q", name, v.Frames, v.Faults)
				}
			}
		})
	}
}
