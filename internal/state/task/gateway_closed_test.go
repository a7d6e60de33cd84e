package task_test

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/task"
	"sluice/stream"
)

// A log that ends behind any of its events is closed so that each reader gets a whole turn,
// judged as those that end by themselves: the process that ran it is gone.
func TestLogClosedAnywhereIsAWholeTurn(t *testing.T) {
	t.Parallel()
	for name, tr := range wholetest.TurnTranscripts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { closeEverywhere(tr, t) })
		})
	}
}

func closeEverywhere(tr wholetest.Transcript, t *testing.T) {
	first := memory.New(memory.Config{})
	replies := tr.PlayWith(t, tr.Gemini(t), new(bytes.Buffer), gateway.Seams{Store: first})
	id := wholetest.KeptID.FindStringSubmatch(replies[len(replies)-1].Body)
	if id == nil {
		t.Skip("its last request is no turn")
	}
	head, lines := storedLines(t, first, id[1])
	second := memory.New(memory.Config{})
	g := tr.Second(t, gateway.Seams{Store: second})
	var tasks []string
	for cut := 1; cut < len(lines); cut++ { // behind the last one nothing is to be closed
		tasks = append(tasks, orphan(t, second, id[1], head, lines[:cut]))
	}
	time.Sleep(time.Minute) // the sweeper looks
	for cut, id := range tasks {
		resp := g.Send(t, t.Context(), http.MethodGet, "/tasks/"+id+"/events", "")
		r := wholetest.ReadReply(t, resp)
		r.Header.Set("X-Request-ID", wholetest.RequestID)
		r.Body = wholetest.Plain(r.Body)
		for _, fault := range wholetest.Judge(r) {
			// No turn without a store is lost, and a live one never ends between a call that went
			// wrong and the error that reports it.
			if strings.Contains(fault, "turn_lost") || strings.Contains(fault, "after a call that went wrong") {
				continue
			}
			t.Errorf("closed behind line %d: %s\n%s", cut+1, fault, r.Body)
		}
		for _, frame := range strings.Split(r.Body, "\n\n") {
			ended := strings.Contains(frame, "event: agent\n") && !agentRuns.MatchString(frame)
			if ended && !agentEnd.MatchString(frame) || strings.Contains(frame, "event: done\n") && strings.Contains(r.Body, "event: route\n") && !teamEnd.MatchString(frame) {
				t.Errorf("closed behind line %d: %s", cut+1, frame)
			}
		}
	}
}

// What the end of an agent has, and that of a team's turn.
var (
	agentRuns = regexp.MustCompile(`"status":"(started|retrying)"`)
	agentEnd  = regexp.MustCompile(`"success":(true,"execution_time_ms":\d+|false,"execution_time_ms":\d+,"error_message":"[^"]+","error_type":"[a-z_]+")`)
	teamEnd   = regexp.MustCompile(`"route_ms":\d.*"agents":\[`)
)

// storedLines returns what a log holds: what stands before the events, and these, one or more a
// line.
func storedLines(t *testing.T, in store.Store, turn string) (head string, lines []string) {
	t.Helper()
	entries, err := in.ReadLog(t.Context(), turn, 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		for line := range strings.Lines(string(e.Data)) {
			if head == "" {
				head = line
				continue
			}
			lines = append(lines, line)
		}
	}
	return head, lines
}

// orphan puts a task into a store whose process is gone, with the beginning of its turn's log.
func orphan(t *testing.T, in store.Store, turn, head string, lines []string) (id string) {
	t.Helper()
	id = fmt.Sprintf("task_%026d", len(lines))
	mine := fmt.Sprintf("turn_%026d", len(lines))
	data := strings.Replace(head, turn, mine, 1) + strings.Join(lines, "")
	data = strings.Replace(data, data[strings.Index(data, `"task":"`)+8:strings.Index(data, `","turn"`)], id, 1)
	last := 0
	for _, line := range lines {
		if err := stream.ReadStoredLine([]byte(line), func(at stream.Stamp, _ stream.Event) { last = at.N }); err != nil {
			t.Fatal(err)
		}
	}
	meta := store.Meta{Holder: store.Holder{Owner: "gw_gone", Epoch: 1}, Turn: mine, State: task.Working, Created: time.Now(), Conversation: "conv_1"}
	doc := fmt.Sprintf(`{"id":%q,"contextId":"conv_1","sessionId":"conv_1","status":{"state":"working"},"metadata":{"turns":[%q]}}`, id, mine)
	if err := in.CreateTask(t.Context(), id, store.Task{Doc: []byte(doc), Meta: meta}, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := in.AppendLog(t.Context(), mine, store.Append{Entry: store.Entry{N: last, Data: []byte(data)}, TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	return id
}
