package config

import (
	"bytes"
	"errors"
	"flag"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config/configtest"
)

// agentPart is what a package would keep itself.
type agentPart struct{ steps int }

// place is one of what there is in the table of these tests.
type place struct {
	addr, url, db string
	key           Secret
	isDefault     bool
	timeout       time.Duration
	payloads      bool
}

// load reads the settings of a machine.
func load(w configtest.World, args ...string) (Config, error) {
	return NewLoader(sections).Load(args, w.Lookup, w.ReadFile)
}

// sections is a table with a setting of most kinds, as packages would register it.
func sections(c *Config) Table {
	own := Bind[place](c)
	return Table{
		{Name: "where", Settings: []Setting{
			Address("SLUICE_ADDR", &own.addr, ":8080", "listen address").Or("PORT", Port(&own.addr)).As("`:8080`, or `:$PORT`"),
			Key("GEMINI_API_KEY", "GOOGLE_API_KEY", &own.key, "key; see [more](there.md)").As("none"),
			BaseURL("GEMINI_BASE_URL", &own.url, "https://h.test", "any server"),
		}},
		{Name: "what", Settings: []Setting{
			Int("SLUICE_MAX_STEPS", &Bind[agentPart](c).steps, 8, 1, 64, "model calls"),
			Duration("SLUICE_REQUEST_TIMEOUT", &own.timeout, time.Minute, "the whole turn"),
			DataFile("SLUICE_TODO_DB", &own.db, &own.isDefault, "sluice/todo.db", "a file, or `:memory:`"),
			Bool("SLUICE_LOG_PAYLOADS", &own.payloads, "more in the log"),
		}},
	}
}

func mustLoad(t *testing.T, w configtest.World, args ...string) Config {
	t.Helper()
	c, err := load(w, args...)
	if err != nil {
		t.Fatalf("Load(%q) = %v", args, err)
	}
	return c
}

// faults returns the lines of err, which must be an *Error.
func faults(t *testing.T, err error) []string {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("error is a %T (%v), want *Error", err, err)
	}
	lines := strings.Split(e.Error(), "\n")
	if len(lines) != len(e.Faults) {
		t.Errorf("%d faults on %d lines:\n%v", len(e.Faults), len(lines), e)
	}
	return lines
}

func TestDataFolder(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the paths below are those of a Unix")
	}
	tests := []struct {
		goos string
		env  map[string]string
		want string
	}{
		{"linux", map[string]string{"HOME": "/h", "XDG_DATA_HOME": "/x"}, "/x"},
		{"linux", map[string]string{"HOME": "/h", "XDG_DATA_HOME": "relative"}, "/h/.local/share"},
		{"linux", map[string]string{"HOME": "/h"}, "/h/.local/share"},
		{"linux", nil, ""},
		{"darwin", map[string]string{"HOME": "/h"}, "/h/Library/Application Support"},
		{"windows", map[string]string{"HOME": "/h", "LOCALAPPDATA": "/l"}, "/l"},
	}
	for _, tt := range tests {
		if got := dataFolder(tt.goos, configtest.World{Env: tt.env}.Lookup); got != tt.want {
			t.Errorf("%s %v: got %q, want %q", tt.goos, tt.env, got, tt.want)
		}
	}
	cfg := mustLoad(t, configtest.World{})
	if got := Of[place](&cfg).db; got != ":memory:" {
		t.Errorf("without a home: the file is %q, want :memory:", got)
	}
}

func TestChildEnv(t *testing.T) {
	t.Parallel()
	got := mustLoad(t, configtest.World{Env: map[string]string{
		"PATH": "/bin", "HOME": "/h", "LC_TIME": "de", "LANG": "", "XDG_CACHE_HOME": "/c", "TZ": "UTC",
		"GEMINI_API_KEY": "k", "GOOGLE_API_KEY": "k", "SLUICE_ADDR": ":1", "HTTPS_PROXY": "http://u:p@h", "AWS_SECRET_ACCESS_KEY": "s",
	}}).ChildEnv
	want := []string{"PATH=/bin", "HOME=/h", "TZ=UTC", "LANG=", "LC_TIME=de", "XDG_CACHE_HOME=/c"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ChildEnv (-want +got):\n%s", diff)
	}
}

func TestVariablesListsEverything(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := NewLoader(sections)
	l.Variables(&out, 60)
	words := strings.Join(strings.Fields(out.String()), " ")
	for _, s := range l.commonSettings() {
		if !strings.Contains(words, s.Variable+" ") || s.Meaning == "" || s.DefaultShown() == "" {
			t.Errorf("%s is not shown with default and meaning", s.Variable)
		}
		if shown := strings.Contains(words, " --"+s.flag+" "); shown == s.secret {
			t.Errorf("flag of %s shown: %v", s.Variable, shown)
		}
	}
	for _, want := range []string{"; default: :8080, or :$PORT)", "; default: 60s)", " key; see more (", "a file, or :memory:"} {
		if !strings.Contains(words, want) {
			t.Errorf("%q is not there:\n%s", want, out.String())
		}
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 61 {
			t.Errorf("longer than 60 columns: %s", line)
		}
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 10, []string{""}},
		{"one two three", 7, []string{"one two", "three"}},
		{"one two", 6, []string{"one", "two"}},
		{"äöü äöü", 7, []string{"äöü äöü"}},
		{"a https://example.com/long b", 8, []string{"a", "https://example.com/long", "b"}},
	} {
		if diff := cmp.Diff(tt.want, Wrap(tt.text, tt.width)); diff != "" {
			t.Errorf("Wrap(%q, %d) (-want +got):\n%s", tt.text, tt.width, diff)
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-h"}, {"--help"}, {"--nope", "stray", "-help"}} {
		if _, err := load(configtest.World{}, args...); err != flag.ErrHelp {
			t.Errorf("Load(%q) = %v, want flag.ErrHelp", args, err)
		}
	}
}
