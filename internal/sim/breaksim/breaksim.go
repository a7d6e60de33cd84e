// Package breaksim has a model whose answers break off, and a model that continues them in one of
// many manners. Both answer for the simulators geminisim and modelsim, which speak the protocols
// and judge the requests:
//
//	sim := modelsim.New(modelsim.Config{Model: &breaksim.Model{Texts: breaksim.Texts(), Dies: true}})
//	handler := breaksim.Cut(sim)
//
// The input of a turn names the text, the cut, the manner and the turn: see Input. A manner shows how
// the gateway treats such an answer, and not what a model would answer.
package breaksim

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/sim/geminisim"
)

const (
	// Tool is the tool that every seventh answer calls at its end, with the name of the turn.
	Tool = "once"
	// Ending is the answer behind the tool's result.
	Ending = "The tool has run."
	// mark is the first of four characters at which Cut ends a stream. The next ones end it so many
	// bytes earlier, within a code point.
	mark = '\ue000'
	// short is the size of an anchor, in code points. A shorter one must begin the answer.
	short = 16
)

// Following returns the manners that follow the note, and Others the remaining ones.
func Following() []string {
	return []string{"takes", "bytes", "greets", "quotes", "twice", "thinks", "tail", "loose", "again", "calls"}
}

// Others returns the manners that do not follow the note.
func Others() []string { return []string{"refuses", "ignores", "late", "half", "thought"} }

// Input returns the input of a turn whose answer is Texts[text], cut behind so many bytes. The name
// of the turn consists of letters and digits.
func Input(text, cut int, manner, turn string) string {
	return fmt.Sprintf("break %d %d %s %s", text, cut, manner, turn)
}

var input = regexp.MustCompile(`break (\d+) (\d+) (\w+) (\w+)`)

// Model implements geminisim.Model. It is safe for concurrent use.
type Model struct {
	Texts []string
	// Dies makes the model break off behind the cut of a turn. A cut of 1 more than the text's length
	// is behind the call.
	Dies bool
	// Report is called with a fault of a continuing request. nil: it is not reported.
	Report func(string)
}

// Version implements geminisim.Model.
func (*Model) Version() string { return "breaksim" }

// Answer implements geminisim.Model.
func (m *Model) Answer(q geminisim.Question) geminisim.Answer {
	var turn []string
	for _, message := range q.Messages {
		if found := input.FindStringSubmatch(message.Text); found != nil && !message.Model {
			turn = found
		}
	}
	last := q.Messages[len(q.Messages)-1]
	switch {
	case turn == nil:
		return geminisim.Answer{Text: "OK."}
	case len(last.Results) > 0:
		return geminisim.Answer{Text: Ending}
	}
	text, _ := strconv.Atoi(turn[1])
	whole := m.Texts[text]
	call := geminisim.Call{Name: Tool, Args: jsontext.Value(fmt.Sprintf(`{"turn":%q}`, turn[4]))}
	a := geminisim.Answer{Text: whole}
	if text%7 == 0 && len(q.Functions) > 0 {
		a.Calls = append(a.Calls, call)
	}
	from := strings.Index(last.Text, "«")
	switch {
	case last.Model:
		a.Text = strings.TrimPrefix(whole, last.Text)
	case from >= 0 && len(q.Messages) > 1 && q.Messages[len(q.Messages)-2].Model:
		anchor := last.Text[from+len("«") : strings.LastIndex(last.Text, "»")]
		m.followNote(&a, turn[3], q.Messages[len(q.Messages)-2].Text, anchor, call)
	case m.Dies:
		cut, _ := strconv.Atoi(turn[2])
		breakOff(&a, whole, cut)
	}
	return a
}

// breakOff puts the mark behind so many bytes of the text, or behind the calls.
func breakOff(a *geminisim.Answer, whole string, cut int) {
	if cut > len(whole) {
		a.Calls = append(a.Calls, geminisim.Call{Name: Tool, Args: jsontext.Value(`{"turn":"` + string(mark) + `"}`)})
		return
	}
	at := cut
	for at > 0 && at < len(whole) && !utf8.RuneStart(whole[at]) {
		at--
	}
	for rest := whole[:at]; rest != ""; {
		_, size := utf8.DecodeRuneInString(rest)
		if i := strings.IndexFunc(rest[size:], unicode.IsSpace); i < 0 {
			size = len(rest)
		} else {
			size += i
		}
		a.Pieces, rest = append(a.Pieces, rest[:size]), rest[size:]
	}
	next, size := "", 0
	if cut > at {
		_, size = utf8.DecodeRuneInString(whole[at:])
		next = whole[at : at+size]
		size -= cut - at
	}
	a.Pieces = append(a.Pieces, next+string(rune(mark+size)))
	a.Text = strings.Join(a.Pieces, "")
}

// followNote makes the answer to a note. A text in front of the anchor is absent where the anchor must begin the answer.
func (m *Model) followNote(a *geminisim.Answer, manner, shown, anchor string, call geminisim.Call) {
	trimmed := strings.TrimRightFunc(shown, unicode.IsSpace)
	if m.Report != nil && (!strings.HasPrefix(a.Text, shown) || !strings.HasSuffix(trimmed, anchor)) {
		m.Report(fmt.Sprintf("the shown text %q, anchor %q, is not a begin of %q", shown, anchor, a.Text))
	}
	behind := strings.TrimPrefix(a.Text, trimmed)
	runes := []rune(anchor)
	front := len(runes) >= short
	switch whole := a.Text; {
	case manner == "greets" && front:
		a.Text = "Of course, I go on:\n\n```\n" + anchor + behind
	case manner == "quotes" && front:
		a.Text = "«" + anchor + "»" + behind
	case manner == "twice" && front:
		a.Text = anchor + " " + anchor + behind
	case manner == "tail" && len(runes) > short:
		a.Text = string(runes[len(runes)-short:]) + behind
	case manner == "loose":
		a.Text = "\n" + strings.NewReplacer("\r\n", " ", "\n", "  ", "\u00a0", " ", "“", `"`, "”", `"`, "’", "'").Replace(anchor) + behind
	case manner == "again":
		a.Text = whole
	case manner == "calls":
		a.Text, a.Calls = "", []geminisim.Call{call}
	case manner == "refuses":
		a.Text, a.Calls = "Unfortunately nobody can continue a text like this.", nil
	case manner == "ignores":
		a.Text, a.Calls = strings.Repeat("Welcome! Which question may be answered today? ", 12), nil
	case manner == "late":
		a.Text = strings.Repeat("w", 81) + anchor + behind
	case manner == "half":
		a.Text, a.Calls = string(runes[:len(runes)/2]), nil
	case manner == "thought":
		a.Thoughts, a.Text = []string{anchor}, strings.TrimLeftFunc(behind, unicode.IsSpace)
	default:
		if manner == "thinks" {
			a.Thoughts = []string{anchor, " So I go on."}
		}
		a.Text = anchor + behind
	}
	if manner == "bytes" {
		a.Pieces = strings.Split(a.Text, "")
	}
}
