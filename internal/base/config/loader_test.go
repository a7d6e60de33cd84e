package config

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config/configtest"
)

func TestLoaderOwnFlags(t *testing.T) {
	t.Parallel()
	l := NewLoader(sections)
	l.MaxArgs = 2
	raw := l.Bool("raw", "print frames")
	quiet := l.Bool("quiet", "print less")
	user := l.String("user-id", "somebody", "who asks")
	wait := l.Duration("wait", 2*time.Second, "how long")
	w := configtest.World{}
	c, err := l.Load([]string{"one", "--raw", "--user-id=u 1", "--max-steps", "3", "--", "--two"}, w.Lookup, w.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	if Of[agentPart](&c).steps != 3 || !*raw || *quiet || *user != "u 1" || *wait != 2*time.Second {
		t.Errorf("got steps %d, raw %v, quiet %v, user %q, wait %v", Of[agentPart](&c).steps, *raw, *quiet, *user, *wait)
	}
	if diff := cmp.Diff([]string{"one", "--two"}, l.Args()); diff != "" {
		t.Errorf("Args (-want +got):\n%s", diff)
	}

	var usage bytes.Buffer
	l.Flags(&usage, 80)
	for _, want := range []string{"  --raw                   ", "  --user-id TEXT          who asks (default somebody)\n", "  --wait DURATION         how long (default 2s)\n"} {
		if !strings.Contains(usage.String(), want) {
			t.Errorf("usage lacks %q:\n%s", want, usage.String())
		}
	}
}

func TestLoaderFaults(t *testing.T) {
	t.Parallel()
	const secret = "sk-SECRET-0123456789"
	tests := []struct {
		name string
		args []string
		want []string
	}{
		{"values of own flags", []string{"--raw=maybe", "--wait", "-1s"}, []string{"--raw: must be true or false", "--wait: must not be less than 0"}},
		{"a bool takes no second word", []string{"--raw", "false", "x"}, []string{"argument 3: is not expected; flags begin with --"}},
		{"too many", []string{"a", "-", "--", secret}, []string{"argument 2: is not expected; flags begin with --", "argument 4: is not expected; flags begin with --"}},
		{"unknown, with a secret", []string{"--api-key=" + secret}, []string{"--api-key: there is no such flag"}},
		{"a secret with a dash", []string{"-" + secret + "=x"}, []string{"argument 1: there is no such flag"}},
		{"a key and its value", []string{"--google-api-key", secret}, []string{"GEMINI_API_KEY: is not taken from the command line, because others on this machine can see it; set the variable"}},
		{"a key without value", []string{"--gemini-api-key"}, []string{"GEMINI_API_KEY: is not taken from the command line, because others on this machine can see it; set the variable"}},
		{"own flag without value", []string{"--wait"}, []string{"--wait: --wait needs a value"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := NewLoader(sections)
			l.MaxArgs = 1
			l.Bool("raw", "")
			l.Duration("wait", 0, "")
			_, err := l.Load(tt.args, configtest.World{}.Lookup, configtest.World{}.ReadFile)
			if diff := cmp.Diff(tt.want, faults(t, err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("secret repeated: %v", err)
			}
		})
	}
}

func TestLoaderRefusesNamesInUse(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"addr", "gemini-api-key", "mine", "help"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a second flag %s was taken", name)
				}
			}()
			l := NewLoader(sections)
			l.String("mine", "", "")
			l.Bool(name, "")
		}()
	}
}

func TestLoaderKindsOfFlags(t *testing.T) {
	t.Parallel()
	l := new(Loader)
	n := l.Int("n", 0, 1, 9, "")
	m := l.Int("m", 3, 1, 9, "")
	share := l.Float("share", 0, 1, "")
	base := l.BaseURL("base", "")
	way := l.OneOf("way", "left", []string{"left", "right"}, "")
	sure := l.Truth("sure", "")
	texts := l.Strings("text", "")
	header := l.Header("header", "")
	checked := 0
	l.Check = func(func(name, message string)) { checked++ }
	args := []string{
		"--n", "not looked at", "--n", "9", "--share=0.5", "--base", "http://h/a/", "--sure", "1", "--way", "right",
		"--text", "one", "-text=two", "--text", "--text=x", "--text=",
		"--header", "X-A:1", "--header=x-a: 2",
	}
	if _, err := l.Load(args, configtest.World{}.Lookup, configtest.World{}.ReadFile); err != nil {
		t.Fatal(err)
	}
	got := []any{*n, *m, *share, *base, *way, *sure, *texts, header["X-A"], checked}
	want := []any{9, 3, 0.5, "http://h/a", "right", true, []string{"one", "two", "--text=x"}, []string{"1", "2"}, 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every fault is listed at once: those of values, of each one of a repeated flag, and
// those that Check finds.
func TestLoaderFaultsOfKinds(t *testing.T) {
	t.Parallel()
	l := new(Loader)
	l.Int("n", 0, 1, 9, "")
	l.Float("share", 0, 1, "")
	l.BaseURL("base", "")
	l.OneOf("way", "left", []string{"left", "right"}, "")
	l.Truth("sure", "")
	l.Strings("text", "")
	l.Header("header", "")
	l.Check = func(fault func(name, message string)) { fault("--n", "does not go with --way") }
	_, err := l.Load([]string{
		"--n", "0", "--share", "NaN", "--base", "h", "--way", "up", "--sure", "x", "--text", "a\x00", "--header", "a", "--header", "b: \x00",
	}, configtest.World{}.Lookup, configtest.World{}.ReadFile)
	want := []string{
		"--n: must be a whole number from 1 to 9",
		"--share: must be a number above 0, up to 1",
		"--base: must begin with http:// or https://",
		"--way: must be one of left, right",
		"--sure: must be true or false",
		"--text: must not hold a NUL",
		"--header: must be 'Name: value'",
		"--header: must be 'Name: value'",
		"--n: does not go with --way",
	}
	if diff := cmp.Diff(want, faults(t, err)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}
