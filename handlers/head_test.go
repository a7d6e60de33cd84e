package handlers_test

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/handlers"
	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/sluice"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// watching is a protocol whose GET follows events that never end.
type watching struct{ method string }

func (d *watching) Routes() []dialect.Route {
	return []dialect.Route{{Methods: []string{"GET"}, Path: "/watch", NoBody: true, Mixed: true, Use: dialect.Read, Open: func(r *http.Request, _ []byte) (*dialect.Exchange, error) {
		d.method = r.Method
		return &dialect.Exchange{Encoder: shoutEncoder{}, Header: http.Header{"X-Watch": {"v1"}}, Follow: func(ctx context.Context, _ dialect.Frames) bool {
			<-ctx.Done()
			return false
		}}, nil
	}}}
}

// HEAD of a stream has its headers and ends at once, whatever the stream waits for.
func TestHeadOfStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tasks := task.New(task.Config{Store: memory.New(memory.Config{})})
		run := runner(func(_ context.Context, _ chat.Request, sink stream.Sink) error {
			if err := sink.Emit(&stream.Start{Model: "m"}); err != nil {
				return err
			}
			time.Sleep(time.Minute)
			return sink.Emit(&stream.Done{Reason: stream.Stop})
		})
		protocol := new(watching)
		g, _, stop := serveInBubble(handlers.Config{Runner: run, Keeping: handlers.Keeping{Tasks: tasks}, Dialects: []dialect.Dialect{sluice.Dialect{Stored: true}, protocol}})
		resp, err := g.send(t.Context(), "POST", "/chat/stream", strings.NewReader(`{"input":"hi"}`), jsonType)
		if err != nil {
			t.Fatal(err)
		}
		var head [2048]byte
		n, err := resp.Body.Read(head[:])
		id := regexp.MustCompile(`task_[0-9a-v]{26}`).FindString(string(head[:n]))
		if err != nil || id == "" {
			t.Fatal(err, string(head[:n]))
		}
		began := time.Now()
		for _, path := range []string{"/watch", "/tasks/" + id + "/events"} {
			got := g.do(t, "HEAD", path, "")
			if got.status != http.StatusOK || got.header.Get("Content-Type") != "text/event-stream" || got.body != "" {
				t.Errorf("HEAD %s: %d %q %q", path, got.status, got.header, got.body)
			}
		}
		if protocol.method != http.MethodGet || time.Since(began) > time.Second {
			t.Errorf("the protocol reads %q; it took %v", protocol.method, time.Since(began))
		}
		_ = resp.Body.Close()
		time.Sleep(time.Hour)
		stop()
		tasks.Close()
	})
}
