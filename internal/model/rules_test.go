package model

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// The class of a refusal is by what a codec has found out, else by its status.
func TestClassOfRefusals(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Kind]string{
		KindServer: classUnavailable, KindMalformed: classUnavailable, KindRateLimited: classRateLimited, KindQuota: classMisconfigured,
		KindMisconfigured: classMisconfigured, KindOverflow: classOverflow, KindBlocked: classBlocked, KindRejected: "",
	} {
		if got := Class(fmt.Errorf("call: %w", &Refusal{Kind: kind, Status: 429})); got != want {
			t.Errorf("kind %d is %q, want %q", kind, got, want)
		}
	}
	for status, want := range map[int]string{
		0: classUnavailable, 500: classUnavailable, 503: classUnavailable, 529: classUnavailable, 408: classUnavailable, 429: classRateLimited,
		301: classMisconfigured, 307: classMisconfigured, 401: classMisconfigured, 402: classMisconfigured, 403: classMisconfigured, 404: classMisconfigured,
		400: "", 405: "", 409: "", 422: "", 499: "",
	} {
		if got := Class(&Refusal{Status: status}); got != want {
			t.Errorf("status %d is %q, want %q", status, got, want)
		}
	}
}

func TestClassOfErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&Blocked{Reason: "x"}, classBlocked},
		{fmt.Errorf("x: %w", &Malformed{Reason: "y"}), classUnavailable},
		{&fault.Error{Type: fault.ModelUnavailable}, classUnavailable},
		{&fault.Error{Type: fault.Timeout}, classTimeout},
		{&fault.Error{Type: fault.ModelRateLimited}, classRateLimited},
		{&fault.Error{Type: fault.ModelBlocked}, classBlocked},
		{&fault.Error{Type: fault.ModelError}, ""},
		{&fault.Error{Type: fault.ModelError, Err: &Refusal{Status: 401}}, classMisconfigured},
		{&fault.Error{Type: fault.ModelError, Err: &Malformed{}}, classUnavailable},
		{context.Canceled, ""},
		{errors.New("x"), ""},
		{nil, ""},
	} {
		if got := Class(tt.err); got != tt.want {
			t.Errorf("%v is %q, want %q", tt.err, got, tt.want)
		}
	}
	if diff := cmp.Diff([]string{"unavailable", "timeout", "rate_limited", "misconfigured"}, DefaultFallbackOn()); diff != "" {
		t.Errorf("DefaultFallbackOn (-want +got):\n%s", diff)
	}
}

// A wait is read from words and from headers; nobody waits longer than a day, or for nonsense.
func TestWaits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"Please try again in 6.2s.":       6200 * time.Millisecond,
		"Rate limit. Try again in 644ms":  644 * time.Millisecond,
		"try again in 1m2.5s, or upgrade": 62500 * time.Millisecond,
		"Please retry in 48.9s.":          48900 * time.Millisecond,
		"try again in 9999h":              24 * time.Hour,
		"try again in 1h1h":               2 * time.Hour,
		"try again in a moment":           0,
		"try again in ...s":               0,
		"try again in 5 minutes":          0,
		"":                                0,
	} {
		if got := WaitIn(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]time.Duration{"34.4s": 34400 * time.Millisecond, "-3s": 0, "25h": maxWait, "3": 0, "": 0} {
		if got := ParseWait(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]time.Duration{"12.5": 12500 * time.Microsecond, "0": 0, "-1": 0, "NaN": 0, "Inf": maxWait, "1e300": maxWait, "x": 0, "": 0} {
		if got := retryAfterMS(http.Header{"Retry-After-Ms": {text}}); got != want {
			t.Errorf("Retry-After-Ms %q: %v, want %v", text, got, want)
		}
	}
}

// The limit on the wire has room for thoughts, unless there are none.
func TestThinkingRoom(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		thinking Thinking
		silent   bool
		want     int
	}{
		{Thinking{Word: "off"}, false, 100},
		{Thinking{Word: "summary"}, false, 100 + 2048},
		{Thinking{Word: "high"}, true, 100},
		{Thinking{}, false, 100 + 2048},
		{Thinking{Tokens: 1024}, false, 100 + 2048},
		{Thinking{Tokens: 5000}, false, 100 + 5000},
		{Thinking{Tokens: 5000}, true, 100},
	} {
		if got := tt.thinking.Room(100, tt.silent); got != tt.want {
			t.Errorf("%+v, silent %v: %d, want %d", tt.thinking, tt.silent, got, tt.want)
		}
	}
	for _, tt := range []struct {
		set   Thinking
		level string
		want  Thinking
	}{
		{Thinking{Word: "high"}, "", Thinking{Word: "high"}},
		{Thinking{Word: "high"}, "off", Thinking{Word: "off"}},
		{Thinking{Tokens: 5000}, "low", Thinking{Word: "low"}},
		{Thinking{Word: "off"}, "high", Thinking{Word: "off"}},
		{Thinking{Word: "0"}, "high", Thinking{Word: "0"}},
	} {
		if got := tt.set.For(tt.level); got != tt.want {
			t.Errorf("%+v for a caller that wants %q: %+v, want %+v", tt.set, tt.level, got, tt.want)
		}
	}
}

// What a provider says is cut for people, and only words of protocols are logged.
func TestTextsOfProviders(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", strings.Repeat("x", 200), strings.Repeat("é", 100)} {
		if got := Shorten(s); got != s {
			t.Errorf("%q is cut to %q", s, got)
		}
	}
	for _, s := range []string{strings.Repeat("x", 201), "x" + strings.Repeat("é", 100), strings.Repeat("😀", 51)} {
		got := Shorten(s)
		head, cut := strings.CutSuffix(got, "…")
		if !cut || !utf8.ValidString(got) || len(head) > 200 || len(head) < 197 || !strings.HasPrefix(s, head) {
			t.Errorf("%q is cut to %q", s, got)
		}
	}
	for s, want := range map[string]string{
		"rate_limit.exceeded-1": "rate_limit.exceeded-1", "": "", "two words": "", "é": "", "a\nb": "",
		strings.Repeat("a", 64): strings.Repeat("a", 64), strings.Repeat("a", 65): "",
	} {
		if got := Word(s); got != want {
			t.Errorf("the word of %q is %q, want %q", s, got, want)
		}
	}
	for bytes, tokens := range map[int]int{0: 0, 1: 1, 4: 1, 5: 2, 400: 100} {
		if got := estimateTokens(bytes); got != tokens {
			t.Errorf("%d bytes are %d tokens, want %d", bytes, got, tokens)
		}
	}
}

// A refusal says to the operator what the service said, and to the log no word of it.
func TestTextsOfRefusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		refusal      Refusal
		error, brief string
	}{
		{Refusal{Status: 400, Type: "invalid", Code: "x", Message: "you said hi"}, "upstream answered 400 invalid x: you said hi", "upstream answered 400 invalid x"},
		{Refusal{Status: 503}, "upstream answered 503", "upstream answered 503"},
		{Refusal{Status: 400, Message: strings.Repeat("y", 300)}, "upstream answered 400: " + strings.Repeat("y", 200) + "…", "upstream answered 400"},
	} {
		if got := tt.refusal.Error(); got != tt.error {
			t.Errorf("error %q, want %q", got, tt.error)
		}
		if got := withoutMessage(fmt.Errorf("call: %w", &tt.refusal)); got.Error() != tt.brief {
			t.Errorf("in a log %q, want %q", got, tt.brief)
		}
	}
	if other := errors.New("x"); withoutMessage(other) != other || withoutMessage(nil) != nil {
		t.Error("another error has another text")
	}
}

// The bytes of an answer count with all that is kept of it, up to the bound and not beyond.
func TestTally(t *testing.T) {
	t.Parallel()
	var tl tally
	c := chat.Chunk{Parts: []chat.Part{{Text: "abc", Signature: "de", Kept: "f"}, {Call: &tool.Call{ID: "1", Name: "ab", Arguments: jsontext.Value(`{}`)}}}}
	if err := tl.addChunk(&c); err != nil || tl.Size != 11 || tl.reported {
		t.Errorf("%d bytes, %v", tl.Size, err)
	}
	tl.paid = true
	if err := tl.addChunk(&chat.Chunk{Usage: &chat.Usage{InputTokens: 3}}); err != nil || !tl.reported || tl.paid || tl.usage.InputTokens != 3 {
		t.Errorf("usage %+v, reported %v, paid %v", tl.usage, tl.reported, tl.paid)
	}
	b := Budget{Size: maxAnswer - 1}
	if err := b.Grow(1); err != nil {
		t.Errorf("the bound itself: %v", err)
	}
	if err := b.Grow(1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one more: %v", err)
	}
	for _, tt := range []struct{ prompt, total, input int }{{400, 250, 100}, {4000, 250, 250}, {0, 7, 0}} {
		tl := tally{prompt: tt.prompt, usage: chat.Usage{OutputTokens: tt.total}}
		if tl.splitTotal(); tl.usage.InputTokens != tt.input || tl.usage.InputTokens+tl.usage.OutputTokens != tt.total {
			t.Errorf("%d bytes of request, %d tokens: %+v", tt.prompt, tt.total, tl.usage)
		}
	}
}

// What is left out of requests is counted by member and by step.
func TestOmit(t *testing.T) {
	t.Parallel()
	o := Omit{"a", "b", "a", "c", "a"}
	if o.Times("a") != 3 || o.Times("b") != 1 || o.Times("x") != 0 || o.countDistinct() != 3 || Omit(nil).countDistinct() != 0 {
		t.Errorf("a %d, b %d, x %d, distinct %d", o.Times("a"), o.Times("b"), o.Times("x"), o.countDistinct())
	}
	if !o.Has("c") || o.Has("") || Omit(nil).Has("a") {
		t.Error("what is left out is not known")
	}
}

// Ids and names that every protocol accepts.
func TestFitIDs(t *testing.T) {
	t.Parallel()
	for id, want := range map[string][2]bool{
		"aB3456789": {true, true}, "aB345678": {false, true}, "aB34567890": {false, true}, "a_3456789": {false, true}, "a-b_C": {false, true},
		"a.b": {false, false}, "": {false, false}, "é23456789"[:9]: {false, false}, strings.Repeat("a", 64): {false, true}, strings.Repeat("a", 65): {false, false},
	} {
		if nine, word := NineLetters(id), WordOf(id, 64); nine != want[0] || word != want[1] {
			t.Errorf("%q: nine letters %v, a word %v", id, nine, word)
		}
	}
	for range 100 {
		if id := newID(); !NineLetters(id) {
			t.Fatalf("%q is made", id)
		}
	}
	if a, b := derivedID("x", 0), derivedID("x", 1); a == b || a != derivedID("x", 0) || !NineLetters(a) {
		t.Errorf("derived are %q and %q", a, b)
	}
}

// An error of the connection is marked as one; what a codec or the service says is not.
func TestStreamErrors(t *testing.T) {
	t.Parallel()
	for _, own := range []error{nil, errDocument, ErrUnreadable, ErrTooLarge, errEncoded, &Refusal{Status: 500}, fmt.Errorf("x: %w", &Refusal{})} {
		if got := streamError(own); got != own {
			t.Errorf("%v becomes %v", own, got)
		}
	}
	reset := errors.New("reset")
	got := streamError(reset)
	if _, ok := errors.AsType[*transportError](got); !ok || !errors.Is(got, reset) || got.Error() != "transport: reset" {
		t.Errorf("got %v", got)
	}
}
