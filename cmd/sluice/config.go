// This file is the command config, for authors of a configuration file: it prints the file's JSON
// Schema for an editor, and checks a file as a start would. Both work without a port and without an
// upstream.

package main

import (
	"errors"
	"fmt"
	"strings"

	"sluice/internal/app/settings"
	"sluice/internal/base/config"
)

// configSchema prints what checks the file, for editors.
func (p program) configSchema(args []string) int {
	if _, code, ok := p.loadConfig(new(config.Loader), args); !ok {
		return code
	}
	if _, err := p.stdout.Write(settings.FileSections(new(config.Config), new(settings.File)).Schema()); err != nil {
		return exitFailed
	}
	return exitOK
}

// configCheck reads all that a start reads, the file first among it, and prints ok or
// the faults.
func (p program) configCheck(args []string) int {
	f, code := p.readChecked("config check", args)
	if code == exitOK && f.Path != "" {
		fmt.Fprintln(p.stdout, "ok")
	}
	return code
}

// readChecked reads all that a start reads, and prints the faults. The message about a missing file
// names command. args may begin with the file's name. If args ask for help, the file has an empty
// path, and the code is exitOK.
//
// Faults go to stdout, as they are the result; warnings and misuse go to stderr.
func (p program) readChecked(command string, args []string) (f settings.File, code int) {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		if _, err := p.readFile(args[0]); err != nil { // a fault of the setting lacks the file's name
			fmt.Fprintf(p.stdout, "%s: %s\n", args[0], config.Unreadable(err))
			return f, exitUsage
		}
		args = append([]string{"--config"}, args...)
	}
	l := settings.LoaderWith(&f)
	cfg, err := p.readConfig(l, args)
	p.printWarnings(cfg)
	if faults, ok := errors.AsType[*config.Error](err); ok {
		fmt.Fprintln(p.stdout, faults.Error())
		return f, exitUsage
	}
	if err != nil {
		p.printHelp(p.stdout, l)
		return settings.File{}, exitOK
	}
	if f.Path == "" {
		fmt.Fprintf(p.stderr, "sluice %s: name the file, or set SLUICE_CONFIG\n", command)
		return f, exitUsage
	}
	return f, exitOK
}
