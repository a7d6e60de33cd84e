package delegate_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/app/gateway/wholetest"
)

const slowFile = `
agents:
  boss: {description: Leads, role: You are boss., delegates: [researcher]}
  researcher: {description: Finds things out, role: You are researcher., timeout: 5s, delegates: [writer]}
  writer: {description: Writes, role: You are writer., timeout: 60s}
workflows:
  flow: {entry_point: one, nodes: {one: {type: agent, agent: boss}}}
dispatch: {timeout: 60s}
`

// An agent within is stopped when its time or that of its caller is over, and the caller
// continues; and within 50 ms when the task is cancelled or its client leaves.
func TestDelegatesEnd(t *testing.T) {
	t.Parallel()
	scripts := map[string][]string{
		"boss":       {wholetest.CallPart("delegate_to_researcher", `{"task":"a"}`), wholetest.TextPart("ok")},
		"researcher": {wholetest.CallPart("delegate_to_writer", `{"task":"deep"}`), wholetest.TextPart("R")},
		"writer":     {wholetest.TextPart("W")},
	}
	for _, who := range []string{`"agent":"boss"`, `"workflow":"flow"`} {
		for _, how := range []string{"time", "cancel", "leave"} {
			t.Run(fmt.Sprint(who, how), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					o := wholetest.OpenOfficeOf(t, slowFile, map[string]string{"SLUICE_HEARTBEAT": "0"}, scripts)
					stopped := make(chan time.Time, 1)
					o.Hangs = func(ctx context.Context, who string) bool {
						if who == "writer" {
							<-ctx.Done()
							stopped <- time.Now()
						}
						return who == "writer"
					}
					ctx, leave := context.WithCancel(t.Context())
					defer leave()
					began := time.Now()
					var end time.Time // of the turn, as far as it is asked for
					replied := make(chan string, 1)
					go func() {
						req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://gateway/chat/stream",
							strings.NewReader(`{"input":"go","conversation_id":"conv_1","on_disconnect":"cancel",`+who+`}`))
						req.Header.Set("Content-Type", "application/json")
						resp, err := o.Client.Do(req)
						if err != nil {
							replied <- err.Error()
							return
						}
						defer resp.Body.Close()
						text, _ := io.ReadAll(resp.Body) // up to where the client has left
						replied <- string(text)
					}()
					time.Sleep(time.Second)
					switch end = time.Now(); how {
					case "time":
						end = began.Add(5 * time.Second)
					case "cancel":
						var list struct{ Tasks []struct{ ID string } }
						o.Into("/tasks?conversation_id=conv_1", &list)
						if status, text := o.PostTo("/tasks/"+list.Tasks[0].ID+"/cancel", ``); status != http.StatusAccepted {
							t.Errorf("cancel: %d %s", status, text)
						}
					case "leave":
						leave()
					}
					if elapsed := (<-stopped).Sub(end); elapsed < 0 || elapsed > 50*time.Millisecond {
						t.Errorf("stopped after %v", elapsed)
					}
					reply := <-replied
					switch how {
					case "time":
						if !strings.Contains(reply, `"final_output":"ok"`) || !strings.Contains(o.LastOf("boss"), "took too long") {
							t.Errorf("boss was told\n%s\n%s", o.LastOf("boss"), reply)
						}
					case "cancel":
						if !strings.Contains(reply, `"finish_reason":"cancelled"`) || strings.Count(reply, `"role":"delegate","attempt":1,"status":"cancelled"`) != 2 {
							t.Errorf("%s", reply)
						}
					}
					time.Sleep(time.Minute)
				})
			})
		}
	}
}
