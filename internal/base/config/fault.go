package config

import (
	"slices"
	"strings"
)

// Fault is one thing that is wrong.
type Fault struct {
	// Name is the name of the variable, or of the flag if it has no variable.
	Name string
	// Message is one line. It never repeats the rejected value, which may be a misplaced secret.
	Message string
}

// Error lists all faults of one Load.
type Error struct{ Faults []Fault }

// OfFlags reports whether all faults are those of a command line.
func (e *Error) OfFlags() bool {
	return !slices.ContainsFunc(e.Faults, func(f Fault) bool {
		return !strings.HasPrefix(f.Name, "--") && !strings.HasPrefix(f.Name, "argument ")
	})
}

// Error returns one line for each fault.
func (e *Error) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.Name + ": " + f.Message
	}
	return strings.Join(lines, "\n")
}
