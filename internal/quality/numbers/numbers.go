// Package numbers finds the numbers of an answer that lack evidence. A number is backed if it
// stands in the evidence, or is a label, a name or a figure of speech. It is also backed if it
// follows from an object or array that its sentence may speak of, or from another number of the
// sentence. Derivation is narrow, because with many values some two of them give any number by
// chance.
//
// The verbs: read (a claim), derive (a value), back (a claim), add (to a pool).
package numbers

import (
	"slices"
	"time"

	"sluice/internal/base/markdown"
)

// Call is a call of a tool, which backs an answer.
type Call struct {
	Tool      string
	Arguments string // JSON
	Result    string // JSON or text; empty without a result
	Completed bool
}

// Sources are the texts that back an answer.
type Sources struct {
	Calls    []Call
	Question string
	Now      time.Time // in the time zone of the reader
	// Watch ends the reading early. The result is then of no use. Nil never ends it.
	Watch *markdown.Watch
}

// Evidence is the content of the sources of one answer. It reads them when it is first needed. It
// is not safe for concurrent use.
type Evidence struct {
	sources Sources
	content *evidence
}

// EvidenceOf returns the evidence of an answer.
func EvidenceOf(sources Sources) Evidence { return Evidence{sources: sources} }

// Texts returns all texts of the evidence.
func (e *Evidence) Texts() []string { return e.readContent().texts }

// Answer is an answer whose numbers need evidence.
type Answer struct {
	Text    string // without Markdown, code and the addresses of links
	Lists   []int  // how many items the lists of the answer have
	Derived bool   // numbers may follow from others; otherwise they must stand in the evidence, unrounded
	Allowed Set    // numbers that pass without evidence
}

// Unbacked returns the first numbers of an answer that nothing backs, as they are written, sorted
// and each once.
func (e *Evidence) Unbacked(a *Answer) []string {
	if !holdsNumber(a.Text) { // it saves the reading of the sources
		return nil
	}
	s := search{evidence: e.readContent(), derived: a.Derived, allowed: a.Allowed, text: a.Text, lists: a.Lists}
	s.findUnbacked()
	slices.Sort(s.strange)
	return slices.Compact(s.strange)
}

// readContent returns the content, read once.
func (e *Evidence) readContent() *evidence {
	if e.content == nil {
		e.content = newEvidence(&e.sources)
	}
	return e.content
}
