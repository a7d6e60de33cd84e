package model

import (
	"fmt"
	"strings"
)

// End is how an answer ended. The worse of two is the greater one.
type End int

// Ends of an answer. The calls of an answer do not run if it ends with EndMalformed or a greater
// one.
const (
	EndNone        End = iota // not reported so far
	EndStop                   // complete
	EndMaxTokens              // at a limit of tokens
	EndMalformed              // with a call that the service could not read
	EndUnavailable            // the service gave up
	EndBlocked                // a policy stopped it
)

// ends holds the words for an end of all protocols, in lower case.
var ends = map[string]End{
	"stop": EndStop, "tool_calls": EndStop, "function_call": EndStop, "eos": EndStop, "eos_token": EndStop,
	"end_turn": EndStop, "tool_use": EndStop, "stop_sequence": EndStop, "pause_turn": EndStop, "completed": EndStop,
	"length": EndMaxTokens, "max_tokens": EndMaxTokens, "max_output_tokens": EndMaxTokens, "model_length": EndMaxTokens,
	"model_context_window_exceeded": EndMaxTokens,
	"content_filter":                EndBlocked, "refusal": EndBlocked,
	"error": EndUnavailable, "insufficient_system_resource": EndUnavailable, // DeepSeek's
	"function_call_filter": EndMalformed, "malformed_function_call": EndMalformed,
}

// endParts judge words that are not in ends: the first row with a part of the word counts.
var endParts = []struct {
	end   End
	parts []string
}{
	{EndUnavailable, []string{"error", "abort", "cancel", "fail", "timeout"}},
	{EndBlocked, []string{"filter", "safety", "sensitive"}},
	{EndMaxTokens, []string{"length", "max", "window"}},
}

// endKey returns the part of a word that counts: all up to the first colon, in lower case.
func endKey(word string) string {
	key, _, _ := strings.Cut(word, ":")
	return strings.ToLower(strings.TrimSpace(key))
}

// EndOf returns the end that a provider's word means. known reports whether the word stands in the
// table. Another word is judged by its parts, and is EndStop if none of them matches.
func EndOf(word string) (end End, known bool) {
	key := endKey(word)
	if end, known = ends[key]; known {
		return end, true
	}
	for _, row := range endParts {
		for _, part := range row.parts {
			if strings.Contains(key, part) {
				return row.end, false
			}
		}
	}
	return EndStop, false
}

// FinishWords collects the words for the end of one answer. Its zero value is ready to use.
type FinishWords struct {
	End     End
	Word    string // the latest
	Unknown string // the latest that no table holds
}

// Add takes a word. The last one counts, unless an earlier one was bad: such an end stays. The
// empty word says nothing.
func (e *FinishWords) Add(word []byte) {
	if len(word) == 0 || string(word) == e.Word {
		return
	}
	e.Word = string(word)
	end, known := EndOf(e.Word)
	e.Set(end, known)
}

// Set takes the end that the latest word means.
func (e *FinishWords) Set(end End, known bool) {
	if !known {
		e.Unknown = e.Word
	}
	if e.End < EndMalformed || end > e.End {
		e.End = end
	}
}

// Err returns the error of an answer with a bad end, or nil.
func (e *FinishWords) Err() error {
	switch e.End {
	case EndBlocked:
		return &Blocked{Reason: Word(endKey(e.Word))}
	case EndUnavailable:
		return &GivenUp{Reason: Word(endKey(e.Word))}
	case EndMalformed:
		return &Malformed{Reason: fmt.Sprintf("finish reason %q", Word(endKey(e.Word)))}
	}
	return nil
}

// GivenUp is the error of an answer whose end says that the service could not complete it. The
// service did reply, so the breaker does not count a failure.
type GivenUp struct{ Reason string }

// It names the reason, cut: it is the service's word, and logged.
func (e *GivenUp) Error() string { return fmt.Sprintf("finish reason %q", Shorten(e.Reason)) }
