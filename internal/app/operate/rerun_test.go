package operate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/state/store"
	"sluice/internal/state/task/recording"
)

// asking is a gateway whose turns ask one upstream and answer what it says.
type asking struct {
	upstream http.RoundTripper
	closed   int
}

func (a *asking) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	recording.From(r.Context()).Begin("")
	req, _ := http.NewRequestWithContext(r.Context(), http.MethodPost, "http://model/v1", strings.NewReader("hi"))
	resp, err := a.upstream.RoundTrip(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	_, _ = io.WriteString(w, "event: response_delta\ndata: ")
	_, _ = io.Copy(w, resp.Body)
	_, _ = io.WriteString(w, "\n\n")
}

func (a *asking) Close() { a.closed++ }

// says is an upstream that says a text.
type says string

func (s says) RoundTrip(req *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, req.Body)
	_ = req.Body.Close()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(s))), Request: req}, nil
}

// recorded is the recording of a turn.
func recorded(t *testing.T, stored bool) *recording.Recording {
	t.Helper()
	dir := t.TempDir()
	rec := recording.New(recording.Config{Dir: dir, Version: "1", Log: zerolog.Nop()})
	req := httptest.NewRequest(http.MethodPost, "/chat/stream", strings.NewReader(`{"input":"hi"}`))
	rec.Handler(&asking{upstream: rec.Around(says("Hello"), "")}, stored).ServeHTTP(httptest.NewRecorder(), req)
	rec.Close()
	list, err := filepath.Glob(filepath.Join(dir, "turn-*.slrec"))
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	content, err := os.ReadFile(list[0])
	if err != nil {
		t.Fatal(err)
	}
	r, err := recording.Read(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A turn is run again by a gateway that has the recording in place of all upstreams, and
// nothing of its own: no store but an empty one, no port, no recording.
func TestRerun(t *testing.T) {
	t.Parallel()
	for _, stored := range []bool{true, false} {
		r := recorded(t, stored)
		var cfg settings.Config
		setStore(&cfg.Config, "sqlite:/nowhere/s.db")
		config.Change(&cfg.Config, func(c *recording.Config) { c.Dir = "/nowhere" })
		config.Change(&cfg.Config, func(c *settings.Process) { c.AdminAddr = "127.0.0.1:1" })
		var g *asking
		got, err := Rerun(t.Context(), cfg, r, 0, func(_ context.Context, cfg settings.Config, player *recording.Player, kept store.Store) (Gateway, error) {
			own, dir, admin := settings.Of[store.Config](&cfg), settings.Of[recording.Config](&cfg).Dir, settings.Of[settings.Process](&cfg).AdminAddr
			if own.On() || dir != "" || admin != "" || (kept != nil) != stored {
				t.Errorf("it starts with %v, %q, %q and the store %v", own.At, dir, admin, kept)
			}
			g = &asking{upstream: player.Around(nil, "")}
			return g, nil
		})
		if err != nil || len(got.Unanswered) > 0 || got.Unused > 0 || g.closed != 1 {
			t.Errorf("%v, asked %q, unused %d, closed %d times", err, got.Unanswered, got.Unused, g.closed)
		}
		if d, reordered := r.Compare(got.Body); d != nil || reordered || !bytes.Contains(got.Body, []byte("data: Hello")) {
			t.Errorf("it differs: %v\n%s", d, got.Body)
		}
	}
}

// What is asked that the recording lacks, and what it has and nobody asked for, is reported.
func TestRerunOfAnotherTurn(t *testing.T) {
	t.Parallel()
	got, err := Rerun(t.Context(), settings.Config{}, recorded(t, false), 0, func(_ context.Context, _ settings.Config, _ *recording.Player, _ store.Store) (Gateway, error) {
		return &asking{upstream: says("Goodbye")}, nil
	})
	if err != nil || got.Unused != 1 || len(got.Unanswered) != 0 || !bytes.Contains(got.Body, []byte("Goodbye")) {
		t.Errorf("%v, asked %q, unused %d: %s", err, got.Unanswered, got.Unused, got.Body)
	}
	broken := errors.New("no gateway")
	if _, err := Rerun(t.Context(), settings.Config{}, recorded(t, false), 0, func(context.Context, settings.Config, *recording.Player, store.Store) (Gateway, error) {
		return nil, broken
	}); !errors.Is(err, broken) {
		t.Errorf("error = %v", err)
	}
}
