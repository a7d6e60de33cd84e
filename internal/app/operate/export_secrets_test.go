package operate

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/settings"
)

// An export leaves out the literal header whose name is that of a secret, and each value that came from a
// variable. Another literal header stays: without it the exported configuration would send another one.
func TestExportKeepsPlainHeaders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "sluice.yaml")
	text := `mcpServers: {bank: {url: "http://b.test/mcp", headers: {X-Plain: literal-in-the-file, X-Like: "Bearer literal-word", X-Api-Key: literal-secret-1, X-Var: "${VALUE}", X-Same: literal-secret-2, X-Token: literal-secret-2}}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := gatewaytest.WithDefaults(t, map[string]string{"SLUICE_CONFIG": path, "VALUE": "value-of-a-variable"})
	var file settings.File
	cfg, err := settings.LoaderWith(&file).Load(nil, gatewaytest.LookupIn(env), os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	got := secretsOf(settings.Config{Config: cfg, File: file})
	for value, want := range map[string]bool{
		"literal-in-the-file": false, "literal-word": false, "Bearer literal-word": false,
		"literal-secret-1": true, "literal-secret-2": true, "value-of-a-variable": true,
	} {
		if slices.Contains(got, value) != want {
			t.Errorf("%s is left out: %v, want %v", value, !want, want)
		}
	}
}
