//go:build unix

package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/e2e/process"
	"sluice/internal/base/testnet"
)

// What panics say in here. Clients must not see it.
const panicWord = "canary-of-a-panic-"

// panics are lines behind which the gateway of these tests has others, which panic when they are
// asked to: nothing from outside makes a panic.
var panics = map[string][2]string{
	"handlers/tools.go": {"	ro.routeRead(\"/tools\", reading, func(w http.ResponseWriter, r *http.Request) error {\n", `
	if r.URL.RawQuery == "half" {
		_, _ = w.Write([]byte("half a rep"))
		_ = http.NewResponseController(w).Flush()
	}
	if r.URL.RawQuery != "" {
		panic("` + panicWord + `" + r.URL.RawQuery)
	}
`},
	"internal/engine/agent/turn.go": {"func (t *turn) acceptChunk(c *chat.Chunk) error {\n", `
	if len(c.Parts) > 0 && c.Parts[0].Text == "panic" {
		panic("` + panicWord + `stream")
	}
`},
}

// startPanicking starts a gateway with panics in it.
func startPanicking(t *testing.T, env map[string]string) *process.Gateway {
	t.Helper()
	process.Needed(t)
	dir := t.TempDir()
	root, err := filepath.Abs(process.Root)
	if err := errors.Join(err, process.LookAtSources("e2e")); err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	for name, change := range panics {
		from, to := filepath.Join(root, name), filepath.Join(dir, filepath.Base(name))
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		line, more := change[0], change[1]
		if bytes.Count(text, []byte(line)) != 1 {
			t.Fatalf("%s has no line %q any more", name, line)
		}
		if err := os.WriteFile(to, bytes.Replace(text, []byte(line), []byte(line+more), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[from] = to
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "sluice")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-overlay", file, "-o", program, "./cmd/sluice")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building a gateway that panics: %v\n%s", err, out)
	}
	g := process.Launch(t, exec.Command(program), env)
	g.Addr = g.Await("listening").Detail("addr")
	return g
}

// A panic in a handler is a generic 500 before the reply has begun, and breaks it off afterwards; in
// a stream it is an error of that stream, which ends with done. The others do not notice, and the
// log has each.
func TestP9AndP10Panics(t *testing.T) {
	t.Parallel()
	const others = 5
	let := make(chan struct{})
	model := process.NewModel(t, func(q *process.Question) {
		q.SendText("Word.")
		switch q.Text {
		case "odd":
			q.SendText("panic")
		case "quick":
			<-let
		}
	})
	g := startPanicking(t, model.Env())
	a := gather(t, g.Addr, others, func(int) string { return "quick" })
	a.allBegun(others)
	logged := func(t *testing.T, where string) {
		t.Helper()
		if t.Failed() {
			return
		}
		testnet.Eventually(t, "the panic in the log, with its stack", func() bool {
			return slices.ContainsFunc(g.Logged("error_occurred"), func(l process.Line) bool {
				return l.Level == "ERROR" && strings.Contains(l.Detail("error_message"), panicWord+where+"\ngoroutine ")
			})
		})
	}
	t.Run("P9: before the reply", func(t *testing.T) {
		status, body := get(t, g.Addr, "/tools?early")
		var doc struct {
			Type string `json:"error_type"`
		}
		if err := json.Unmarshal([]byte(body), &doc); err != nil || status != http.StatusInternalServerError || doc.Type != "internal_error" || strings.Contains(body, panicWord) {
			t.Errorf("%d %s, want a generic 500", status, body)
		}
		logged(t, "early")
	})
	t.Run("P10: in a reply", func(t *testing.T) {
		resp, err := plainClient.Get("http://" + g.Addr + "/tools?half")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) || string(body) != "half a rep" {
			t.Errorf("the client reads %q and %v, want an unexpected EOF", body, err)
		}
		logged(t, "half")
	})
	t.Run("P10: in a stream", func(t *testing.T) {
		o := wantTurn(t, g.Addr, "odd", "error internal_error")
		if o.end.Success || o.end.Output != "Word." {
			t.Errorf("the stream ended with %+v", o.end)
		}
		logged(t, "stream")
	})
	close(let)
	if got := a.count(others, nil); got["stop"] != others {
		t.Errorf("of %d other turns: %v", others, got)
	}
	wantTurn(t, g.Addr, "hi", "stop")
}
