// This file is the command keys: it makes, lists, disables and replaces the API keys of a key
// file. A gateway that runs sees a change within seconds. A key is shown once, and the file has
// its hash alone.

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"sluice/internal/base/config"
	"sluice/internal/clients/terminal"
	"sluice/internal/edge/access/keys"
)

// keyFile is the flag that names the key file, and the variable in its place.
type keyFile struct {
	flag   *string
	lookup func(string) (string, bool)
}

// newKeyFile adds the flag. unneeded, unless nil, says that the command does without a file.
func (p program) newKeyFile(l *config.Loader, unneeded *bool) keyFile {
	f := keyFile{l.String("file", "", "the key file; or SLUICE_API_KEYS"), p.lookup}
	l.Check = func(fault func(name, message string)) {
		if f.path() == "" && (unneeded == nil || !*unneeded) {
			fault("--file", "is required: the key file, unless SLUICE_API_KEYS names it")
		}
	}
	return f
}

func (f keyFile) path() string {
	if *f.flag != "" {
		return *f.flag
	}
	path, _ := f.lookup("SLUICE_API_KEYS")
	return strings.TrimSpace(path)
}

// keysAdd makes a key. With --print no file is changed: stdout gets the entry and stderr the
// key, for files that something else writes.
func (p program) keysAdd(args []string) int {
	l := new(config.Loader)
	user := l.String("user", "", "who the key belongs to; required")
	tenant := l.String("tenant", "", "the tenant of the user")
	scopes := l.String("scopes", "", "what the key allows, with commas between; chat unless given")
	limits := l.String("limits", "", "a class of limits of the configuration file")
	expires := l.Duration("expires", 0, "how long the key lives, such as 90d; 0: until it is revoked")
	note := l.String("note", "", "what the key is for")
	onlyPrint := l.Bool("print", "change no file: print the entry on stdout, and the key on stderr")
	file := p.newKeyFile(l, onlyPrint)
	if _, code, ok := p.loadConfig(l, args); !ok {
		return code
	}
	given := keys.Entry{User: *user, Tenant: *tenant, Limits: *limits, NoteText: *note}
	if *scopes != "" {
		given.Scopes = strings.FieldsFunc(*scopes, func(c rune) bool { return c == ',' || c == ' ' })
	}
	if *expires > 0 {
		given.Expires = keys.Moment(time.Now().Add(*expires))
	}
	if *onlyPrint {
		e, key, err := keys.New(given)
		if err != nil {
			return p.refuseStart(asFlags(err))
		}
		fmt.Fprint(p.stdout, e.Line())
		fmt.Fprintln(p.stderr, key)
		return exitOK
	}
	e, key, err := keys.Add(file.path(), given)
	return p.showKey(e, key, err)
}

// showKey prints a key that was made, once and for all.
func (p program) showKey(e keys.Entry, key string, err error) int {
	if err != nil {
		return p.refuseStart(asFlags(err))
	}
	fmt.Fprintln(p.stdout, key)
	fmt.Fprintf(p.stderr, "This is the key with the id %s, for %s. It is not shown again: the file has its hash alone.\n", e.ID, terminal.Printable(e.User))
	return exitOK
}

// asFlags returns an error that names the flags in place of an entry's fields.
func asFlags(err error) error {
	faults, ok := errors.AsType[*config.Error](err)
	if !ok {
		return err
	}
	named := &config.Error{}
	for _, f := range faults.Faults {
		if slices.Contains([]string{"user", "tenant", "scopes", "limits", "note"}, f.Name) {
			f.Name = "--" + f.Name
		}
		named.Faults = append(named.Faults, f)
	}
	return named
}

// keysList shows the keys of a file, one a line.
func (p program) keysList(args []string) int {
	l := new(config.Loader)
	file := p.newKeyFile(l, nil)
	if _, code, ok := p.loadConfig(l, args); !ok {
		return code
	}
	entries, err := keys.List(file.path())
	if err != nil {
		return p.refuseStart(err)
	}
	w := tabwriter.NewWriter(p.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprint(w, "ID\tSTATE\tUSER\tTENANT\tSCOPES\tLIMITS\tCREATED\tEXPIRES\tNOTE\n")
	for _, e := range entries {
		scopes := "chat"
		if e.Scopes != nil {
			scopes = strings.Join(e.Scopes, ",")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, stateOf(e), terminal.Printable(e.User), orDash(e.Tenant), orDash(scopes), orDash(e.Limits),
			formatDay(e.Created), formatDay(e.Expires), orDash(terminal.Printable(e.NoteText)))
	}
	w.Flush()
	return exitOK
}

// stateOf says whether a key counts.
func stateOf(e keys.Entry) string {
	switch expires := time.Time(e.Expires); {
	case e.Disabled:
		return "revoked"
	case !expires.IsZero() && !time.Now().Before(expires):
		return "expired"
	}
	return "good"
}

func formatDay(m keys.Moment) string {
	if m.IsZero() {
		return "-"
	}
	return time.Time(m).UTC().Format("2006-01-02 15:04")
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// keysRevoke disables a key.
func (p program) keysRevoke(args []string) int {
	l := new(config.Loader)
	l.MaxArgs = 1
	file := p.newKeyFile(l, nil)
	if _, code, ok := p.loadConfig(l, args); !ok {
		return code
	}
	if len(l.Args()) == 0 {
		fmt.Fprintln(p.stderr, "sluice keys revoke: name the key by its id, which stands between the underscores of it and in sluice keys list")
		return exitUsage
	}
	e, err := keys.Revoke(file.path(), l.Args()[0])
	if err != nil {
		return p.refuseStart(err)
	}
	fmt.Fprintf(p.stdout, "%s of %s is revoked\n", e.ID, terminal.Printable(e.User))
	return exitOK
}

// keysRotate makes a key in place of another one. The other key still counts for a while.
func (p program) keysRotate(args []string) int {
	l := new(config.Loader)
	l.MaxArgs = 1
	grace := l.Duration("grace", 24*time.Hour, "how long the key before it goes on to count; 0: not at all")
	file := p.newKeyFile(l, nil)
	if _, code, ok := p.loadConfig(l, args); !ok {
		return code
	}
	if len(l.Args()) == 0 {
		fmt.Fprintln(p.stderr, "sluice keys rotate: name the key by its id, which stands between the underscores of it and in sluice keys list")
		return exitUsage
	}
	e, key, err := keys.Rotate(file.path(), l.Args()[0], *grace)
	return p.showKey(e, key, err)
}
