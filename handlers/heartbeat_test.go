package handlers_test

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/handlers"
	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/sluice"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// beats are the heartbeats of a turn that is silent for 50 seconds, as comments and as events.
const (
	beatComments = ": ping\n\n: ping\n\n: ping\n\n"
	beatEvents   = "event: heartbeat\ndata: {\"at\":\"2000-01-01T00:00:15.000Z\"}\n\n" +
		"event: heartbeat\ndata: {\"at\":\"2000-01-01T00:00:30.000Z\"}\n\n" +
		"event: heartbeat\ndata: {\"at\":\"2000-01-01T00:00:45.000Z\"}\n\n"
)

// A request chooses the form of its heartbeats. Nothing else of the stream changes.
func TestHeartbeatsAsEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := serveInBubble(handlers.Config{Runner: slow(50 * time.Second), Limits: handlers.Limits{Heartbeat: 15 * time.Second}})
		defer stop()
		bodies := map[string]chan string{}
		for _, send := range [][]string{
			{"POST", "/chat/stream", `{"input":"hi"}`}, {"POST", "/chat/stream", `{"input":"hi","heartbeat":"comment"}`}, {"POST", "/chat/stream", `{"input":"hi","heartbeat":null}`},
			{"POST", "/chat/stream", `{"input":"hi","heartbeat":"event"}`}, {"GET", "/chat/stream?input=hi", ""}, {"GET", "/chat/stream?input=hi&heartbeat=event", ""},
		} {
			body := make(chan string, 1)
			bodies[send[0]+send[1]+send[2]] = body
			go func() { body <- g.do(t, send[0], send[1], send[2], jsonType, "X-Request-ID: r-1").body }()
		}
		want := ""
		for name, body := range bodies {
			text, beats, others := <-body, beatComments, "heartbeat"
			if strings.Contains(name, "event") {
				beats, others = beatEvents, "ping"
			}
			first, rest, _ := strings.Cut(text, "\n\n")
			if !strings.HasPrefix(rest, beats+"id: r-1:2\n") || strings.Contains(text, others) {
				t.Errorf("%s: want three heartbeats after the first event:\n%s", name, text)
			}
			plain := first + "\n\n" + strings.TrimPrefix(rest, beats)
			judge(t, plain)
			if want == "" {
				want = plain
			}
			if diff := cmp.Diff(want, plain); diff != "" {
				t.Errorf("%s, without its heartbeats (-another +this):\n%s", name, diff)
			}
		}
	})
}

// Each reader of a stored turn has its own form of heartbeats. They are in no log.
func TestHeartbeatsOfReaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tasks := task.New(task.Config{Store: memory.New(memory.Config{Tasks: 100})})
		defer tasks.Close()
		g, _, stop := serveInBubble(handlers.Config{Limits: handlers.Limits{Heartbeat: 15 * time.Second}, Keeping: handlers.Keeping{Tasks: tasks},
			Dialects: []dialect.Dialect{sluice.Dialect{Stored: true}}, Runner: begins(func(ctx context.Context, req chat.Request, sink stream.Sink) error {
				time.Sleep(50 * time.Second)
				return sends(&stream.Delta{Text: "late"}, &stream.Done{Reason: stream.Stop})(ctx, req, sink)
			})})
		defer stop()
		const withKey = "Idempotency-Key: 0123456789abcdef"
		began, err := g.send(t.Context(), "POST", "/chat/stream", strings.NewReader(`{"input":"hi","heartbeat":"event"}`), jsonType, withKey)
		if err != nil {
			t.Fatal(err)
		}
		head := make([]byte, 1<<10)
		n, _ := began.Body.Read(head)
		id := regexp.MustCompile(`id: (turn_\w+):1\n`).FindSubmatch(head[:n])
		of := regexp.MustCompile(`task_\w{26}`).Find(head[:n])
		if id == nil || of == nil {
			t.Fatalf("the stream begins with %s", head[:n])
		}
		last, events := "Last-Event-ID: "+string(id[1])+":1", "/tasks/"+string(of)+"/events"
		readers := map[string][]string{
			"event: resumed by GET":     {"GET", "/chat/stream?heartbeat=event", "", last},
			"comment: resumed by GET":   {"GET", "/chat/stream", "", last},
			"event: resumed by POST":    {"POST", "/chat/stream", `{"input":"hi","heartbeat":"event"}`, jsonType, last},
			"comment: resumed by POST":  {"POST", "/chat/stream", `{"input":"hi"}`, jsonType, last},
			"comment: resumed, no body": {"POST", "/chat/stream", "", last},
			"event: the task's":         {"GET", events + "?heartbeat=event", ""},
			"event: the task's, on":     {"GET", events + "?heartbeat=event", "", last},
			"comment: the task's":       {"GET", events + "?heartbeat=comment", ""},
			"event: by its key":         {"POST", "/chat/stream", `{"input":"hi","heartbeat":"event"}`, jsonType, withKey},
		}
		bodies := map[string]chan string{"event: its own": make(chan string, 1)}
		for name, send := range readers {
			body := make(chan string, 1)
			bodies[name] = body
			go func() { body <- g.do(t, send[0], send[1], send[2], send[3:]...).body }()
		}
		go func() {
			text, _ := io.ReadAll(began.Body)
			bodies["event: its own"] <- string(head[:n]) + string(text)
		}()
		for name, body := range bodies {
			text, beats, others := <-body, beatComments, "heartbeat"
			if strings.HasPrefix(name, "event") {
				beats, others = beatEvents, "ping\n"
			}
			text = strings.Replace(text, "\n\n: ping\n\nretry", "\n\nretry", 1) // the head of a reply by its key
			if strings.Count(text, beats) != 1 || strings.Contains(strings.Replace(text, beats, "", 1), others) || !strings.HasSuffix(text, "\n\n") || strings.Count(text, "event: done\n") != 1 {
				t.Errorf("%s: want three heartbeats in one silence:\n%s", name, text)
			}
		}
		later := g.do(t, "GET", events+"?heartbeat=event", "")
		if strings.Count(later.body, "\nid: ") != 3 || strings.Count(later.body, "event: ") != 3 || strings.Contains(later.body, "heartbeat") {
			t.Errorf("the log has heartbeats:\n%s", later.body)
		}
		for _, send := range [][]string{
			{"POST", "/chat/stream", `{"input":"hi","heartbeat":"maybe"}`, jsonType}, {"GET", "/chat/stream?input=hi&heartbeat=maybe", ""}, {"GET", "/chat/stream?input=hi&heartbeat=", ""},
			{"GET", events + "?heartbeat=maybe", ""}, {"GET", events + "?heartbeat=maybe", "", last}, {"GET", "/chat/stream?heartbeat=maybe", "", last},
			{"POST", "/chat/stream", `{"input":"hi","heartbeat":"maybe"}`, jsonType, last},
		} {
			got := g.do(t, send[0], send[1], send[2], send[3:]...)
			if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, `"field":"/heartbeat","code":"unknown_value"`) {
				t.Errorf("%q: status %d, %s", send, got.status, got.body)
			}
		}
	})
}
