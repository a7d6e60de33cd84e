package gateway

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/config"
)

// The README's table is what the sections say. -update rewrites it.
func TestReadme(t *testing.T) {
	t.Parallel()
	wantTables(t, "../../README.md", "settings", Sections(new(config.Config), new(File)))
}

// wantTables checks that a part of a document is what a table of settings says, or rewrites
// it with -update. Comments stand around the part and name it.
func wantTables(t *testing.T, file, part string, table interface{ Markdown(io.Writer) }) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+part+": go test ./internal/gateway -update -->\n", "<!-- end of "+part+" -->\n"
	before, rest, found := strings.Cut(string(content), begin)
	got, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("there are no lines %q and %q", begin, end)
	}
	var want bytes.Buffer
	table.Markdown(&want)
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+want.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), got); diff != "" {
		t.Errorf("the tables (-want +got), which go test ./internal/gateway -update rewrites:\n%s", diff)
	}
}

// A setting stands in one place: no variable, flag or section twice, and each says
// what it takes and means.
func TestSettingsAreWhole(t *testing.T) {
	t.Parallel()
	variables, sections := map[string]bool{}, map[string]bool{}
	for _, section := range Sections(new(config.Config), new(File)) {
		if section.Name == "" || sections[section.Name] || len(section.Settings) == 0 {
			t.Errorf("section %q is empty, or there are two", section.Name)
		}
		sections[section.Name] = true
		for _, s := range section.Settings {
			flag := strings.TrimPrefix(s.Variable, "SLUICE_")
			if variables[flag] {
				t.Errorf("there are two of %s", s.Variable)
			}
			variables[flag] = true
			if s.Variable == "" || s.Values == "" || s.Meaning == "" || s.Default == "" && s.Shown == "" || strings.ContainsAny(s.Values+s.Meaning+s.Shown, "|\n") {
				t.Errorf("%+v lacks something, or does not fit into a table", s)
			}
		}
	}
}
