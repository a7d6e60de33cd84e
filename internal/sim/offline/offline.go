// Package offline is the demo's model: rules that understand phrases about a todo list, and about
// the example's house, for a gateway without an API key. It sees the request of a language model,
// and replies with calls of the declared tools and with a text.
//
// All its knowledge comes with the request. The wish is in the last user message, and the meaning
// of "it" in the messages before. The declarations list the tools, and the function responses have
// the results of calls. The time is in a line in front of the message. So the same request always
// gets the same answer.
//
// Rules are tables of patterns, tried in order (phrases.go for todos, house.txt for the house);
// what none of them fits gets an honest answer. A pattern names the parts of a phrase that matter,
// and small readers make dates, priorities and tags of them (package english). It keeps no state: a
// turn that is repeated, or continued elsewhere, gets the same calls.
//
// Package roles has the requests that a gateway itself makes, not a visitor.
package offline

import (
	"slices"
	"strings"
	"time"

	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/offline/roles"
)

// Version is the name of the model.
const Version = "offline-demo"

// Model is a geminisim.Model. It is safe for concurrent use.
type Model struct {
	// Now returns the time for a request without a date line; nil is time.Now.
	Now func() time.Time
}

// Version implements geminisim.Model.
func (Model) Version() string { return Version }

// Roles returns the roles that the demo's model plays for structured output.
func Roles() []geminisim.Role { return roles.Structured() }

// Answer implements geminisim.Model.
func (m Model) Answer(q geminisim.Question) geminisim.Answer {
	if answer, ok := roles.Answer(q); ok {
		return answer
	}
	if m.Now == nil {
		m.Now = time.Now
	}
	t := readTurn(q, m.Now)
	if in := readTimesheet(t.text, q.Functions); in != nil {
		return in.nextAnswer(t)
	}
	if home, ok := readOrders(t.text, q.Functions); ok {
		if len(home.list) == 0 { // an answer to a question: the wish is before it
			home, _ = readOrders(t.questionedRequest(), q.Functions)
		}
		return home.nextAnswer(t)
	}
	return readIntent(t.text, t.now).nextAnswer(t)
}

// turn is a request as the rules see it.
type turn struct {
	text     string // the last message of the user
	now      time.Time
	declared []geminisim.Function
	mayCall  bool // false: the request forbids function calls
	outage   bool // the gateway says that tools are unavailable
	// before are the messages of earlier turns.
	before  []geminisim.Message
	results []result // of this turn, in order
}

// intent is the wish of a visitor. nextAnswer returns the answer for the current state of the turn.
// It is a pure function, so the complete state is in the request.
type intent interface {
	nextAnswer(t *turn) geminisim.Answer
}

// fixedReply is an intent without tools.
type fixedReply string

// nextAnswer says the text, without a call.
func (s fixedReply) nextAnswer(*turn) geminisim.Answer { return text(string(s)) }

// text is an answer without thoughts and calls.
func text(s string) geminisim.Answer { return geminisim.Answer{Text: s} }

// readTurn reads the request of a turn. Its time is that of the newest message; only without one is the clock
// asked, so that a test that sends a date always has the same answer.
func readTurn(q geminisim.Question, clock func() time.Time) *turn {
	t := &turn{declared: q.Functions, mayCall: q.MayCall, now: newestDate(&q)}
	if t.now.IsZero() {
		t.now = clock()
	}
	begin := roles.LastRequest(q.Messages)
	if begin < 0 {
		return t
	}
	t.outage = strings.Contains(q.Messages[begin].Text, "\nUnavailable tools: ")
	t.text, t.before = roles.OwnText(q.Messages[begin].Text), q.Messages[:begin]
	for _, m := range q.Messages[begin+1:] {
		for _, response := range m.Results {
			t.results = append(t.results, readResult(response, t.now.Location()))
		}
	}
	return t
}

// newestDate returns the time of the newest message of the user that has one, else that of the
// system instruction, else the zero time.
func newestDate(q *geminisim.Question) time.Time {
	for _, m := range slices.Backward(q.Messages) {
		if m.Model || len(m.Results) > 0 {
			continue
		}
		if now := readDateLine(m.Text); !now.IsZero() {
			return now
		}
	}
	return readDateLine(q.System)
}

// dateMark begins the line of the time in front of a message, which gives the model the visitor's
// time:
//
//	Now it is Saturday, 2026-11-21, 11:30 in the time zone Europe/Berlin (UTC+01:00).
//
// timeLine in package chat writes the line; the two must change together.
const dateMark = "\nNow it is "

// readDateLine returns the time of the last date line, or the zero time.
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

// answerUnavailable answers where the tools that are needed are not declared: their server is
// unavailable, or the gateway has other tools alone.
func (t *turn) answerUnavailable() geminisim.Answer {
	if len(t.declared) > 0 && !t.outage && t.declaredTool("list_todos") == nil && t.declaredTool("create_todo") == nil {
		return text(foreign)
	}
	return text(unavailable)
}

// resultsOf returns the results of the tool's calls.
func (t *turn) resultsOf(tool *tool) (results []result) {
	for _, r := range t.results {
		if tool != nil && r.tool == tool.name {
			results = append(results, r)
		}
	}
	return results
}

// allowedCalls returns the calls of a step, at most 8, because more would not all be executed. It
// returns nil if calls are forbidden.
func (t *turn) allowedCalls(plans []plan) (calls []geminisim.Call) {
	for i := 0; t.mayCall && i < min(8, len(plans)); i++ {
		calls = append(calls, plans[i].call())
	}
	return calls
}
