package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Play writes the bytes that the client got, at speed times the recorded pace. 0 writes them at
// once.
func (r *Recording) Play(ctx context.Context, w io.Writer, speed float64) error {
	began := time.Now()
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.Kind != kindOut || e.Data == nil {
			continue
		}
		if speed > 0 {
			if err := waitForTime(ctx, began, e.At, speed); err != nil {
				return err
			}
		}
		if _, err := w.Write(*e.Data); err != nil {
			return err
		}
	}
	return nil
}

// waitForTime waits until at microseconds of the recording have passed, at this speed.
func waitForTime(ctx context.Context, began time.Time, at int64, speed float64) error {
	due := time.Duration(float64(at)/speed) * time.Microsecond
	select {
	case <-time.After(due - time.Since(began)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Difference is the first one between two streams.
type Difference struct {
	// Event is its number, from 1, among those that are compared.
	Event           int
	Recorded, Rerun string // the compared events; empty if the stream has ended
}

// String writes it, one event a line.
func (d *Difference) String() string {
	show := func(text string) string {
		if text == "" {
			return "(nothing)"
		}
		return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
	}
	return fmt.Sprintf("event %d differs\n- %s\n+ %s", d.Event, show(d.Recorded), show(d.Rerun))
}

// Compare compares the replies of two clients byte for byte. It ignores the values that differ
// between any two turns: durations, times, random ids and tokens, heartbeats and frames about time.
// nil: they are equal. If the recorded reply was cut off, only the events that its client got are
// compared.
//
// Parallel speakers may come in another order: it is chance which of two branches is faster. If
// each says the same in its own order, reordered is true, and nothing differs.
func (r *Recording) Compare(rerun []byte) (d *Difference, reordered bool) {
	a, b := comparedEvents(r.Body()), comparedEvents(rerun)
	whole := b
	if r.isAborted() {
		a = a[:max(0, len(a)-1)] // the last one may be a part
		b = b[:min(len(a), len(b))]
	}
	if d = firstDifference(normalizeFrames(a), normalizeFrames(b)); d == nil {
		return nil, false
	}
	rest := eventsBySpeaker(whole)
	for _, said := range eventsBySpeaker(a) {
		i := slices.IndexFunc(rest, func(other []string) bool {
			if r.isAborted() { // another one may have come first
				other = other[:min(len(said), len(other))]
			}
			return slices.Equal(said, other)
		})
		if i < 0 {
			return d, false
		}
		rest = slices.Delete(rest, i, i+1)
	}
	if !r.isAborted() && len(rest) > 0 {
		return d, false
	}
	return nil, true
}

// firstDifference returns the first difference of two lists, or nil.
func firstDifference(a, b []string) *Difference {
	for i := range max(len(a), len(b)) {
		d := &Difference{Event: i + 1}
		if i < len(a) {
			d.Recorded = a[i]
		}
		if i < len(b) {
			d.Rerun = b[i]
		}
		if d.Recorded != d.Rerun {
			return d
		}
	}
	return nil
}

// comparedEvents splits a body into the events that are compared.
func comparedEvents(body []byte) (all []string) {
	for part := range bytes.SplitSeq(body, []byte("\n\n")) {
		text := string(part)
		if text != "" && !strings.HasPrefix(text, ":") && !strings.Contains(text, `"phase":"composing"`) {
			all = append(all, text)
		}
	}
	return all
}

// normalizeFrames replaces the random values of frames.
func normalizeFrames(frames []string) (all []string) {
	var n chances
	for _, text := range frames {
		all = append(all, n.normalize(text))
	}
	return all
}

// eventsBySpeaker returns the events of each speaker in their order, the longest list first. A list that
// sums up several speakers is sorted.
func eventsBySpeaker(frames []string) (all [][]string) {
	by := map[string][]string{}
	for _, text := range frames {
		key := fmt.Sprint(speaker.FindAllString(text, -1))
		by[key] = append(by[key], places.ReplaceAllString(text, "id: $1"))
	}
	for _, own := range by {
		own = normalizeFrames(own)
		for i, text := range own {
			if strings.Contains(text, "event: done\n") {
				own[i] = lists.ReplaceAllStringFunc(text, sortMember)
			}
		}
		all = append(all, own)
	}
	slices.SortFunc(all, func(a, b []string) int { return len(b) - len(a) })
	return all
}

// sortMember sorts a member that is a list.
func sortMember(member string) string {
	name, list, _ := strings.Cut(member, ":")
	var items []json.RawMessage
	if json.Unmarshal([]byte(list), &items) != nil {
		return member
	}
	slices.SortFunc(items, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
	text, err := json.Marshal(items)
	if err != nil {
		return member
	}
	return name + ":" + string(text)
}

// These expressions match the values that differ between any two turns. Ids are numbered by their
// first appearance, so that two that are the same are the same in both.
var (
	durations = regexp.MustCompile(`"([a-z_]*_?ms|executionTimeMs|durationMs)":(?:\d+(?:\.\d+)?|\[[\d,.]*\]|\{[^{}]*\})`)
	stamps    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`)
	seconds   = regexp.MustCompile(`"(created|created_at|completed_at)":\d{9,}(?:\.\d+)?`)
	tokens    = regexp.MustCompile(`slap1\.[A-Za-z0-9_-]+`)
	ids       = regexp.MustCompile(`\b(?:(?:task|turn|conv|appr|msg|sc|item|call|resp|thr|cthr|run)_[0-9A-Za-z]{12,}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b`)
	// speaker says who speaks in an event, places which number the event has.
	speaker = regexp.MustCompile(`"(?:agent|node|session)_id":"[^"]*"`)
	places  = regexp.MustCompile(`(?m)^id: (.*):\d+$`)
	// lists are the members of a Done that grow as calls and models end.
	lists  = regexp.MustCompile(`"(?:tools_called|tools|models)":\[[^\[\]]*\]`)
	fields = regexp.MustCompile(`(?m)^retry: \d+$`)
)

// chances numbers ids.
type chances struct{ seen map[string]string }

// normalize replaces the random values of a text.
func (c *chances) normalize(text string) string {
	text = durations.ReplaceAllString(text, `"$1":0`)
	text = stamps.ReplaceAllString(text, "TIME")
	text = seconds.ReplaceAllString(text, `"$1":0`)
	text = tokens.ReplaceAllString(text, "slap1.TOKEN")
	text = fields.ReplaceAllString(text, "retry: 0")
	return ids.ReplaceAllStringFunc(text, func(id string) string {
		if c.seen == nil {
			c.seen = map[string]string{}
		}
		if c.seen[id] == "" {
			c.seen[id] = "ID" + strconv.Itoa(len(c.seen)+1)
		}
		return c.seen[id]
	})
}

// isAborted reports whether the reply was cut off.
func (r *Recording) isAborted() bool {
	for i := range r.Entries {
		if r.Entries[i].Kind == kindAbort {
			return true
		}
	}
	return false
}

// Events returns how many events are compared.
func (r *Recording) Events() int { return len(comparedEvents(r.Body())) }
