package config

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config/configtest"
)

// documented is a table with a secret, a setting that is none, and a file in which variables
// stand.
func documented(asked *[]string, names ...string) func(*Config) Table {
	return func(c *Config) Table {
		own := Bind[place](c)
		return Table{{Name: "all", Settings: []Setting{
			Key("GEMINI_API_KEY", "GOOGLE_API_KEY", &own.key, "key"),
			Text("SLUICE_STORE", &own.db, "", "store").OrFile(),
			Text("SLUICE_ADDR", &own.addr, "", "address"),
			Document("SLUICE_CONFIG", "file", func(_ string, _ []byte, from Sources) []Fault {
				for range 2 { // a variable may stand in a file twice
					for _, name := range names {
						value, ok := from.Lookup(name)
						if !ok {
							value = "unset"
						}
						*asked = append(*asked, value)
					}
				}
				return nil
			}),
		}}}
	}
}

func TestSecretsOfFiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"plain": "k-1", "line": "k-2\n", "crlf": "k-3\r\n", "lines": "a\nb\n\n", "blank": " \n", "nul": "a\x00b", "binary": "\xff\xfe",
		"large": strings.Repeat("x", maxText+1), "largest": strings.Repeat("x", maxText), "c": "",
	}
	tests := []struct {
		name   string
		env    map[string]string
		args   []string
		key    string
		store  string
		asked  string // the value of TOKEN in a file
		faults string
	}{
		{"none", nil, nil, "", "", "unset", ""},
		{"a key", map[string]string{"GEMINI_API_KEY_FILE": "plain"}, nil, "k-1", "", "unset", ""},
		{"a line end", map[string]string{"GEMINI_API_KEY_FILE": " line "}, nil, "k-2", "", "unset", ""},
		{"the second name", map[string]string{"GOOGLE_API_KEY_FILE": "crlf"}, nil, "k-3", "", "unset", ""},
		{"an empty variable is not set", map[string]string{"GEMINI_API_KEY": " ", "GEMINI_API_KEY_FILE": "plain"}, nil, "k-1", "", "unset", ""},
		{"an empty name of a file", map[string]string{"GEMINI_API_KEY": "k-9", "GEMINI_API_KEY_FILE": ""}, nil, "k-9", "", "unset", ""},
		{"the largest", map[string]string{"SLUICE_STORE_FILE": "largest"}, nil, "", files["largest"], "unset", ""},
		{"both", map[string]string{"GEMINI_API_KEY": "k-9", "GEMINI_API_KEY_FILE": "plain"}, nil, "", "", "", "GEMINI_API_KEY_FILE: GEMINI_API_KEY is set as well: set one of the two"},
		{"a flag wins", map[string]string{"SLUICE_STORE_FILE": "plain"}, []string{"--store", "memory"}, "", "memory", "unset", ""},
		{"in a file", map[string]string{"TOKEN_FILE": "lines"}, nil, "", "", "a\nb\n", ""},
		{"in a file, both", map[string]string{"TOKEN": "k-9", "TOKEN_FILE": "plain"}, nil, "", "", "", "TOKEN_FILE: TOKEN is set as well: set one of the two"},
		{"no such file", map[string]string{"TOKEN_FILE": "none"}, nil, "", "", "", "TOKEN_FILE: there is no such file"},
		{"blank", map[string]string{"SLUICE_STORE_FILE": "blank"}, nil, "", "", "", "SLUICE_STORE_FILE: the file is empty"},
		{"empty", map[string]string{"SLUICE_STORE_FILE": "c"}, nil, "", "", "", "SLUICE_STORE_FILE: the file is empty"},
		{"a NUL", map[string]string{"TOKEN_FILE": "nul"}, nil, "", "", "", "TOKEN_FILE: the file holds a NUL"},
		{"no text", map[string]string{"TOKEN_FILE": "binary"}, nil, "", "", "", "TOKEN_FILE: the file is not UTF-8 text"},
		{"too large", map[string]string{"SLUICE_STORE_FILE": "large"}, nil, "", "", "", "SLUICE_STORE_FILE: the file has more than 64 KiB"},
		{"no secret", map[string]string{"SLUICE_ADDR_FILE": "plain"}, nil, "", "", "unset", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{"SLUICE_CONFIG": "c"}
			for name, value := range tt.env {
				env[name] = value
			}
			w := configtest.World{Env: env, Files: files}
			var asked []string
			c, err := NewLoader(documented(&asked, "TOKEN")).Load(tt.args, w.Lookup, w.ReadFile)
			if tt.faults != "" {
				faults, ok := errors.AsType[*Error](err)
				if !ok || faults.Error() != tt.faults {
					t.Errorf("got %v, want %s", err, tt.faults)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			own := Of[place](&c)
			if own.key.Reveal() != tt.key || own.db != tt.store || own.addr != "" {
				t.Errorf("key %q, store %q, address %q", own.key.Reveal(), own.db, own.addr)
			}
			if diff := cmp.Diff([]string{tt.asked, tt.asked}, asked); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if tt.key != "" && !slices.ContainsFunc(c.Hidden, func(h Hidden) bool { return h.Value.Reveal() == tt.key }) {
				t.Error("the key is not hidden")
			}
		})
	}
}

// A variable that names the file of a secret is known; one of other settings is not.
func TestFilesOfSecretsAreKnown(t *testing.T) {
	t.Parallel()
	w := configtest.World{
		Env:   map[string]string{"SLUICE_CONFIG": "c", "SLUICE_STORE_FILE": "f", "SLUICE_TOKEN_FILE": "f", "SLUICE_ADDR_FILE": "f"},
		Files: map[string]string{"c": "", "f": "x"},
	}
	var asked []string
	l := NewLoader(documented(&asked, "SLUICE_TOKEN"))
	for name, value := range w.Env {
		l.Environ = append(l.Environ, name+"="+value)
	}
	c, err := l.Load(nil, w.Lookup, w.ReadFile)
	if err != nil || len(c.Warnings) != 1 || !strings.HasPrefix(c.Warnings[0], "SLUICE_ADDR_FILE: there is no such variable") {
		t.Errorf("warnings %q, %v", c.Warnings, err)
	}
}
