package chat

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Clock gives models the time, in a line that stands with a message. It is safe for concurrent
// use.
type Clock struct {
	Zone *time.Location // of requests that name none; nil: UTC
	last atomic.Pointer[minute]
}

// minute is the line of one minute in one time zone. Turns that begin at the same time share
// its text.
type minute struct {
	zone string
	at   int64 // minutes since 1970
	line string
}

// timeLine gives the model the visitor's time: weekday, date and hour, the time zone, and its
// offset from UTC. The offline model reads the line by this form (dateMark in internal/sim/offline), so
// the two must change together.
const timeLine = "Now it is %s in the time zone %s (UTC%s)."

// Line returns the line of the time, in a zone that may be nil.
func (c *Clock) Line(zone *time.Location) string {
	if zone == nil {
		zone = c.Zone
	}
	if zone == nil {
		zone = time.UTC
	}
	now := time.Now().In(zone)
	at := now.Unix() / 60
	if m := c.last.Load(); m != nil && m.zone == zone.String() && m.at == at {
		return m.line
	}
	line := fmt.Sprintf(timeLine, now.Format("Monday, 2006-01-02, 15:04"), zone, now.Format("-07:00"))
	c.last.Store(&minute{zone.String(), at, line})
	return line
}

// withTimeLine returns a text behind its time line, which may be empty.
func withTimeLine(line, text string) string {
	if line == "" {
		return text
	}
	return line + "\n\n" + text
}

// LineIn returns the line of the time in the last of the messages that the user has said, or "".
func LineIn(messages []Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if m := &messages[i]; m.Spoken() && len(m.Parts) > 0 {
			line, _, ok := strings.Cut(m.Parts[0].Text, "\n\n")
			if ok && strings.HasPrefix(line, "Now it is ") {
				return line
			}
			return ""
		}
	}
	return ""
}

// Dated returns Messages for an agent's model. Each message of the user stands behind its time
// line, as it was first sent; line is that of the input. If the request brings its history, the
// line stands in the moment instead, because later requests repeat the input alone: see WithMoment.
func (r *Request) Dated(line string) []Message {
	if r.HasHistory {
		line = ""
	}
	history := r.historyWithQuestion()
	messages := append(make([]Message, 0, len(history)+1), history...)
	for i := range messages {
		if m := &messages[i]; m.At != "" {
			*m = Message{Role: m.Role, Parts: []Part{{Text: withTimeLine(m.At, m.Text())}}}
		}
	}
	return appendSaid(messages, HistoryMessage{Role: RoleUser, Text: withTimeLine(line, r.Input)})
}

// momentHead begins what WithMoment adds. The offline model reads it (momentHead in
// internal/sim/offline/roles), so the two must change together.
const momentHead = "Added by the gateway, not by the user:\n"

// WithMoment adds a part with facts for this turn only to the last message. They are the time line
// of a request that brings its history, missing tools in the gateway's words, quotes of others, and
// the note for the agent. It stands behind all that later turns repeat, and is in no later one. The
// list is changed, and no message that it shares.
func (r *Request) WithMoment(messages []Message, line, missing string) []Message {
	said := r.momentTexts(line, missing)
	if len(messages) == 0 || len(said) == 0 {
		return messages
	}
	last := &messages[len(messages)-1]
	last.Parts = append(last.Parts[:len(last.Parts):len(last.Parts)], Part{Text: momentHead + strings.Join(said, "\n\n")})
	return messages
}

// WithData returns messages with a quote as a part of its own, behind the user's last words. The
// messages themselves do not change.
func WithData(messages []Message, q Quote) []Message {
	part := Part{Text: momentHead + strings.TrimSuffix(q.ForModel(), "\n")}
	messages = slices.Clone(messages)
	for i := len(messages) - 1; i >= 0; i-- {
		if m := &messages[i]; m.Role == RoleUser && m.Spoken() {
			m.Parts = append(slices.Clip(m.Parts), part)
			return messages
		}
	}
	return append(messages, Message{Role: RoleUser, Parts: []Part{part}})
}

// OfMoment reports whether the gateway has added the part for this turn alone: no later turn
// repeats it. A part of the user's with such a beginning counts as one, which costs a cache at most.
func (p *Part) OfMoment() bool { return strings.HasPrefix(p.Text, momentHead) }

// momentTexts returns the texts of WithMoment.
func (r *Request) momentTexts(line, missing string) (said []string) {
	if r.HasHistory && line != "" {
		said = append(said, line)
	}
	if missing != "" {
		said = append(said, missing)
	}
	quotes := r.Quotes()
	for i := range quotes {
		said = append(said, strings.TrimSuffix(quotes[i].ForModel(), "\n"))
	}
	if r.Note != "" {
		said = append(said, r.Note)
	}
	if r.Pruning.Dropped > 0 {
		said = append(said, prunedNote)
	}
	return said
}

const prunedNote = "The conversation is longer than what you are shown: its earlier messages are left out."

// Closing returns a message for the very end of a call, with the gateway's note on this step.
func Closing(note string) Message {
	return Message{Role: RoleUser, Parts: []Part{{Text: momentHead + note}}}
}
