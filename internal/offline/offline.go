// Package offline is the demo's model: rules that understand phrases about a todo
// list, and about the example's house, for a gateway without an API key. It sees what a language model would see,
// and answers with calls of the declared tools and with a text.
//
// All that it knows comes with the request: what a visitor wants from the last user
// message, what "it" means from the messages before, which tools there are from the
// declarations, what became of a call from the function responses, and the time
// from the date line of the system instruction. So the same request always gets
// the same answer.
//
// Rules are tables of patterns, tried in order (phrases.go); what none of them
// fits gets an honest answer. A pattern names the parts of a phrase that
// matter, and small readers make dates, priorities and tags of them. There is
// no state: a turn that is asked again, or continued elsewhere, gets the same
// calls.
package offline

import (
	"slices"
	"strings"
	"time"

	"sluice/internal/geminisim"
)

// Version is the name of the model.
const Version = "offline-demo"

// Model is a geminisim.Model. It is safe for concurrent use.
type Model struct {
	// Now is the time where the system instruction has no date line. nil: time.Now.
	Now func() time.Time
}

// Version implements geminisim.Model.
func (Model) Version() string { return Version }

// Answer implements geminisim.Model.
func (m Model) Answer(q geminisim.Question) geminisim.Answer {
	if again, ok := rewritten(q); ok {
		return text(again)
	}
	if answer, ok := role(q); ok {
		return answer
	}
	t := readTurn(q, m.Now)
	if in := readTimesheet(t.text, q.Functions); in != nil {
		return in.next(t)
	}
	if home, ok := readOrders(t.text, q.Functions); ok {
		return home.next(t)
	}
	return readIntent(t.text, t.now).next(t)
}

// turn is what the rules see of a request.
type turn struct {
	text    string // the last message of the user
	now     time.Time
	tools   toolbox
	mayCall bool // false: the request forbids function calls
	// before are the messages of earlier turns.
	before  []geminisim.Message
	results []result // of this turn, in order
	last    []result // those of the last step
}

// intent is what a visitor wants. next returns the answer for the turn as far as
// it has come; it is a pure function, so the whole state is in the request.
type intent interface {
	next(t *turn) geminisim.Answer
}

// say is an intent that needs no tools.
type say string

func (s say) next(*turn) geminisim.Answer { return text(string(s)) }

func text(s string) geminisim.Answer { return geminisim.Answer{Text: s} }

func readTurn(q geminisim.Question, clock func() time.Time) *turn {
	t := &turn{tools: readToolbox(q.Functions), mayCall: q.MayCall, now: readDateLine(q.System)}
	if t.now.IsZero() && clock == nil {
		clock = time.Now
	}
	if t.now.IsZero() {
		t.now = clock()
	}
	begin := len(q.Messages) - 1
	for begin >= 0 && (q.Messages[begin].Model || len(q.Messages[begin].Results) > 0) {
		begin--
	}
	if begin < 0 {
		return t
	}
	t.text, t.before = q.Messages[begin].Text, q.Messages[:begin]
	for i := begin + 1; i < len(q.Messages); i++ {
		if results := t.readResults(q.Messages, i); len(results) > 0 {
			t.last = results
			t.results = append(t.results, results...)
		}
	}
	return t
}

// readResults reads the function responses of messages[i], whose calls are in the
// message before it, in the same order.
func (t *turn) readResults(messages []geminisim.Message, i int) (results []result) {
	for k, response := range messages[i].Results {
		r := result{tool: response.Name}
		if i > 0 && k < len(messages[i-1].Calls) {
			r.query = strings.Contains(string(messages[i-1].Calls[k].Args), `"query":`)
		}
		r.read(response.Response, t.now.Location())
		results = append(results, r)
	}
	return results
}

// dateMark begins the date line of the system instruction, which tells the model
// the visitor's time:
//
//	Now it is Saturday, 2026-11-21, 11:30 in the time zone Europe/Berlin (UTC+01:00).
//
// dateLine in package agent writes the line; the two must change together.
const dateMark = "\nNow it is "

// readDateLine returns the time of the last date line; zero: there is none.
func readDateLine(system string) time.Time {
	system = "\n" + system
	i := strings.LastIndex(system, dateMark)
	if i < 0 {
		return time.Time{}
	}
	line, _, _ := strings.Cut(system[i+len(dateMark):], "\n")
	f := strings.Fields(line) // weekday, date, time, "in the time zone", name, offset
	if len(f) < 9 {
		return time.Time{}
	}
	now, err := time.Parse("2006-01-02, 15:04 (UTC-07:00).", f[1]+" "+f[2]+" "+f[8])
	if err != nil {
		return time.Time{}
	}
	_, seconds := now.Zone()
	return now.In(time.FixedZone(f[7], seconds))
}

// of returns the results of the tool's calls.
func (t *turn) of(tool *tool) (results []result) {
	for _, r := range t.results {
		if tool != nil && r.tool == tool.name {
			results = append(results, r)
		}
	}
	return results
}

// step returns the calls of the next step, at most 8, as more would not all be
// executed. done is how many were made before. A step in which every call failed
// ends the work: the rest would fail as well.
func (t *turn) step(plans []plan, done int) (calls []geminisim.Call) {
	if !t.mayCall || done > 0 && !slices.ContainsFunc(t.last, func(r result) bool { return r.fault == "" }) {
		return nil
	}
	for i := done; i < min(done+8, len(plans)); i++ {
		calls = append(calls, plans[i].call())
	}
	return calls
}

// Roles returns what the demo's model knows of structured output.
func Roles() []geminisim.Role { return []geminisim.Role{Route, Plan, Judge, Critic} }
