package operate

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/state/store"
	"sluice/mcpclient/servers"
)

// setServers replaces the MCP servers of a configuration.
func setServers(c *config.Config, list servers.List) {
	config.Change(c, func(l *servers.List) { *l = list })
}

// setStore gives a configuration another store.
func setStore(c *config.Config, at string) {
	config.Change(c, func(s *store.Config) {
		var err error
		if s.At, err = store.ParseLocation(at); err != nil {
			panic(err)
		}
	})
}

// filesIn returns the texts of the files under a folder, by their paths in it.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		name, _ = filepath.Rel(dir, name)
		all[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatal(err, "there are no files in ", dir)
	}
	return all
}

// configured reads a configuration: the text of a file, and variables.
func configured(t *testing.T, text string, env ...string) settings.Config {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "sluice.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var file settings.File
	all := gatewaytest.With(gatewaytest.WithDefaults(t, map[string]string{"SLUICE_CONFIG": path}), env...)
	cfg, err := settings.LoaderWith(&file).Load(nil, gatewaytest.LookupIn(all), os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	return settings.Config{Config: cfg, File: file, Version: "test"}
}
