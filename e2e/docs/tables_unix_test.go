//go:build unix

package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sluice/e2e/process"
)

// The tables of commands and of endpoints have all that there are.
func TestTablesAreWhole(t *testing.T) {
	t.Parallel()
	help, err := exec.Command(process.Program(t), "help").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, listed, _ := strings.Cut(string(help), "\nCOMMANDS\n")
	listed, _, _ = strings.Cut(listed, "\n\n")
	api, err := os.ReadFile(filepath.Join(process.Tree, "web", "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	all := documents(t)
	for _, tt := range []struct {
		page, names string
		name        *regexp.Regexp
		least       int
	}{
		{"commands.md", listed, regexp.MustCompile(`(?m)^  (\S+(?: \S+)?)(?:  |$)`), 20},
		{"endpoints.md", string(api), regexp.MustCompile(`(?m)^  (/\S*):$`), 35},
	} {
		page := all[filepath.Join(process.Tree, "docs", tt.page)]
		found := tt.name.FindAllStringSubmatch(tt.names, -1)
		if len(found) < tt.least {
			t.Errorf("%s: %d names: are they still read?", tt.page, len(found))
		}
		for _, m := range found {
			if !regexp.MustCompile("[` ]" + regexp.QuoteMeta(m[1]) + "[`? ,]").MatchString(page) {
				t.Errorf("%s does not name %s", tt.page, m[1])
			}
		}
	}
}
