package chat

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sluice/internal/turn/tool"
)

// ClientTool is a tool that the client runs: its call ends the turn, and the client's next
// request brings the result.
type ClientTool struct {
	tool.Spec
	// At is the JSON pointer of its name in the request, for the fault of a name that is taken.
	At string
}

// ToolChoice names the tool that the first model call of a turn must call. The zero value leaves it
// to the model.
type ToolChoice struct {
	// Must is true if the model must call a tool: Name, or if that is empty, whichever it wants.
	Must bool
	Name string
}

// Application holds the additions of the client's own program, which speaks to the gateway for its
// user. The zero value adds nothing.
type Application struct {
	// Instructions are for each agent that answers. They stand below the operator's, which they
	// never override. Router, planner, judge, critic and delegates do not see them.
	Instructions string
	// MaxTokens bounds the visible part of each model call; 0: the configuration does.
	MaxTokens int
	// Stop lists strings; the answer ends before the first of them. nil if no string ends it.
	Stop []string
	// Tools are those that the client runs, for a turn that one agent answers from the start.
	Tools  []ClientTool
	Choice ToolChoice
	// Continues holds the messages behind the input if the client answers calls of its tools. They
	// are the calls and results of an agent's steps.
	Continues []Message
	// Ignored names members of the request that count for nothing here, as the reply says.
	Ignored []string
	// Called is given the model's message whose calls end the turn, as its model wants it back:
	// with signatures. It has only the client's calls, under the ids that the client gets. nil if
	// nobody stores the message.
	Called func(Message) `json:"-"`
}

// Restore puts a message that Called has got into Continues. It replaces the client's version of
// the message if both have the same calls.
func (a *Application) Restore(made Message) {
	for i := range a.Continues {
		m := &a.Continues[i]
		if m.Role != RoleModel || !sameCalls(m.Parts, made.Parts) {
			continue
		}
		parts := slices.Clone(made.Parts)
		for k := range parts {
			if c := parts[k].Call; c != nil {
				own := portableCall(*c)
				parts[k].Call = &own
			}
		}
		m.Parts, m.Maker = parts, made.Maker
	}
}

// sameCalls reports whether two messages have the same calls. A client's version does not have the
// ids that the gateway made.
func sameCalls(said, made []Part) bool {
	said, made = callsOf(said), callsOf(made)
	return len(said) > 0 && slices.EqualFunc(said, made, func(a, b Part) bool {
		own := portableCall(*b.Call)
		return a.Call.ID == own.ID && a.Call.Name == own.Name
	})
}

// NameTaken is the fault of a client's tool that has the name of one of the gateway's.
func NameTaken() *FieldError {
	return &FieldError{Code: CodeNameTaken, Message: "is the name of a tool that the gateway has itself"}
}

// ClientMessage is one message of a conversation as a client reports it, independent of any
// protocol.
type ClientMessage struct {
	Speaker Speaker
	Text    string
	// Calls are those of an assistant's message.
	Calls []tool.Call
	// Result answers a call, by its id; of a message of SpeakerTool. Its name is the call's.
	Result tool.Result
	// Served says of a message of SpeakerTool that the gateway ran the call: the client brings
	// nothing new with it.
	Served bool
	// At is the JSON pointer of the message.
	At string
}

// Speaker is the sender of a message.
type Speaker int

// Speakers.
const (
	SpeakerUser Speaker = iota
	SpeakerAssistant
	SpeakerApplication // system, developer
	SpeakerTool
)

// Conversation is the result of Gather.
type Conversation struct {
	Earlier      []HistoryMessage // oldest first
	Input        string
	Instructions string
	// Continues is as in Application.
	Continues []Message
}

// MaxMessages is the largest number of messages in a request.
const MaxMessages = maxHistoryMessages

// Limits of an application's texts, in code points.
const (
	maxInstructions = 64_000
	DefaultLine     = 32_000 // of an input without a setting
)

// Gatherer makes a turn of a client's messages.
type Gatherer struct {
	// Root is the JSON pointer of the messages.
	Root string
	// Counted is true if the protocol has counted its messages. One of them may be several messages
	// here.
	Counted bool
	// MaxInput bounds the input in code points; 0: DefaultLine.
	MaxInput int
}

// Gather sorts the messages into earlier ones, the input, the application's instructions, and calls
// that the client has answered. Faults go to e. It is a pure function, linear in the length of its
// input, and does not change it.
//
// The last message must be the user's: it is the input. Or the messages behind the user's last
// one end with results that the client brings, and each call among them has its result. Results
// are data: the tools that the request offers do not matter.
func (g Gatherer) Gather(lines []ClientMessage, e *ValidationError) (c Conversation) {
	if len(lines) > MaxMessages && !g.Counted {
		e.Add(g.Root, &FieldError{Code: CodeTooLong, Message: "must have at most 1000 messages"})
		return c
	}
	said, asked, instructions := splitMessages(lines)
	c.Instructions = g.joinInstructions(instructions, e)
	if asked < 0 {
		g.addNoInput(e)
		return c
	}
	c.Input = g.readInput(&said[asked], e)
	c.Earlier = historyBefore(said[:asked])
	if behind := said[asked+1:]; len(behind) > 0 {
		c.Continues = g.readSteps(behind, e)
	}
	return c
}

// splitMessages returns the messages of the conversation, the index of the user's last message or
// -1, and separately the application's instructions.
func splitMessages(lines []ClientMessage) (said []ClientMessage, asked int, instructions []string) {
	said, asked = make([]ClientMessage, 0, len(lines)), -1
	for _, l := range lines {
		switch {
		case l.Speaker == SpeakerApplication:
			if text := stripControl(l.Text); !isBlank(text) {
				instructions = append(instructions, text)
			}
			continue
		case l.Speaker == SpeakerUser:
			asked = len(said)
		case l.isEmptyAnswer():
			continue
		}
		said = append(said, l)
	}
	return said, asked, instructions
}

// isEmptyAnswer reports whether it is a client's place for an answer that never came.
func (l *ClientMessage) isEmptyAnswer() bool {
	return l.Speaker == SpeakerAssistant && len(l.Calls) == 0 && isBlank(stripControl(l.Text))
}

// addNoInput adds the fault of a request without an input.
func (g *Gatherer) addNoInput(e *ValidationError) {
	e.Add(g.Root, &FieldError{Code: CodeRequired, Message: "must end with a message of the user, or with the results of all calls of the client's tools"})
}

// joinInstructions joins the application's instructions.
func (g *Gatherer) joinInstructions(texts []string, e *ValidationError) string {
	text := strings.Join(texts, "\n\n")
	if utf8.RuneCountInString(text) > maxInstructions {
		e.Add(g.Root, &FieldError{Code: CodeTooLong, Message: "must have at most 64000 characters of instructions"})
	}
	return text
}

// readInput reads the user's message that is answered.
func (g *Gatherer) readInput(l *ClientMessage, e *ValidationError) string {
	most := g.MaxInput
	if most == 0 {
		most = DefaultLine
	}
	text := stripControl(l.Text)
	switch {
	case isBlank(text):
		e.Add(l.At, &FieldError{Code: CodeBlank, Message: "must hold more than white space"})
	case isLonger(text, most):
		e.Add(l.At, &FieldError{Code: CodeTooLong, Message: "must have at most " + strconv.Itoa(most) + " characters"})
	}
	return text
}

// historyBefore returns the history in front of the input. A call or a result alone is left out.
func historyBefore(lines []ClientMessage) (said []HistoryMessage) {
	results, _ := pairResults(lines)
	for i := range lines {
		switch l := &lines[i]; l.Speaker {
		case SpeakerUser:
			said = append(said, HistoryMessage{Role: RoleUser, Text: l.Text})
		case SpeakerAssistant:
			s := HistoryMessage{Role: RoleModel, Text: l.Text}
			for n, c := range l.Calls {
				if r := results[callAt{i, n}]; r != nil {
					s.Calls = append(s.Calls, HistoryCall{portableCall(c), portableResult(c, &r.Result)})
				}
			}
			said = append(said, s)
		}
	}
	return said
}

// callAt is the place of a call: the line, and the number in it.
type callAt struct{ line, n int }

// pairResults returns the results of the calls in lines, and which lines have a result that answers
// no call. A result belongs to the last line before it with a call of its id, because some models
// begin their ids from the start in each answer. Within the line it belongs to the first such call without
// a result.
func pairResults(lines []ClientMessage) (results map[callAt]*ClientMessage, alone []int) {
	var waiting map[string][]callAt
	for i := range lines {
		l := &lines[i]
		if l.Speaker == SpeakerTool {
			calls := waiting[l.Result.ID]
			if len(calls) == 0 {
				alone = append(alone, i)
				continue
			}
			results[calls[0]] = l
			waiting[l.Result.ID] = calls[1:]
			continue
		}
		for n, c := range l.Calls {
			if c.ID == "" {
				continue
			}
			if waiting == nil {
				waiting, results = map[string][]callAt{}, map[callAt]*ClientMessage{}
			}
			calls := waiting[c.ID]
			if len(calls) > 0 && calls[0].line != i {
				calls = nil
			}
			waiting[c.ID] = append(calls, callAt{i, n})
		}
	}
	return results, alone
}

// portableCall returns a call as a model is given it: without an id that the gateway made.
func portableCall(c tool.Call) tool.Call {
	if madeCallID(c.ID) {
		c.ID = ""
	}
	if c.Arguments.Kind() != '{' || !c.Arguments.IsValid() {
		c.Arguments = []byte("{}")
	}
	c.Arguments = c.Arguments.Clone() // the body is not kept for it
	return c
}

// portableResult is portableCall for the result of a call.
func portableResult(c tool.Call, result *tool.Result) tool.Result {
	r := *result
	r.Name = c.Name
	if madeCallID(r.ID) {
		r.ID = ""
	}
	r.Text = stripControl(r.Text)
	return r
}

// readSteps reads the steps behind the input: calls, and the results that the client has for
// its own.
func (g *Gatherer) readSteps(lines []ClientMessage, e *ValidationError) (steps []Message) {
	results, alone := pairResults(lines)
	for _, i := range alone {
		e.Add(lines[i].At, &FieldError{Code: CodeUnknownValue, Message: "answers no call, or one that is answered already"})
	}
	last := false
	for i := range lines {
		if lines[i].Speaker != SpeakerAssistant {
			continue
		}
		var messages []Message
		messages, last = readStep(lines, i, results, e)
		for _, m := range messages {
			steps = appendJoined(steps, m)
		}
	}
	if resultBytes(lines) > maxClientResults {
		e.Add(g.Root, &FieldError{Code: CodeTooLong, Message: "must have at most 1 MiB of results"})
	}
	if !last { // with server calls alone nobody waits for this client
		g.addNoInput(e)
		return nil
	}
	return steps
}

// resultBytes returns how many bytes of results the lines have.
func resultBytes(lines []ClientMessage) (size int) {
	for i := range lines {
		if lines[i].Speaker == SpeakerTool {
			size += len(lines[i].Result.Text)
		}
	}
	return size
}

// readStep reads line i, a message of the model, with the results of its calls. own reports whether the
// client brings one of them.
func readStep(lines []ClientMessage, i int, results map[callAt]*ClientMessage, e *ValidationError) (messages []Message, own bool) {
	l := &lines[i]
	m := Message{Role: RoleModel, Maker: ClientOrigin, Origin: ClientOrigin}
	r := Message{Role: RoleUser, Origin: ClientOrigin}
	if text := stripControl(l.Text); !isBlank(text) {
		m.Parts = append(m.Parts, Part{Text: text})
	}
	for n, c := range l.Calls {
		result := results[callAt{i, n}]
		if result == nil {
			e.Add(l.At, &FieldError{Code: CodeRequired, Message: "has a call without a result"})
			own = true // the missing result is the fault, and not who speaks last
			continue
		}
		own = own || !result.Served
		call, answer := portableCall(c), portableResult(c, &result.Result)
		m.Parts, r.Parts = append(m.Parts, Part{Call: &call}), append(r.Parts, Part{Result: &answer})
	}
	return slices.DeleteFunc([]Message{m, r}, func(m Message) bool { return len(m.Parts) == 0 }), own
}
