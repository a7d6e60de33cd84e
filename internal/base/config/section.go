package config

import "strings"

// Section is a named group of settings. A package that can be set from outside has
// a function that registers its section once: variables, defaults, accepted values
// and words. Flags, environment, help and the table of docs/variables.md come from there.
type Section struct {
	// Name is one lower-case word, unique in a Table.
	Name     string
	Settings []Setting
}

// Table is all that can be set, in the order of the help and of docs/variables.md.
type Table []Section

// Setting is one thing that can be set. The functions of this package make one for
// a type of value; Func makes those that only one package knows.
type Setting struct {
	// Variable is the environment variable. It is empty for a command's own flag.
	Variable string
	// Default is read like any given value. Empty: the field stays as it is.
	Default string
	// Values describes the accepted values in a few words.
	Values string
	// Meaning is one line. It may hold code in backticks and links, as in Markdown,
	// which Usage leaves out.
	Meaning string
	// DefaultText stands in place of Default wherever people read.
	DefaultText string

	flag     string
	isBool   bool
	repeated bool // each value of a flag counts, not the last one alone
	secret   bool // not taken from the command line
	orFile   bool // of <NAME>_FILE, too

	// parse stores a value that is not empty. Its error must not repeat the value.
	parse func(value string) error
	// then, unless nil, runs when all settings have their values.
	then func(*reader)
	// last, unless nil, runs when all that then does is done.
	last func(*reader)

	// second is a variable that counts if the first one has no value.
	second      string
	parseSecond func(value string) error
}

// As has people read shown in place of the default.
func (s Setting) As(shown string) Setting {
	s.DefaultText = shown
	return s
}

// Finally runs settle when all settings have their values: what depends on another
// setting is decided there. fault lists a fault of the setting.
func (s Setting) Finally(settle func(fault func(message string))) Setting {
	s.last = func(r *reader) { settle(func(message string) { r.addFault(s.faultName(), message) }) }
	return s
}

// Or reads the variable second, with parse, if the setting's own variable is empty. Each value
// counts as one of the setting's.
func (s Setting) Or(second string, parse func(value string) error) Setting {
	s.second, s.parseSecond = second, parse
	return s
}

// Hidden takes the setting from the environment alone, or as OrFile: on a command line others
// on the machine would see it.
func (s Setting) Hidden() Setting {
	s.secret = true
	return s.OrFile()
}

// Parse reads one value as the setting does, for values that come from a document of another form.
func (s Setting) Parse(value string) error { return s.parse(value) }

// faultName returns the name for a fault of s.
func (s Setting) faultName() string {
	if s.Variable == "" {
		return "--" + s.flag
	}
	return s.Variable
}

// flagName returns the flag that wins over a variable: SLUICE_ADDR → addr,
// GEMINI_MODEL → gemini-model.
func flagName(variable string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(variable, "SLUICE_")), "_", "-")
}

// allSettings returns the settings of all sections, with their flags.
func (t Table) allSettings() []Setting {
	var all []Setting
	for _, section := range t {
		for _, s := range section.Settings {
			s.flag = flagName(s.Variable)
			all = append(all, s)
		}
	}
	return all
}
