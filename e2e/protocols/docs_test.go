package protocols

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// recordings are the folders of recorded answers.
var recordings = [...]string{"../../../shared/testdata/openai", "../../../shared/testdata/anthropic"}

// What docs/models.md rests on is there: each test, and each recording if there are any.
func TestModelsPageNamesItsSources(t *testing.T) {
	t.Parallel()
	page := read(t, "../../docs/models.md")
	tests := allTests(t)
	for _, m := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(page, -1) {
		if !strings.Contains(tests, "func "+m[1]+"(") {
			t.Errorf("there is no test %s", m[1])
		}
	}
	if _, err := os.Stat(recordings[0]); err != nil {
		t.Skip("the recordings in shared/testdata are not here")
	}
	n := 0
	for _, m := range regexp.MustCompile("`((?:chat|responses|messages|error|quoted)-[a-z0-9-]+)`").FindAllStringSubmatch(page, -1) {
		n++
		found := false
		for _, dir := range recordings {
			files, err := filepath.Glob(filepath.Join(dir, m[1]+".*"))
			found = found || err == nil && len(files) > 0
		}
		if !found {
			t.Errorf("there is no recording %s", m[1])
		}
	}
	if n < 50 {
		t.Errorf("only %d recordings are named", n)
	}
}

// Each provider that can be configured has its row.
func TestModelsPageHasAllProviders(t *testing.T) {
	t.Parallel()
	page, configuration := read(t, "../../docs/models.md"), read(t, "../../docs/configuration.md")
	row := regexp.MustCompile("(?m)^\\| `provider` \\| (.*?) \\|").FindStringSubmatch(configuration)
	if row == nil {
		t.Fatal("docs/configuration.md lists no providers")
	}
	for name := range strings.SplitSeq(row[1], ", ") {
		if !strings.Contains(page, "\n| "+name) {
			t.Errorf("%s has no row", name)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func allTests(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range []string{"../../internal/model", "../../internal/model/openai", "../../internal/model/anthropic", "../../internal/model/gemini", "../../internal/app/gateway", "../peers", "../judges", "."} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(name, "_test.go") {
				all.WriteString(read(t, name))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
