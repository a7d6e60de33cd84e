package stream

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Events of checked and formatted answers.

// Phase is how far an answer has come that is held back, or watched.
type Phase string

// Phases, in their order. Refining comes at most once, and Formatting and Validating
// follow it again. Sending or Failing is the last one.
const (
	Planning   Phase = "planning"   // the planner is asked
	Extracting Phase = "extracting" // the agents have begun
	Composing  Phase = "composing"  // the first text is there
	Formatting Phase = "formatting" // the text is complete
	Validating Phase = "validating" // it is checked
	Refining   Phase = "refining"   // it is written once more
	Sending    Phase = "sending"    // the answer follows
	Failing    Phase = "failed"     // no attempt may be sent
)

// rank orders the phases of one attempt. Refining opens the second attempt and so has the lowest
// rank in it.
func (p Phase) rank() int {
	switch p {
	case Refining:
		return 1
	case Planning:
		return 2
	case Extracting:
		return 3
	case Composing:
		return 4
	case Formatting:
		return 5
	case Validating:
		return 6
	case Sending, Failing:
		return lastRank
	}
	return 0
}

// isFirstOnly reports whether only the first attempt has a phase.
func (p Phase) isFirstOnly() bool { return p.rank() > Refining.rank() && p.rank() < Formatting.rank() }

const (
	lastRank    = 7
	lastAttempt = 2
)

// Quality reports the progress of an answer that is held or observed.
type Quality struct {
	// Phase begins with this event, and Millis is the time since the turn's
	// start.
	Phase   Phase `json:"phase"`
	Attempt int   `json:"attempt"` // 1, or 2 from Refining on
	Millis  int64 `json:"elapsed_ms"`
	// Plan is set where a plan was made before the agents began.
	Plan jsontext.Value `json:"plan,omitempty"`
	// Chars is how many characters there are so far; while composing, once a second.
	Chars int `json:"chars,omitzero"`
	// Passed and Failed are ids of criteria, at the end of Validating; nil before it.
	Passed []string `json:"passed,omitzero"`
	Failed []string `json:"failed,omitzero"`
}

const qualityName = "quality"

func (*Quality) markEvent() {}

// Name returns "quality".
func (*Quality) Name() string { return qualityName }

// beginsTurn reports whether the phase is one of those that a turn begins with.
func (q *Quality) beginsTurn() bool {
	return q.Attempt == 1 && (q.Phase == Planning || q.Phase == Extracting)
}

// Allow keeps the phases in their order. In a run of a workflow they may begin a second time:
// another process that continues it makes the held answer again. In other turns Guard.TakenOver
// announces this.
func (q *Quality) Allow(t *Turn) error {
	rank := q.Phase.rank()
	if q.beginsTurn() && t.Count(nodeName) > 0 {
		t.phase, t.attempt = 0, 0
	}
	switch {
	case rank == 0:
		return fmt.Errorf("phase %q", q.Phase)
	case q.Attempt < max(1, t.attempt) || q.Attempt > lastAttempt:
		return fmt.Errorf("attempt %d", q.Attempt)
	}
	at := q.Attempt*(lastRank+1) + rank
	if err := q.checkOrder(t, at); err != nil {
		return err
	}
	t.phase, t.attempt = at, q.Attempt
	return nil
}

// checkOrder returns an error unless the phase of q's attempt, at this place in the whole order,
// comes after the previous one.
func (q *Quality) checkOrder(t *Turn, at int) error {
	if err := q.checkAttempt(); err != nil {
		return err
	}
	switch {
	case q.Attempt == lastAttempt && t.phase < lastAttempt*(lastRank+1) && q.Phase != Refining:
		return errors.New("a second attempt begins with refining")
	case t.phase%(lastRank+1) == lastRank, at < t.phase, at == t.phase && q.Phase == Refining:
		return fmt.Errorf("phase %q comes too late", q.Phase)
	}
	return nil
}

// checkAttempt returns an error if the attempt cannot have this phase.
func (q *Quality) checkAttempt() error {
	switch {
	case q.Phase == Refining && q.Attempt != lastAttempt:
		return errors.New("the first attempt refines nothing")
	case q.Attempt == lastAttempt && q.Phase.isFirstOnly():
		return errors.New("a second attempt plans and composes nothing")
	}
	return nil
}

// ChannelMessage is a message in the form of a channel.
type ChannelMessage struct {
	// Channel is a name of the configuration; the text may be one of several.
	Channel     string `json:"channel"`
	Sequence    int    `json:"sequence"` // from 1
	Total       int    `json:"total"`
	Content     string `json:"content"` // as it is sent, the indicator included
	ContentType string `json:"content_type"`
	Indicator   string `json:"continuation_indicator,omitempty"`

	// The rest belongs to one form of channel each.
	Encoding string         `json:"encoding,omitempty"` // of sms
	Segments int            `json:"segments,omitzero"`
	Units    int            `json:"units,omitzero"`
	Chars    int            `json:"chars,omitzero"` // of whatsapp
	Card     jsontext.Value `json:"card,omitempty"` // of teams
	Bytes    int            `json:"bytes,omitzero"`
	Subject  string         `json:"subject,omitempty"` // of email
	Text     string         `json:"text,omitempty"`
	HTML     string         `json:"html,omitempty"`
}

const channelMessageName = "channel_message"

func (*ChannelMessage) markEvent() {}

// Name returns "channel_message".
func (*ChannelMessage) Name() string { return channelMessageName }

// Allow accepts the messages 1 to Total without gaps, after the whole answer.
func (m *ChannelMessage) Allow(t *Turn) error {
	before := t.Count(channelMessageName)
	switch {
	case !m.isNext(before):
		return fmt.Errorf("message %d of %d", m.Sequence, m.Total)
	case before > 0 && m.Total != t.messages:
		return fmt.Errorf("there were %d messages", t.messages)
	}
	t.messages, t.answerComplete = m.Total, true
	switch {
	case m.Total == 1: // it is the first and the last
	case m.Sequence == 1:
		t.Open(channelMessageName)
	case m.Sequence == m.Total:
		t.Close(channelMessageName)
	}
	return nil
}

// isNext reports whether the message follows that many others, and is one of the Total.
func (m *ChannelMessage) isNext(before int) bool {
	return m.Sequence == before+1 && m.Sequence <= m.Total
}

// Outcome is the result of the checks of an answer.
type Outcome string

// Outcomes.
const (
	Passed          Outcome = "passed"           // the first attempt was sent
	Refined         Outcome = "refined"          // the second was
	SentFailed      Outcome = "sent_failed"      // one with failed criteria was
	GracefulFailure Outcome = "graceful_failure" // a text of our own was
	Unjudged        Outcome = "unjudged"         // a criterion without a verdict
	Observed        Outcome = "observed"         // it streamed, whatever was found
	NotEvaluated    Outcome = "not_evaluated"    // the turn ended without an answer to check
)

// Receipt is what Done says about the checks.
type Receipt struct {
	// Passed is what Outcome means to a program that needs yes or no.
	Passed       bool             `json:"passed"`
	Outcome      Outcome          `json:"outcome"`
	Refined      bool             `json:"refined"` // a second attempt was made
	ScorecardID  string           `json:"scorecard_id"`
	StyleVersion string           `json:"style_version,omitempty"`
	Criteria     []CriterionCheck `json:"criteria"` // never null
	Millis       ReceiptMillis    `json:"ms"`
	Usage        TokenUsage       `json:"usage"` // of planner, judge and refinement
	Plan         ReceiptPlan      `json:"plan"`
}

// CriterionCheck is what became of one criterion in the attempt that counts.
type CriterionCheck struct {
	ID      string `json:"id"`
	By      string `json:"by"` // code or judge
	Must    bool   `json:"must"`
	Planned bool   `json:"planned,omitzero"` // the planner's
	Passed  *bool  `json:"passed"`           // null without a verdict
	// NotApplicable: the answer has nothing for this criterion, and so it passes.
	NotApplicable bool `json:"not_applicable,omitzero"`
	FailedFirst   bool `json:"failed_first,omitzero"` // in the first attempt
}

// ReceiptMillis holds the duration of each step.
type ReceiptMillis struct {
	// Each is a part of the turn's time, in ms; parts may overlap.
	Plan   int64 `json:"plan"`
	Format int64 `json:"format"`
	Check  int64 `json:"check"`
	Judge  int64 `json:"judge"`
	Refine int64 `json:"refine"`
	Held   int64 `json:"held"` // from the first text to the first piece of the answer
}

// ReceiptPlan counts the steps of a plan.
type ReceiptPlan struct {
	Steps int `json:"steps"`
	Ran   int `json:"ran"`
}

// Formatted is what Done says about a channel.
type Formatted struct {
	Channel  string         `json:"channel"`
	IsSplit  bool           `json:"is_split"`
	Parts    int            `json:"parts"` // how many messages there were
	Metadata jsontext.Value `json:"metadata"`
	Delivery *Delivery      `json:"delivery,omitzero"` // nil: none was asked for
}

// Delivery is what became of a message that was to be delivered.
type Delivery struct {
	Status string `json:"status"` // delivered, rejected or failed
	// Attempts counts requests, and Millis is the time of all. ID is the receiver's id of the
	// messages.
	Attempts int    `json:"attempts"`
	Millis   int64  `json:"ms"`
	ID       string `json:"id"`
}
