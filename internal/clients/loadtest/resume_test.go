package loadtest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// kept returns the frame of event n of a turn that a store keeps.
func kept(n int, name, members string) string {
	retry := ""
	if n == 1 {
		retry = "retry: 1000\n"
	}
	return fmt.Sprintf("%sid: turn_1:%d\nevent: %s\ndata: {\"request_id\":\"req_1\",%s}\n\n", retry, n, name, members)
}

// A stream that breaks off is read on, with the numbers and the text of the gateway that goes on;
// what else is not in order is none of these.
func TestStreamsAreReadOn(t *testing.T) {
	t.Parallel()
	const start = `"turn_id":"turn_1","task_id":"task_1","model":"m"`
	begun := kept(1, "start", start) + kept(2, "response_delta", `"delta":"Half"`)
	end := func(n int, text string) string {
		return kept(n, "done", fmt.Sprintf(`"final_output":%q,"tools_called":[],"success":true,"finish_reason":"stop"`, text))
	}
	reset := func(n int) string {
		return kept(n, "response_reset", `"accumulated":"","reason":"taken_over"`) + kept(n+1, "response_delta", `"delta":"Whole"`) + end(n+2, "Whole")
	}
	for _, tt := range []struct {
		name    string
		begun   string
		rest    []string // of each reply to a client that comes back; a number: the status
		want    outcome
		resumed int64
		taken   int64
	}{
		{"by the same gateway", begun, []string{end(3, "Half")}, outcome{class: done}, 1, 0},
		{"by another one", begun, []string{reset(1_000_001)}, outcome{class: done}, 1, 1},
		{"when one is there", begun, []string{"503", "cut", reset(1_000_001)}, outcome{class: done}, 1, 1},
		{"in two pieces", begun, []string{kept(1_000_001, "response_delta", `"delta":"!"`), end(2_000_001, "Half!")}, outcome{class: done}, 1, 1},
		{"with half an event", begun + "id: turn_1:3\nevent: th", []string{end(3, "Half")}, outcome{class: done}, 1, 0},
		{"what is gone", begun, []string{"204"}, outcome{broken, cutOff}, 0, 0},
		{"what is not for us", begun, []string{"404"}, outcome{broken, cutOff}, 0, 0},
		{"an event twice", begun, []string{kept(2, "response_delta", `"delta":"Half"`)}, outcome{unreconciled, string(badID)}, 1, 0},
		{"another gap", begun, []string{reset(1_000_002)}, outcome{unreconciled, string(badID)}, 1, 0},
		{"a gap without a break", begun + end(1_000_001, "Half"), nil, outcome{unreconciled, string(badID)}, 0, 0},
		{"with retry once more", begun, []string{"retry: 1\n" + end(3, "Half")}, outcome{unreconciled, string(badRetry)}, 1, 0},
		{"nobody any more", begun, nil, outcome{broken, timedOut}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				replies, lasts := tt.rest, []string(nil)
				rep := load(t, Config{Clients: 1, Turns: 1, Timeout: time.Minute}, func(w http.ResponseWriter, r *http.Request) {
					reply := tt.begun
					if last := r.Header.Get("Last-Event-ID"); last != "" {
						lasts = append(lasts, last)
						if r.Method != http.MethodGet || r.URL.Path != "/chat/stream" || r.URL.Query().Get("accumulated") != "false" {
							t.Errorf("%s %s", r.Method, r.URL)
						}
						if len(replies) == 0 {
							panic(http.ErrAbortHandler)
						}
						reply, replies = replies[0], replies[1:]
					}
					if len(reply) == 3 {
						if reply != "cut" {
							var status int
							_, _ = fmt.Sscan(reply, &status)
							w.WriteHeader(status)
							return
						}
						panic(http.ErrAbortHandler)
					}
					begin(w)
					_, _ = w.Write([]byte(reply))
					if _ = http.NewResponseController(w).Flush(); !strings.Contains(reply, "event: done") {
						panic(http.ErrAbortHandler)
					}
				})
				s := rep.Streams
				got := map[class]int64{done: s.Done, broken: s.Broken, unreconciled: s.Unreconciled}[tt.want.class]
				causes := map[class]map[string]int64{broken: s.BrokenBy, unreconciled: s.UnreconciledBy}[tt.want.class]
				if got != 1 || tt.want.cause != "" && causes[tt.want.cause] != 1 || s.Resumed != tt.resumed || s.TakenOver != tt.taken {
					t.Errorf("%+v", s)
				}
				if len(lasts) > 0 && lasts[0] != "turn_1:2" {
					t.Errorf("it comes back with %q", lasts)
				}
			})
		})
	}
}
