package terminal_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/clients/terminal"
)

// What steers a terminal is kept out of JSON too, and nothing is lost of it.
func TestPrintableJSON(t *testing.T) {
	t.Parallel()
	const hostile, want = "{\"a\":\"é\u009b5m\u202e\U000e0041\u007f👩\u200d👧\"}", "{\"a\":\"é\\u009b5m\\u202e\\udb40\\udc41\\u007f👩\u200d👧\"}"
	got := string(terminal.PrintableJSON([]byte(hostile)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var before, after any
	if json.Unmarshal([]byte(hostile), &before) != nil || json.Unmarshal([]byte(got), &after) != nil || !cmp.Equal(before, after) {
		t.Errorf("%s is not the same as %q", got, hostile)
	}
}

// Colours are for terminals, and for nobody who has said otherwise.
func TestColours(t *testing.T) {
	t.Parallel()
	none := func(string) (string, bool) { return "", false }
	if got := terminal.StyleFor(new(strings.Builder), none); got != (terminal.Style{}) {
		t.Errorf("a buffer gets %q", got)
	}
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if got := terminal.StyleFor(file, none); got != (terminal.Style{}) {
		t.Errorf("a file gets %q", got)
	}
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a character device, like a terminal
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	if got := terminal.StyleFor(device, none); got.Red != "\x1b[31m" {
		t.Errorf("a device gets %q", got)
	}
	if got := terminal.StyleFor(device, func(string) (string, bool) { return "", true }); got == (terminal.Style{}) {
		t.Error("with an empty NO_COLOR it gets none")
	}
	if got := terminal.StyleFor(device, func(name string) (string, bool) { return map[string]string{"NO_COLOR": "1"}[name], true }); got != (terminal.Style{}) {
		t.Errorf("with NO_COLOR it gets %q", got)
	}
}

// Nothing that steers a terminal is left of a text; what people write with is.
func TestPrintable(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"two\nlines\tof text":         "two\nlines\tof text",
		"\x1b[2Jclear\r\b\a":          "[2Jclear",
		"\x1b]0;owned\x07 \u009b5m":   "]0;owned 5m",
		"right to \u202eleft":         "right to left",
		"hidden \U000e0041\ufefftag":  "hidden tag",
		"a family 👩\u200d👧, 5\u00a0€": "a family 👩\u200d👧, 5\u00a0€",
	} {
		if got := terminal.Printable(given); got != want {
			t.Errorf("%q became %q, want %q", given, got, want)
		}
	}
}

// keyboard says itself what it is.
type keyboard bool

func (k keyboard) IsTerminal() bool { return bool(k) }

func TestIsTerminal(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for _, tt := range []struct {
		stream any
		want   bool
	}{{keyboard(true), true}, {keyboard(false), false}, {r, false}, {w, false}, {strings.NewReader(""), false}, {nil, false}} {
		if got := terminal.IsTerminal(tt.stream); got != tt.want {
			t.Errorf("%T: %v", tt.stream, got)
		}
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		terminal.Millis(0):                  "0s",
		terminal.Millis(1234):               "1.234s",
		terminal.Millis(61_000):             "1m1s",
		terminal.SMSFigures("GSM-7", 52, 1): "GSM-7, 52 units, 1 segment",
		terminal.SMSFigures("UCS-2", 71, 2): "UCS-2, 71 units, 2 segments",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A file and a buffer have as many columns as is said.
func TestColumns(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, out := range []io.Writer{io.Discard, file} {
		if got := terminal.Columns(out, 77); got != 77 {
			t.Errorf("%T has %d columns", out, got)
		}
	}
}

// JSON that needs no care stays as it is, whatever characters are in it.
func TestPrintableJSONKeepsTexts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"a":"é 👩 \\u0007"}`, "[1,\n\t2]", `""`, ""} {
		if got := string(terminal.PrintableJSON([]byte(text))); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
