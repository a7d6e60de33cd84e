package browser

import (
	"path/filepath"
	"testing"

	"sluice/e2e/process"
)

// The TypeScript compiler finds no fault in the page's JavaScript and its JSDoc.
func TestPageTypes(t *testing.T) {
	t.Parallel()
	name := node(t)
	if err := process.LookAtSources(); err != nil {
		t.Fatal(err)
	}
	config, err := filepath.Abs(root + "/web/jsconfig.json")
	if err != nil {
		t.Fatal(err)
	}
	out, err := run(t, nil, nil, name, modules+"/typescript/bin/tsc", "--project", config, "--checkJs", "--strict", "--noEmit")
	if err != nil {
		t.Errorf("%v\n%s%s", err, out.stdout, out.stderr)
	}
}
