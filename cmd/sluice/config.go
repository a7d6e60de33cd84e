// This file is the command config, for authors of a configuration file: its JSON Schema for
// an editor, and a check that finds what a start would find. Neither opens a port or asks
// an upstream.

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
	if _, code, ok := p.load(new(config.Loader), args); !ok {
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
	f, code := p.checked("config check", args)
	if code == exitOK && f.Path != "" {
		fmt.Fprintln(p.stdout, "ok")
	}
	return code
}

// checked reads all that a start reads and prints the faults. command is named in the message
// where there is no file. args may begin with the file's name. Where help was asked for the
// file has no path, and the code is exitOK.
//
// Faults go to stdout, as they are what was asked for; warnings and misuse go to stderr.
func (p program) checked(command string, args []string) (f settings.File, code int) {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		if _, err := p.readFile(args[0]); err != nil { // a fault of the setting has no name of a file
			fmt.Fprintf(p.stdout, "%s: %s\n", args[0], config.Unreadable(err))
			return f, exitUsage
		}
		args = append([]string{"--config"}, args...)
	}
	l := settings.LoaderWith(&f)
	cfg, err := p.read(l, args)
	p.warn(cfg)
	if faults, ok := errors.AsType[*config.Error](err); ok {
		fmt.Fprintln(p.stdout, faults.Error())
		return f, exitUsage
	}
	if err != nil {
		p.help(p.stdout, l)
		return settings.File{}, exitOK
	}
	if f.Path == "" {
		fmt.Fprintf(p.stderr, "sluice %s: name the file, or set SLUICE_CONFIG\n", command)
		return f, exitUsage
	}
	return f, exitOK
}
