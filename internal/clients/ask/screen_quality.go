// This file shows an answer that is checked before it is sent, and messages in the form of a
// channel: the phases, drafts as they are written, and at the end the verdict of each criterion.

package ask

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"sluice/internal/clients/terminal"
)

// checkData has the members of the events of a checked or formatted answer.
type checkData struct {
	Phase    string   `json:"phase"`
	Chars    int      `json:"chars"`
	Failed   []string `json:"failed"`
	Sequence int      `json:"sequence"`
	Encoding string   `json:"encoding"`
	Segments int      `json:"segments"`
	Units    int      `json:"units"`
	Bytes    int      `json:"bytes"`
	Subject  string   `json:"subject"`
	Type     string   `json:"content_type"`
	Quality  *receipt `json:"quality"`
}

// receipt is the report of done about the checks.
//
// Passed of a criterion is nil without a verdict. Times are in milliseconds.
type receipt struct {
	Passed   bool   `json:"passed"`
	Outcome  string `json:"outcome"`
	Criteria []struct {
		ID            string `json:"id"`
		By            string `json:"by"`
		Must          bool   `json:"must"`
		Planned       bool   `json:"planned"`
		Passed        *bool  `json:"passed"`
		NotApplicable bool   `json:"not_applicable"`
		FailedFirst   bool   `json:"failed_first"`
	} `json:"criteria"`
	Millis struct {
		Plan   int64 `json:"plan"`
		Judge  int64 `json:"judge"`
		Refine int64 `json:"refine"`
		Held   int64 `json:"held"`
	} `json:"ms"`
}

// showPhase shows how far an answer is that is held back. An answer that is refined is struck out.
//
// An empty list of failures means that all passed. A missing list means that this event judged
// nothing.
func (v *screen) showPhase(d eventData) error {
	s := v.style
	switch {
	case d.Chars > 0:
		return v.printLine(s.Dim, "◇ %s  %d characters", d.Phase, d.Chars)
	case len(d.Failed) > 0:
		return v.printLine(s.Yellow, "◇ failed: %s", strings.Join(d.Failed, ", "))
	case d.Failed != nil:
		return v.printLine(s.Green, "◇ passed")
	case d.Phase == "refining" || d.Phase == "failed":
		if err := v.strikeDraft(); err != nil {
			return err
		}
	}
	return v.printLine(s.Dim, "◇ %s", d.Phase)
}

// showDraft shows a piece of a draft.
//
// Attempt 0 is text of an agent within the turn and no draft of the answer.
func (v *screen) showDraft(d eventData) error {
	if d.Attempt == 0 {
		return nil
	}
	if !v.inText {
		fmt.Fprintln(v.lines)
	}
	v.inText = true
	v.draft += d.Delta
	_, err := io.WriteString(v.lines, v.style.Dim+terminal.Printable(d.Delta)+v.style.Reset)
	return err
}

// strikeDraft shows a draft once more, struck out, in Markdown without a terminal.
func (v *screen) strikeDraft() error {
	draft := v.draft
	if v.draft = ""; draft == "" {
		return nil
	}
	if v.style.Struck == "" {
		return v.printLine("", "~~%s~~", draft)
	}
	return v.printLine(v.style.Struck, "%s", draft)
}

// showMessage shows a message of a channel, with its counters.
//
// The text is not shown again where there is one message, as the answer's own text came
// before.
func (v *screen) showMessage(d eventData) error {
	counted := ""
	switch {
	case d.Encoding != "":
		counted = terminal.SMSFigures(d.Encoding, d.Units, d.Segments)
	case d.Subject != "":
		counted = "subject: " + d.Subject
	case d.Bytes > 0:
		counted = fmt.Sprintf("%d bytes", d.Bytes)
	default:
		counted = fmt.Sprintf("%d characters", len([]rune(d.Content)))
	}
	if err := v.printLine(v.style.Dim, "✉ %d/%.0f  %s", d.Sequence, d.Total, counted); err != nil || d.Total == 1 {
		return err
	}
	return v.printLine("", "%s", d.Content)
}

// showReceipt shows the verdict of each criterion, as a table.
func (v *screen) showReceipt(d eventData) error {
	r := d.Quality
	if r == nil {
		return nil
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, c := range r.Criteria {
		result, by := "no verdict", c.By
		switch {
		case c.NotApplicable:
			result = "not applicable"
		case c.Passed != nil && *c.Passed && c.FailedFirst:
			result = "passed after the refinement"
		case c.Passed != nil && *c.Passed:
			result = "passed"
		case c.Passed != nil:
			result = "failed"
		}
		if c.Planned {
			by += ", planned"
		}
		if !c.Must {
			result += " (not required)"
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\n", c.ID, by, result)
	}
	_ = w.Flush() // to a Builder, which takes everything
	color := v.style.Green
	if !r.Passed {
		color = v.style.Yellow
	}
	return v.printLine(color, "quality %s · planned in %s, judged in %s, refined in %s, held %s\n%s", strings.ReplaceAll(r.Outcome, "_", " "),
		terminal.Millis(r.Millis.Plan), terminal.Millis(r.Millis.Judge), terminal.Millis(r.Millis.Refine), terminal.Millis(r.Millis.Held), strings.TrimSuffix(b.String(), "\n"))
}
