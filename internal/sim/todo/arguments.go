package todo

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
)

// Limits on what a todo may hold. Lengths are in characters (code points).
const (
	maxTitle       = 500
	maxDescription = 5000
	maxTag         = 50
	maxTags        = 20
)

// refusal is an error that a model can mend: its text says how. It holds nothing
// that the caller did not send.
type refusal string

// It is reported to the model as the tool's result.
func (r refusal) Error() string { return string(r) }

// arguments reads the arguments of one call and collects what is wrong with them,
// so that a model learns everything at once. A null counts as not given.
type arguments struct {
	owner  owner // whose list the call is about
	values map[string]any
	faults []string
}

// readArguments returns the call's arguments; names that the tool does not
// declare, and values that are missing, are faults.
func readArguments(tool mcp.Tool, params mcp.CallToolParams) *arguments {
	values, ok := params.Arguments.(map[string]any)
	a := &arguments{owner: ownerOf(params.Meta), values: values}
	if !ok && params.Arguments != nil {
		a.fault("the arguments must be a JSON object")
		return a
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, declared := tool.InputSchema.Properties[name]; !declared {
			a.fault("unknown argument %s, %s takes %s", quote(name), tool.Name, strings.Join(tool.InputSchema.PropertyOrder, ", "))
		}
	}
	for _, name := range tool.InputSchema.Required {
		if a.values[name] == nil {
			a.fault("%s is required", name)
		}
	}
	return a
}

// fault notes what is wrong with an argument; err returns all of it.
func (a *arguments) fault(format string, args ...any) {
	a.faults = append(a.faults, fmt.Sprintf(format, args...))
}

// err returns all faults as one refusal, or nil.
func (a *arguments) err() error {
	if len(a.faults) == 0 {
		return nil
	}
	return refusal(strings.Join(a.faults, "; "))
}

// argument returns the value of name as a T, and whether it was given. kind names
// T for the model.
func argument[T any](a *arguments, name, kind string) (T, bool) {
	value, ok := a.values[name].(T)
	if !ok && a.values[name] != nil {
		a.fault("%s must be %s", name, kind)
	}
	return value, ok
}

// text returns the string name, of at most longest characters, or nil.
func (a *arguments) text(name string, longest int) *string {
	text, ok := argument[string](a, name, "a string")
	if !ok {
		return nil
	}
	if n := utf8.RuneCountInString(text); n > longest {
		a.fault("%s has %d characters, at most %d are allowed", name, n, longest)
	}
	return &text
}

// title returns the title without white space around it.
func (a *arguments) title() *string {
	text, ok := argument[string](a, "title", "a string")
	if !ok {
		return nil
	}
	text = strings.TrimSpace(text)
	switch n := utf8.RuneCountInString(text); {
	case n == 0:
		a.fault("title must not be empty")
	case n > maxTitle:
		a.fault("title has %d characters, at most %d are allowed", n, maxTitle)
	}
	return &text
}

// choice returns the string name, which must be one of allowed, or nil.
func (a *arguments) choice(name string, allowed ...string) *string {
	text, ok := argument[string](a, name, "a string")
	if !ok {
		return nil
	}
	if !slices.Contains(allowed, text) {
		a.fault("%s must be one of %s, not %s", name, strings.Join(allowed, ", "), quote(text))
	}
	return &text
}

// due returns due_date, or nil.
func (a *arguments) due() *due {
	text, ok := argument[string](a, "due_date", "a string")
	if !ok {
		return nil
	}
	d, err := parseDue(text)
	if err != nil {
		a.fault("due_date %v", err)
	}
	return &d
}

// tags returns tags in lower case, without white space or # around them, each
// once, in the order given; or nil.
func (a *arguments) tags() *[]string {
	const kind = `a list of strings, for example ["work"]`
	list, ok := argument[[]any](a, "tags", kind)
	if !ok {
		return nil
	}
	tags := []string{}
	for _, value := range list {
		text, ok := value.(string)
		if !ok {
			a.fault("tags must be %s", kind)
			return nil
		}
		tag := strings.ToLower(strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(text), "#")))
		if utf8.RuneCountInString(tag) > maxTag {
			a.fault("tag %s is longer than %d characters", quote(tag), maxTag)
		}
		if tag != "" && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	if len(tags) > maxTags {
		a.fault("there are %d tags, at most %d are allowed", len(tags), maxTags)
	}
	return &tags
}

// integer returns the whole number name from least to most, or the fallback.
func (a *arguments) integer(name string, least, most, fallback int) int {
	number, ok := argument[float64](a, name, "a whole number")
	if !ok {
		return fallback
	}
	if number != math.Trunc(number) || number < float64(least) || number > float64(most) {
		a.fault("%s must be a whole number from %d to %d", name, least, most)
		return fallback
	}
	return int(number)
}

// quote returns text in quotation marks, cut where it gets long.
func quote(text string) string {
	const longest = 60
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "…"
	}
	return strconv.Quote(text)
}
