// This file is the command import: a folder in the layout of export becomes a configuration
// file, on the standard output.

package main

import (
	"fmt"

	"sluice/internal/app/operate"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
)

// importFolder prints the configuration file of a folder. Warnings go to stderr.
func (p program) importFolder(args []string) int {
	l := new(config.Loader)
	l.MaxArgs = 1
	if _, code, ok := p.loadConfig(l, args); !ok {
		return code
	}
	if len(l.Args()) == 0 {
		fmt.Fprintln(p.stderr, "sluice import: name the folder: sluice import DIR > sluice.yaml")
		return exitUsage
	}
	made, err := operate.Import(l.Args()[0], p.withStore().loadFile)
	if err != nil {
		return p.refuseStart(err)
	}
	for _, w := range made.Warnings {
		fmt.Fprintln(p.stderr, "warning:", w)
	}
	if _, err := p.stdout.Write(made.Text); err != nil {
		return exitFailed
	}
	return exitOK
}

// loadFile reads the settings with the configuration file of this path; empty: without one.
func (p program) loadFile(path string) (settings.Config, error) {
	lookup := p.lookup
	p.lookup = func(name string) (string, bool) {
		if name == "SLUICE_CONFIG" {
			return path, path != ""
		}
		return lookup(name)
	}
	var f settings.File
	cfg, err := p.readConfig(settings.LoaderWith(&f), nil)
	return gatewayConfig(cfg, f), err
}
