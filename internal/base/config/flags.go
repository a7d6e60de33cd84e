package config

import (
	"flag"
	"strings"
)

// commandLine holds the arguments before their values are checked.
type commandLine struct {
	flags map[string][]string // by name without dashes, in the order given
	args  []operand
	// strange is true if there is a flag that nobody knows: an argument may be its value.
	strange bool
}

// operand is an argument that is not a flag, with its place, counted from 1.
type operand struct {
	text string
	at   int
}

// parseArgs takes the command line apart. Package flag stops at the first fault and
// repeats its value; here all faults are listed, and no value is. The only error
// is flag.ErrHelp.
func (r *reader) parseArgs(args []string, settings []Setting) (commandLine, error) {
	line := commandLine{flags: make(map[string][]string)}
	onlyArgs := false
	for i := 0; i < len(args); i++ {
		name, isFlag := cutDashes(args[i])
		switch {
		case onlyArgs || !isFlag:
			line.args = append(line.args, operand{args[i], i + 1})
		case args[i] == "--":
			onlyArgs = true
		case name == "h" || name == "help":
			return line, flag.ErrHelp
		default:
			i += r.readFlag(&line, settings, name, args, i)
		}
	}
	return line, nil
}

// cutDashes returns the text behind the dashes of a flag: two or, like package flag, one. A single
// dash is not a flag.
func cutDashes(arg string) (rest string, isFlag bool) {
	if len(arg) < 2 || arg[0] != '-' {
		return "", false
	}
	return strings.TrimPrefix(arg[1:], "-"), true
}

// readFlag puts the flag at args[i] into line and returns how many further
// arguments it used up.
func (r *reader) readFlag(line *commandLine, settings []Setting, rest string, args []string, i int) (used int) {
	name, value, hasValue := strings.Cut(rest, "=")
	s, known := findSetting(settings, name)
	if !known {
		line.strange = true
		r.unknownFlag(name, i+1, settings)
		return 0
	}
	if s.isBool && !hasValue {
		value, hasValue = "true", true
	}
	if !hasValue && i+1 < len(args) {
		value, hasValue, used = args[i+1], true, 1
	}
	switch {
	case s.secret:
		r.addFault(s.faultName(), "is not taken from the command line, because others on this machine can see it; set the variable")
	case !hasValue:
		r.addFault(s.faultName(), "--"+name+" needs a value")
	default:
		line.flags[name] = append(line.flags[name], value)
	}
	return used
}

// findSetting returns the setting of a flag; GOOGLE_API_KEY, the second name of a
// secret, counts as a flag that is refused.
func findSetting(settings []Setting, name string) (Setting, bool) {
	for _, s := range settings {
		if s.flag == name || s.secret && flagName(s.second) == name {
			return s, true
		}
	}
	return Setting{}, false
}

// isFlagLike accepts a-z, then up to 39 of a-z 0-9 -.
func isFlagLike(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	return name != "" && len(name) <= 40 && strings.IndexByte(letters, name[0]) >= 0 && strings.Trim(name, letters+"0123456789-") == ""
}

// unknownFlag reports a flag that does not exist. It repeats only a name that looks like a flag,
// because any text may follow a dash.
func (r *reader) unknownFlag(name string, at int, settings []Setting) {
	if !isFlagLike(name) {
		r.addFault(argumentName(at), "there is no such flag")
		return
	}
	var known []string
	for _, s := range settings {
		if !s.secret {
			known = append(known, "--"+s.flag)
		}
	}
	message := "there is no such flag"
	if best, ok := Nearest("--"+name, known); ok {
		message += "; did you mean " + best + "?"
	}
	r.addFault("--"+name, message)
}
