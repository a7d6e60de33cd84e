package offline

import (
	"cmp"
	_ "embed" // the phrases for a house
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/offline/english"
	"sluice/internal/sim/offline/roles"
)

// Phrases for the example's house. An agent sees the whole request and does the clauses that its
// own tools are for.

// order is one clause of a request: a call, and what to say when it has worked.
type order struct {
	plan   plan
	report string // empty: report the text of the tool
}

// orders is the intent of a request to a house.
type orders struct {
	list []order
}

// deed is a line of house.txt with the phrases below it.
type deed struct {
	tool, args, report string
	phrases            []string
}

//go:embed house.txt
var houseText string

// deeds are all that can be done in a house.
var deeds = sync.OnceValue(func() (all []deed) {
	for line := range strings.Lines(houseText) {
		line, phrase := strings.CutPrefix(strings.TrimRight(line, "\n"), "\t")
		switch {
		case phrase:
			last := &all[len(all)-1]
			last.phrases = append(last.phrases, line)
		case line != "" && line[0] != '#':
			tool, rest, _ := strings.Cut(line, " ")
			args, said, _ := strings.Cut(rest, "}")
			all = append(all, deed{tool: tool, args: args + "}", report: strings.TrimSpace(said)})
		}
	}
	return all
})

// readOrders returns the orders in a request for the declared tools of a house. ok is false if no
// such tool is declared.
func readOrders(text string, declared []geminisim.Function) (in orders, ok bool) {
	tools := map[string]*tool{}
	for _, d := range deeds() {
		if tools[d.tool] = findTool(declared, d.tool); tools[d.tool] != nil {
			ok = true
		}
	}
	for _, clause := range roles.Clauses(text) {
		if o, fits := readOrder(withoutPoliteness(english.Read(clause)), tools); fits && ok {
			in.list = append(in.list, o)
		}
	}
	return in, ok
}

// readOrder returns the first deed that a phrase asks for and a tool can do.
func readOrder(s *english.Sentence, tools map[string]*tool) (order, bool) {
	for _, d := range deeds() {
		for _, phrase := range d.phrases {
			f, fits := s.Match(phrase)
			if !fits || tools[d.tool] == nil {
				continue
			}
			if values := partsOf(f.Texts); d.isReadable(values) {
				return d.newOrder(plan{tool: tools[d.tool]}, values), true
			}
		}
	}
	return order{}, false
}

// isReadable reports whether each value that stands without quotes is a number, or on or off. "The
// lights to blue" names no brightness.
func (d deed) isReadable(values map[string]string) bool {
	for _, s := range slot.FindAllString(d.args, -1) {
		value := values[strings.Trim(s, `"<>`)]
		_, err := strconv.ParseFloat(strings.Trim(value, " %°C"), 64)
		if s[0] != '"' && err != nil && value != "on" && value != "off" {
			return false
		}
	}
	return true
}

// hottest is beyond what anybody wants in degrees Celsius: more is Fahrenheit.
const hottest = 45

// partsOf returns the parts of a phrase as they are repeated. The tool takes Celsius.
func partsOf(texts map[string]string) map[string]string {
	values := map[string]string{}
	for name, text := range texts {
		switch name {
		case "query": // a title keeps its capitals
			values[name] = text
		case "target":
			target := readNumber(text)
			if values[name] = writeNumber(target); target == 0 && !strings.Contains(text, "0") {
				values[name] = text // not a number
			}
			if target > hottest {
				values["celsius"] = writeNumber(math.Round((target-32)/1.8*2) / 2)
			}
		case "level":
			values[name] = strings.Trim(text, " %")
		default:
			values[name] = strings.ToLower(text)
		}
	}
	room := strings.TrimSpace(strings.TrimSuffix(values["room"], "'s"))
	values["room"] = cmp.Or(room, "living room") // for a house without one
	return values
}

// readNumber reads a number such as "30%". It returns 0 for another text.
func readNumber(s string) float64 {
	n, _ := strconv.ParseFloat(strings.Trim(s, " %°C"), 64)
	return n
}

// writeNumber writes a number as short as it goes.
func writeNumber(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }

var slot = regexp.MustCompile(`"?<(\w+)>"?`)

// newOrder is the deed with the values of a phrase.
func (d deed) newOrder(p plan, values map[string]string) order {
	args := slot.ReplaceAllStringFunc(d.args, func(s string) string {
		value := values[strings.Trim(s, `"<>`)]
		switch {
		case s[0] == '"':
			quoted, _ := jsontext.AppendQuote(nil, value)
			return string(quoted)
		case value == "on" || value == "off":
			return strconv.FormatBool(value == "on")
		}
		return writeNumber(readNumber(value))
	})
	dec := jsontext.NewDecoder(strings.NewReader(args), jsontext.AllowInvalidUTF8(true))
	_, _ = dec.ReadToken()
	for dec.PeekKind() == '"' {
		var name string
		var value jsontext.Value
		if json.UnmarshalDecode(dec, &name) != nil || json.UnmarshalDecode(dec, &value) != nil {
			break
		}
		p = p.withArgument(name, value)
	}
	said := slot.ReplaceAllStringFunc(d.report, func(s string) string { return values[strings.Trim(s, "<>")] })
	return order{p, said}
}

// nextAnswer calls the tools, then reports their results.
func (o orders) nextAnswer(t *turn) geminisim.Answer {
	if len(o.list) == 0 {
		return text("I'm the built-in offline demo model, and I don't know how to do that with what I can control here.")
	}
	if len(t.results) == 0 {
		var plans []plan
		for _, each := range o.list {
			plans = append(plans, each.plan)
		}
		if calls := t.allowedCalls(plans); calls != nil {
			return geminisim.Answer{Thoughts: []string{"The request is for my tools."}, Calls: calls}
		}
		return text("I was asked to answer without using any tools, so I changed nothing.")
	}
	return text(strings.Join(o.reportResults(t.results), " "))
}

// reportResults words the results of the tools.
func (o orders) reportResults(results []result) (said []string) {
	for i, r := range results[:min(len(results), len(o.list))] {
		switch {
		case r.fault != "":
			said = append(said, "That did not work: "+strings.TrimRight(r.fault, ".")+".")
		case o.list[i].report != "":
			said = append(said, o.list[i].report)
		default:
			said = append(said, "This is how it is: "+r.text)
		}
	}
	return said
}
