package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/base/redact"
	"sluice/internal/turn/chat"
)

// logged returns what becomes of one line.
func logged(t *testing.T, secrets []string, with func(*zerolog.Event)) (line string, fields map[string]any) {
	t.Helper()
	var out bytes.Buffer
	w := NewLogWriter(&out, secrets)
	log := NewLogger(w, "info").With().Str("request_id", "req_1").Str("user_id", "ann").Logger()
	details := zerolog.Dict()
	with(details)
	log.Warn().Int64("duration_ms", 7).Dict("details", details).Msg("said")
	w.Close()
	if n := strings.Count(out.String(), "\n"); n != 1 || !strings.HasSuffix(out.String(), "\n") {
		t.Fatalf("%d line ends in %q", n, out.String())
	}
	if err := json.Unmarshal(out.Bytes(), &fields); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	return out.String(), fields
}

// However long the parts of a line are, it is a whole one of at most 16 KiB that says
// what happened, when, and to whose request.
func TestLongLogLinesAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for name, with := range map[string]func(*zerolog.Event){
		"a string":             func(d *zerolog.Event) { d.Str("tool_name", long) },
		"hidden characters":    func(d *zerolog.Event) { d.Str("tool_name", strings.Repeat("\U000E0041", 1<<18)) },
		"quotes":               func(d *zerolog.Event) { d.Str("tool_name", strings.Repeat(`"\`, 1<<18)) },
		"an error and a list":  func(d *zerolog.Event) { d.AnErr("tool_name", errors.New(long)).Strs("x", []string{long}) },
		"a list beside a name": func(d *zerolog.Event) { d.Strs("names", make([]string, 100_000)).Str("tool_name", "x") },
		"many members":         func(d *zerolog.Event) { d.Str("tool_name", "x"); manyMembers(d, 500) },
		"only what is left out": func(d *zerolog.Event) {
			d.Str("tool_name", "x").Bytes("raw", []byte(long)).Ints("n", make([]int, 10_000))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line, fields := logged(t, nil, with)
			if len(line) > maxLine {
				t.Errorf("the line has %d bytes", len(line))
			}
			for member, want := range map[string]any{"level": "WARNING", "request_id": "req_1", "user_id": "ann", "event": "said", "duration_ms": 7.0} {
				if fields[member] != want {
					t.Errorf("%s is %v", member, fields[member])
				}
			}
			details, _ := fields["details"].(map[string]any)
			if _, ok := details["tool_name"].(string); !ok || fields["timestamp"] == nil {
				t.Errorf("too much was left out: %.300s", line)
			}
			if n, _ := fields["line_bytes"].(float64); n <= maxLine {
				t.Errorf("line_bytes is %v", fields["line_bytes"])
			}
		})
	}
}

func manyMembers(d *zerolog.Event, n int) {
	for range n {
		d.Str("member", strings.Repeat("y", 100))
	}
}

// What is not seen, or turns the text around it, does not reach a terminal.
func TestHiddenCharactersAreEscapedInTheLog(t *testing.T) {
	t.Parallel()
	const text = "a\u202eb\u2066\u2028\u2029\u200b\ufeff\u009b\U000E0041\U000E007F ä 😀"
	line, fields := logged(t, nil, func(d *zerolog.Event) { d.Str("path", text) })
	for _, r := range line {
		if r != '\n' && chat.Hidden(r) {
			t.Errorf("%U is in the line %q", r, line)
		}
	}
	if got := fields["details"].(map[string]any)["path"]; got != text {
		t.Errorf("parsed, the text is %q", got)
	}
	if !strings.Contains(line, "ä 😀") {
		t.Errorf("what is seen was changed: %q", line)
	}
}

// A secret that looks like one of the log's words or like a number leaves the log
// what it is.
func TestScrubbedLogStaysWhole(t *testing.T) {
	t.Parallel()
	secrets := []string{"request_id", "12345678", `":7,"det`, `quoted"key`, "details\\"}
	line, fields := logged(t, secrets, func(d *zerolog.Event) {
		d.Int("number", 12345678).Str("a", "with 12345678").Str("b", `a quoted"key`).Str("c", "the request_id").Bool("d", true)
	})
	if fields["request_id"] != "req_1" || fields["duration_ms"] != 7.0 || fields["event"] != "said" {
		t.Errorf("the line lost what it is: %s", line)
	}
	want := map[string]any{"number": redact.Mark, "a": "with " + redact.Mark, "b": "a " + redact.Mark, "c": "the " + redact.Mark, "d": true}
	for member, value := range want {
		if got := fields["details"].(map[string]any)[member]; got != value {
			t.Errorf("%s is %v, want %v", member, got, value)
		}
	}
}

// A text that was clipped within a secret does not show the half of it.
func TestClippedSecretIsHidden(t *testing.T) {
	t.Parallel()
	const secret = "0123456789-abcdefghij"
	for n := range len(secret) + 1 {
		text := chat.Clip("key "+secret+" and more", len("key ")+n)
		_, fields := logged(t, []string{"another-secret", secret}, func(d *zerolog.Event) { d.Str("text", text) })
		want := "key " + redact.Mark + "…"
		if n < redact.MinLength {
			want = text
		}
		if got := fields["details"].(map[string]any)["text"]; got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
