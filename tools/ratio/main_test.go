package main

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestLines(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]int{
		"": 0, "// a\n": 0, "package a\n": 1, "package a // b\n\n/* c\nd */\n": 1,
		"package a\n\nvar x = `1\n2\n3`\n": 4, "package a\nvar x, y = `1\n2`, 3\n": 3, "package a; var x = 1\n": 1,
	} {
		if got := codeLines([]byte(src)); got != want {
			t.Errorf("%q: %d, want %d", src, got, want)
		}
	}
}

// A package counts by its own tests, and folders that are not part of the module do not.
func TestReport(t *testing.T) {
	t.Parallel()
	text := func(n int) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("package a\n" + strings.Repeat("var _ = 1\n", n-1))}
	}
	module := fstest.MapFS{
		"go.mod": {}, "small/a.go": text(300), "low/a.go": text(400), "low/a_test.go": text(100), "well/a.go": text(150), "well/b.go": text(150), "well/c.go": text(100),
		"well/a_test.go": text(320), "well/testdata/x.go": text(9), "other/go.mod": {}, "other/a.go": text(9), ".hidden/a.go": text(9),
		"well/welltest/a.go": text(20), "clients/loadtest/a.go": text(30),
		"support/a.go": {Data: []byte("package a\n\nimport (\n\t\"testing\"\n)\n" + strings.Repeat("var _ testing.T\n", 396))},
	}
	for all, want := range map[bool]string{
		false: ` 0.25     100 tests     400 code  low  below
 0.80     320 tests     400 code  well
 0.74     840 tests    1130 code  all; 1 of 2 packages above 300 lines are below 0.8
`,
		true: ` 0.00       0 tests      30 code  clients/loadtest
 0.00       0 tests     300 code  small
 0.00       0 tests     400 code  support
 0.00       0 tests      20 code  well/welltest
 0.25     100 tests     400 code  low  below
 0.80     320 tests     400 code  well
 0.74     840 tests    1130 code  all; 1 of 2 packages above 300 lines are below 0.8
`,
	} {
		var out strings.Builder
		if err := printReport(module, &out, all); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("all %v (-want +got):\n%s", all, diff)
		}
	}
}
