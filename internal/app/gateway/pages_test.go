package gateway_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/settings"
	"sluice/internal/base/config"
)

// The table of variables is what the sections say. -update rewrites it.
func TestVariablesPage(t *testing.T) {
	t.Parallel()
	wantTables(t, "../../../docs/variables.md", "settings", func(w io.Writer) { settingsTable(w, settings.Sections(new(config.Config), new(settings.File))) })
}

// The tables of the configuration file's page are what the schema says. -update rewrites
// them.
func TestConfigurationPage(t *testing.T) {
	t.Parallel()
	wantTables(t, "../../../docs/configuration.md", "sections", func(w io.Writer) {
		fileTables(w, settings.FileSections(new(config.Config), new(settings.File)))
	})
}

// wantTables checks that a part of a document is what a table of settings says, or rewrites
// it with -update. Comments stand around the part and name it.
func wantTables(t *testing.T, file, part string, write func(io.Writer)) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+part+": go test ./internal/app/gateway -update -->\n", "<!-- end of "+part+" -->\n"
	before, rest, found := strings.Cut(string(content), begin)
	got, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("there are no lines %q and %q", begin, end)
	}
	var want bytes.Buffer
	write(&want)
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+want.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), got); diff != "" {
		t.Errorf("the tables (-want +got), which go test ./internal/app/gateway -update rewrites:\n%s", diff)
	}
}
