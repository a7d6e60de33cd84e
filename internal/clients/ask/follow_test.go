package ask

import (
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway/gatewaytest"
)

// followed returns what is shown of a turn that was begun elsewhere.
func followed(t *testing.T, base, id string, raw bool) string {
	t.Helper()
	d := deskAt(base, "")
	d.Raw = raw
	d.want(t, id, d.Follow(t.Context(), id), Succeeded, "", "")
	return d.out.String()
}

// A turn is followed by anyone who knows its id: from its beginning, or from an event on.
func TestFollow(t *testing.T) {
	t.Parallel()
	base := storing(t, "thought **Hm**\ntext \"Hi \"\ntext there.\nfinish STOP")
	d := deskAt(base, "")
	d.want(t, "a turn", d.Turn(t.Context(), Message{Text: "hi"}), Succeeded, " · task_", "")
	task := regexp.MustCompile(`task_\w+`).FindString(d.out.String())
	if diff := cmp.Diff(d.out.String(), followed(t, base, task, false)); diff != "" {
		t.Errorf("the task (-first +again):\n%s", diff)
	}
	lines := followed(t, base, task, true)
	turn := regexp.MustCompile(`turn_\w+`).FindString(lines)
	fromTurn, behind := followed(t, base, turn, true), followed(t, base, turn+":2", true)
	if fromTurn != lines || behind != strings.Join(strings.SplitAfter(lines, "\n")[2:], "") {
		t.Errorf("the task:\n%sthe turn:\n%sbehind its second event:\n%s", lines, fromTurn, behind)
	}
}

func TestFollowFaults(t *testing.T) {
	t.Parallel()
	base := storing(t, "text Hi.\nfinish STOP")
	none := strings.Repeat("0", 26)
	for _, tt := range []struct{ base, id, says string }{
		{base, "task_" + none, "404 Not Found: There is no such task"},
		{base, "turn_" + none, "cannot resume"},
		{gatewayThatSays(t, "retry: 1\n"), "turn_" + none, "the stream broke before done"},
		{"::", "task_" + none, "sluice ask: "},
	} {
		d := deskAt(tt.base, "")
		d.want(t, tt.id, d.Follow(t.Context(), tt.id), failed, "", tt.says)
	}
}

// Only what is an id becomes a part of a path.
func TestCanFollow(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("0", 26)
	for given, want := range map[string]bool{
		"task_" + id: true, "turn_" + id: true, "turn_" + id + ":12": true,
		"task_" + id + ":12": false, "turn_" + id + ":": false, "task_../../x": false, "task_" + id + "/cancel": false, "task_" + id[1:]: false, "": false,
	} {
		if got := CanFollow(given); got != want {
			t.Errorf("%q: %v", given, got)
		}
	}
}

// A stream that breaks after each event is taken up where it broke.
func TestTurnIsFollowedOverBreaks(t *testing.T) {
	t.Parallel()
	target, err := url.Parse(storing(t, "thought **Hm**\ntext \"Hi \"\ntext there.\nfinish STOP"))
	if err != nil {
		t.Fatal(err)
	}
	var streams atomic.Int64
	breaking := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		streams.Add(1)
		proxy := httputil.NewSingleHostReverseProxy(target)
		proxy.ModifyResponse = func(resp *http.Response) error {
			all, err := io.ReadAll(resp.Body)
			event, rest, _ := strings.Cut(string(all), "\n\n")
			next, _, _ := strings.Cut(rest, "\n\n")
			resp.Body = io.NopCloser(strings.NewReader(event + "\n\n" + next[:len(next)/2]))
			resp.Header.Del("Content-Length")
			return err
		}
		proxy.ServeHTTP(w, r)
	}))
	d := deskAt(breaking, "")
	d.Command = "sluice workflow run"
	d.want(t, "each stream breaks", d.Turn(t.Context(), Message{Text: "hi"}), Succeeded, "\nHi there.\n", "sluice workflow run: the connection was lost")
	if strings.Count(d.err.String(), "\n") != 1 || streams.Load() < 4 {
		t.Errorf("%d streams, stderr %q", streams.Load(), d.err.String())
	}
}

// The end of a context cancels a turn that would continue without its client.
func TestTurnIsCancelled(t *testing.T) {
	t.Parallel()
	base := storing(t, "text Hi\nstall\n---\ntext Hi\nstall")
	for _, elsewhere := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		d := deskAt(base, "")
		d.Stdout = writerFunc(func(p []byte) (int, error) {
			if strings.Contains(string(p), "Hi") {
				cancel()
			}
			return d.out.Write(p)
		})
		call := func() Outcome { return d.Turn(ctx, Message{Text: "hi"}) }
		if elsewhere {
			task := beginTurn(t, base)
			call = func() Outcome { return d.Follow(ctx, task) }
		}
		d.want(t, "a turn that stalls", call(), failed, "\ncancelled · ", "")
		cancel()
	}
}

// Without a store nothing can be cancelled: the connection is closed.
func TestTurnIsLeft(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun := make(chan struct{})
	base := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: r:1\nevent: start\ndata: {}\n\n")
		_ = http.NewResponseController(w).Flush()
		cancel()
		<-r.Context().Done()
		close(begun)
	}))
	d := deskAt(base, "")
	d.want(t, "a turn without a task", d.Turn(ctx, Message{Text: "hi"}), failed, "", "context canceled")
	gatewaytest.Within(t, "the end of the request", begun)
}

// beginTurn begins a turn, leaves it, and returns its task.
func beginTurn(t *testing.T, base string) string {
	t.Helper()
	ctx, leave := context.WithTimeout(t.Context(), time.Minute)
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/chat/stream?input=hi", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var read []byte
	for buf := make([]byte, 1<<10); ; {
		n, err := resp.Body.Read(buf)
		read = append(read, buf[:n]...)
		if task := regexp.MustCompile(`task_\w{26}`).Find(read); task != nil {
			return string(task)
		}
		if err != nil {
			t.Fatalf("%v after %s", err, read)
		}
	}
}
