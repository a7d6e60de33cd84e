package file

import "strings"

// notYAML is the fault of a text for which no better reason is known.
const notYAML = "is not valid YAML"

// reasons translates the parser's errors (goccy/go-yaml 1.19, scanner and parser). Each has a part
// of the parser's message and the change that the author must make. The first that fits counts. The
// parser's own words may repeat a value, ours never do.
var reasons = []struct{ part, says string }{
	{"character '\t'", "a tab stands here, and YAML is indented with spaces alone"},
	{"tab character", "a tab stands here, and YAML is indented with spaces alone"},
	{"end character of double-quoted text", "the quote that opens here is not closed"},
	{"end character of single-quoted text", "the quote that opens here is not closed"},
	{"',' or '}' must be specified", "a comma or } is missing before this: an object that { opens is not closed"},
	{"',' or ']' must be specified", "a comma or ] is missing before this: a list that [ opens is not closed"},
	{"flow mapping end token", "the { that opens here is not closed"},
	{"sequence end token", "the [ that opens here is not closed"},
	{"could not find '[' character", "this ] closes nothing"},
	{"could not find '{' character", "this } closes nothing"},
	{"could not find flow map content", "a key within { } needs a colon, a blank and a value"},
	{"expected sequence element", "a comma stands where an element of the list is missing"},
	{"unexpected scalar value type", "a comma stands where an element is missing"},
	{"map key definition includes an implicit line break", "a key must stand on one line"},
	{"mapping value is not allowed", "a key cannot stand in a value: quote a text that holds a colon and a blank, or indent the key like its neighbors"},
	{"value is not allowed in this context", "does not belong here: indent it like a line above, and look for a bracket or colon too many before it"},
	{"unexpected key name", "does not belong here: a colon and a blank are missing after a key, or it is indented unlike its neighbors"},
	{"non-map value is specified", "a key needs a colon, a blank and a value: a text alone stands among keys"},
	{"block sequence entries are not allowed", "a list that - begins needs a line of its own below its key"},
	{"reserved character", "begins with a character that YAML reserves: quote the text"},
	{"unexpected directive value", "begins with %, which YAML reserves: quote the text"},
	{"unknown escape character", "holds an escape that YAML does not know: write \\\\ for a backslash, or use single quotes"},
	{"invalid header option", "after | or > only a digit, + or - may stand, and the text begins on the next line"},
	{"anchor", "an anchor (&name) or alias (*name) stands where none may: quote a text that begins with & or *"},
	{"alias", "an anchor (&name) or alias (*name) stands where none may: quote a text that begins with & or *"},
}

// reasonOf returns the fault in the words of reasons.
func reasonOf(message string) string {
	for _, r := range reasons {
		if strings.Contains(message, r.part) {
			return notYAML + ": " + r.says
		}
	}
	return notYAML
}
