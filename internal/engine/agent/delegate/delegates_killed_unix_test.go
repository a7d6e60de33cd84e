//go:build unix

package delegate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/server"
	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/store/redis/redistest"
	"sluice/mcpclient"
)

// At most eight agents work on tasks of a turn at the same time, for all its agents together;
// an agent that calls more gets a refusal, and the turn ends well.
func TestDelegatesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		times := func(n int, agent string) string {
			var calls []string
			for i := range n {
				calls = append(calls, wholetest.CallPart("delegate_to_"+agent, fmt.Sprintf(`{"task":"%d"}`, i)))
			}
			return strings.Join(calls, ",")
		}
		three := times(3, "writer")
		o := wholetest.OpenOffice(t, map[string]string{"SLUICE_HEARTBEAT": "0"}, map[string][]string{
			"boss":       {times(4, "researcher"), wholetest.TextPart("ok")},
			"researcher": {three, three, three, three, wholetest.TextPart("R")},
			"writer":     {wholetest.TextPart("W")},
		})
		o.Hangs = func(_ context.Context, who string) bool {
			time.Sleep(time.Second)
			return false
		}
		_, body := o.Post(`{"input":"go","agent":"boss"}`)
		var done wholetest.Done
		if wholetest.DataOf(t, body, "done", &done); done.Output != "ok" || !done.Success {
			t.Errorf("%+v\n%.3000s", done, body)
		}
		now, most := 0, 0
		for _, a := range wholetest.EventsOf(t, body, "agent") {
			switch {
			case a["role"] != "delegate":
			case a["status"] == "started":
				now++
				most = max(most, now)
			default:
				now--
			}
		}
		refused := strings.Count(body, "8 agents work on tasks of this turn already")
		if most != 8 || refused == 0 || len(o.Bodies["writer"]) != 4 {
			t.Errorf("%d at the same time, %d of 12 tasks done, refusals are told %d times", most, len(o.Bodies["writer"]), refused)
		}
	})
}

// A tool that becomes another one while a delegate waits for a person is asked about again,
// by the whole turn, and runs once.
func TestToolChangesWhileADelegateWaits(t *testing.T) {
	t.Parallel()
	const file = `
mcpServers: {bank: {url: "http://bank/mcp"}}
agents:
  boss: {description: Leads, role: You are boss., delegates: [researcher]}
  researcher: {description: Finds things out, role: You are researcher., tools: [bank]}
workflows:
  flow: {entry_point: one, nodes: {one: {type: agent, agent: boss}}}
`
	for _, who := range []string{`"agent":"boss"`, `"workflow":"flow"`} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := wholetest.NewBank(t)
				m := server.NewMCPServer("bank", "1", server.WithToolCapabilities(true))
				b.Serve(m)
				pay := mcpclient.Server{Name: "bank", Transport: mcpclient.InProcess, InProcess: m, Breaker: breaker.New(breaker.Config{Service: "mcp:bank"})}
				o := &wholetest.Office{Bodies: map[string][]string{}, Scripts: map[string][]string{
					"boss":       {wholetest.CallPart("delegate_to_researcher", `{"task":"a"}`), wholetest.TextPart("ok")},
					"researcher": {wholetest.CallPart("pay", `{"amount":10}`), wholetest.TextPart("R")},
				}}
				cfg, read := wholetest.Configured(t, file, map[string]string{
					"GEMINI_API_KEY": wholetest.Key, "GEMINI_BASE_URL": "http://gemini", "SLUICE_HEARTBEAT": "0", "SLUICE_CONFIRM": "destructive",
				})
				wholetest.SetServers(&cfg, nil) // it is in this process
				g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: read, Version: "test"}, zerolog.Nop(), gateway.Seams{
					Servers: []mcpclient.Server{pay}, Store: memory.New(memory.Config{}), Gemini: testnet.Serve(t, o),
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(g.Close)
				o.Flow = &wholetest.Flow{T: t, Gateway: g}
				o.Client.Transport = testnet.Serve(t, g)
				synctest.Wait()
				q, _ := o.Pauses(`{"input":"go",` + who + `}`)
				b.Offer(`{"type":"object","properties":{"amount":{"type":"integer"},"currency":{"type":"string"}}}`)
				time.Sleep(time.Minute) // until the gateway has listed the tools again
				_, second := o.Post(fmt.Sprintf(`{"approval":{"token":%q,"action":"approve"}}`, q.Token))
				var again wholetest.Questions
				wholetest.DataOf(t, second, "approval", &again)
				if b.Paid.Load() != 0 || len(again.Calls) != 1 || again.Calls[0].Reason != "tool_changed" || again.Calls[0].Agent != "researcher" || again.Calls[0].ID != q.Calls[0].ID {
					t.Fatalf("paid %d times, asked %+v\n%s", b.Paid.Load(), again, second)
				}
				if done, third := o.Answers(again, `"action":"approve"`); done.Output != "ok" || b.Paid.Load() != 1 {
					t.Errorf("paid %d times, %+v\n%s", b.Paid.Load(), done, third)
				}
				if len(o.Bodies["boss"]) != 2 || len(o.Bodies["researcher"]) != 2 {
					t.Errorf("asked boss %d, researcher %d times", len(o.Bodies["boss"]), len(o.Bodies["researcher"]))
				}
			})
		})
	}
}

// Variables of the process that is killed while a delegate waits.
const (
	officeStore = "SLUICE_TEST_OFFICE_STORE"
	officeTodo  = "SLUICE_TEST_OFFICE_TODO"
	officeWho   = "SLUICE_TEST_OFFICE_WHO"
)

// deep is a firm whose writer, two delegations down, wants to change something.
func deep(t *testing.T, in, todo string) *wholetest.Office {
	return wholetest.OpenOfficeOf(t, wholetest.FirmFile, map[string]string{"SLUICE_STORE": in, "SLUICE_CONFIRM": "writes", "SLUICE_TODO_DB": todo}, map[string][]string{
		"boss":       {wholetest.CallPart("delegate_to_researcher", `{"task":"a"}`), wholetest.TextPart("ok")},
		"researcher": {wholetest.CallPart("delegate_to_writer", `{"task":"deep"}`), wholetest.TextPart("R")},
		"writer":     {wholetest.CallPart("create_todo", `{"title":"of writer"}`), wholetest.TextPart("W")},
	})
}

// TestOfficeChild pauses a turn, reports the question and is killed.
func TestOfficeChild(t *testing.T) {
	in := os.Getenv(officeStore)
	if in == "" {
		t.Skip("it is run by TestDelegateWaitsOverAKill")
	}
	q, _ := deep(t, in, os.Getenv(officeTodo)).Pauses(`{"input":"go","user_id":"ann",` + os.Getenv(officeWho) + `}`)
	text, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("ASKED %s\n", text)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// A turn whose delegate's delegate waits for a person continues in another process when the one
// that asked was killed: with a file and with a server of Redis, for a team and for a workflow.
// No agent's model is asked again, and the call is made once.
func TestDelegateWaitsOverAKill(t *testing.T) {
	t.Parallel()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"sqlite", "redis"} {
		for _, who := range []string{`"agent":"boss"`, `"workflow":"flow"`} {
			t.Run(engine+who, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				in, todo := "sqlite:"+filepath.Join(dir, "s.db"), filepath.Join(dir, "todo.db")
				if engine == "redis" {
					in = "unix://" + redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "").Socket
				}
				cmd := exec.CommandContext(t.Context(), path, "-test.run=^TestOfficeChild$")
				cmd.Env = append(os.Environ(), officeStore+"="+in, officeTodo+"="+todo, officeWho+"="+who)
				got, err := cmd.CombinedOutput()
				if err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("%v\n%s", err, got)
				}
				_, rest, _ := strings.Cut(string(got), "ASKED ")
				text, _, _ := strings.Cut(rest, "\n")
				var q wholetest.Questions
				if err := json.Unmarshal([]byte(text), &q); err != nil || len(q.Calls) != 1 || q.Calls[0].Agent != "writer" {
					t.Fatal(err, text)
				}
				o := deep(t, in, todo)
				for _, agent := range []string{"boss", "researcher", "writer"} {
					o.Bodies[agent] = []string{""} // its model continues where it was
				}
				done, stream := o.Answers(q, `"action":"approve"`)
				if done.Output != "ok" || !slices.Equal(ran(t, "todo", stream), []string{"create_todo completed writer"}) {
					t.Errorf("%+v\n%s", done, stream)
				}
				for agent, asked := range o.Bodies {
					if len(asked) != 2 {
						t.Errorf("%s was asked %d times after the answer", agent, len(asked)-1)
					}
				}
				if status, body := o.Post(fmt.Sprintf(`{"approval":{"token":%q,"action":"approve"}}`, q.Token)); status != 409 {
					t.Errorf("again: %d %s", status, body)
				}
			})
		}
	}
}
