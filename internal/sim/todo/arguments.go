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

// Limits on the fields of a todo. Lengths are in characters (code points).
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

// arguments reads the arguments of one call and collects all their faults, so that a model learns
// everything at once. A null counts as not given.
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
		a.addFault("the arguments must be a JSON object")
		return a
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, declared := tool.InputSchema.Properties[name]; !declared {
			a.addFault("unknown argument %s, %s takes %s", quoteShort(name), tool.Name, strings.Join(tool.InputSchema.PropertyOrder, ", "))
		}
	}
	for _, name := range tool.InputSchema.Required {
		if a.values[name] == nil {
			a.addFault("%s is required", name)
		}
	}
	return a
}

// addFault adds a fault of an argument; err returns all of them.
func (a *arguments) addFault(format string, args ...any) {
	a.faults = append(a.faults, fmt.Sprintf(format, args...))
}

// err returns all faults as one refusal, or nil.
func (a *arguments) err() error {
	if len(a.faults) == 0 {
		return nil
	}
	return refusal(strings.Join(a.faults, "; "))
}

// argumentAs returns the value of name as a T, and whether it was given. kind names
// T for the model.
func argumentAs[T any](a *arguments, name, kind string) (T, bool) {
	value, ok := a.values[name].(T)
	if !ok && a.values[name] != nil {
		a.addFault("%s must be %s", name, kind)
	}
	return value, ok
}

// text returns the string name, of at most longest characters, or nil.
func (a *arguments) text(name string, longest int) *string {
	text, ok := argumentAs[string](a, name, "a string")
	if !ok {
		return nil
	}
	if n := utf8.RuneCountInString(text); n > longest {
		a.addFault("%s has %d characters, at most %d are allowed", name, n, longest)
	}
	return &text
}

// titleText returns the title without white space around it.
func (a *arguments) titleText() *string {
	text, ok := argumentAs[string](a, "title", "a string")
	if !ok {
		return nil
	}
	text = strings.TrimSpace(text)
	switch n := utf8.RuneCountInString(text); {
	case n == 0:
		a.addFault("title must not be empty")
	case n > maxTitle:
		a.addFault("title has %d characters, at most %d are allowed", n, maxTitle)
	}
	return &text
}

// choiceOf returns the string name, or nil. The string must be one of allowed.
func (a *arguments) choiceOf(name string, allowed ...string) *string {
	text, ok := argumentAs[string](a, name, "a string")
	if !ok {
		return nil
	}
	if !slices.Contains(allowed, text) {
		a.addFault("%s must be one of %s, not %s", name, strings.Join(allowed, ", "), quoteShort(text))
	}
	return &text
}

// dueDate returns due_date, or nil.
func (a *arguments) dueDate() *due {
	text, ok := argumentAs[string](a, "due_date", "a string")
	if !ok {
		return nil
	}
	d, err := parseDue(text)
	if err != nil {
		a.addFault("due_date %v", err)
	}
	return &d
}

// tagList returns tags in lower case, without white space or # around them, each
// once, in the order given; or nil.
func (a *arguments) tagList() *[]string {
	const kind = `a list of strings, for example ["work"]`
	list, ok := argumentAs[[]any](a, "tags", kind)
	if !ok {
		return nil
	}
	tags := []string{}
	for _, value := range list {
		text, ok := value.(string)
		if !ok {
			a.addFault("tags must be %s", kind)
			return nil
		}
		tag := strings.ToLower(strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(text), "#")))
		if utf8.RuneCountInString(tag) > maxTag {
			a.addFault("tag %s is longer than %d characters", quoteShort(tag), maxTag)
		}
		if tag != "" && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	if len(tags) > maxTags {
		a.addFault("there are %d tags, at most %d are allowed", len(tags), maxTags)
	}
	return &tags
}

// wholeNumber returns the whole number name from least to most, or the fallback.
func (a *arguments) wholeNumber(name string, least, most, fallback int) int {
	number, ok := argumentAs[float64](a, name, "a whole number")
	if !ok {
		return fallback
	}
	if number != math.Trunc(number) || number < float64(least) || number > float64(most) {
		a.addFault("%s must be a whole number from %d to %d", name, least, most)
		return fallback
	}
	return int(number)
}

// quoteShort returns text in quotation marks, cut where it gets long.
func quoteShort(text string) string {
	const longest = 60
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "…"
	}
	return strconv.Quote(text)
}
