package sluice

import (
	"strconv"

	"sluice/jsonline"
	"sluice/stream"
)

// This file writes what each turn has that is checked or formatted, several times or as a
// large part of done. It writes what package json would of the same values, which a test
// holds it to, without looking at their types again for each event.

// isPlain says whether plain knows an extension, and none of its values is JSON itself.
func isPlain(ev stream.Extension) bool {
	switch ev := ev.(type) {
	case *stream.Quality:
		return ev.Plan == nil
	case *stream.ChannelMessage:
		return ev.Card == nil
	}
	return false
}

// plain appends the members of an extension that isPlain.
func plain(dst []byte, ev stream.Extension) []byte {
	switch ev := ev.(type) {
	case *stream.Quality:
		return phase(dst, ev)
	case *stream.ChannelMessage:
		return message(dst, ev)
	}
	return dst
}

// phase appends how far a turn has come.
func phase(dst []byte, ev *stream.Quality) []byte {
	dst = str(dst, "phase", string(ev.Phase))
	dst = integer(dst, "attempt", ev.Attempt)
	dst = strconv.AppendInt(key(dst, "elapsed_ms"), ev.Millis, 10)
	dst = given(dst, "chars", ev.Chars)
	if ev.Passed != nil {
		dst = names(key(dst, "passed"), ev.Passed)
	}
	if ev.Failed != nil {
		dst = names(key(dst, "failed"), ev.Failed)
	}
	return dst
}

// message appends a message of a channel.
func message(dst []byte, ev *stream.ChannelMessage) []byte {
	dst = str(dst, "channel", ev.Channel)
	dst = integer(dst, "sequence", ev.Sequence)
	dst = integer(dst, "total", ev.Total)
	dst = str(dst, "content", ev.Content)
	dst = str(dst, "content_type", ev.ContentType)
	dst = said(dst, "continuation_indicator", ev.Indicator)
	dst = said(dst, "encoding", ev.Encoding)
	dst = given(dst, "segments", ev.Segments)
	dst = given(dst, "units", ev.Units)
	dst = given(dst, "chars", ev.Chars)
	dst = given(dst, "bytes", ev.Bytes)
	dst = said(dst, "subject", ev.Subject)
	dst = said(dst, "text", ev.Text)
	return said(dst, "html", ev.HTML)
}

// receipt appends what done tells of the checks.
func receipt(dst []byte, r *stream.Receipt) []byte {
	dst = strconv.AppendBool(append(dst, `{"passed":`...), r.Passed)
	dst = str(dst, "outcome", string(r.Outcome))
	dst = boolean(dst, "refined", r.Refined)
	dst = str(dst, "scorecard_id", r.ScorecardID)
	dst = said(dst, "style_version", r.StyleVersion)
	dst = append(key(dst, "criteria"), '[')
	for i := range r.Criteria {
		dst = criterion(comma(dst, i), &r.Criteria[i])
	}
	dst = strconv.AppendInt(append(dst, `],"ms":{"plan":`...), r.Millis.Plan, 10)
	for _, step := range [...]struct {
		name string
		took int64
	}{{"format", r.Millis.Format}, {"check", r.Millis.Check}, {"judge", r.Millis.Judge}, {"refine", r.Millis.Refine}, {"held", r.Millis.Held}} {
		dst = strconv.AppendInt(key(dst, step.name), step.took, 10)
	}
	dst = strconv.AppendInt(append(dst, `},"usage":{"input_tokens":`...), int64(r.Usage.Input), 10)
	dst = integer(dst, "output_tokens", r.Usage.Output)
	dst = integer(dst, "thinking_tokens", r.Usage.Thinking)
	dst = strconv.AppendInt(append(dst, `},"plan":{"steps":`...), int64(r.Plan.Steps), 10)
	return append(integer(dst, "ran", r.Plan.Ran), "}}"...)
}

// criterion appends what became of one.
func criterion(dst []byte, c *stream.CriterionCheck) []byte {
	dst = jsonline.String(append(dst, `{"id":`...), c.ID)
	dst = str(dst, "by", c.By)
	dst = boolean(dst, "must", c.Must)
	if c.Planned {
		dst = boolean(dst, "planned", true)
	}
	if c.Passed == nil {
		dst = append(key(dst, "passed"), "null"...)
	} else {
		dst = boolean(dst, "passed", *c.Passed)
	}
	if c.NotApplicable {
		dst = boolean(dst, "not_applicable", true)
	}
	if c.FailedFirst {
		dst = boolean(dst, "failed_first", true)
	}
	return append(dst, '}')
}

// formatted appends what done tells of a channel.
func formatted(dst []byte, f *stream.Formatted) []byte {
	dst = jsonline.String(append(dst, `{"channel":`...), f.Channel)
	dst = boolean(dst, "is_split", f.IsSplit)
	dst = integer(dst, "parts", f.Parts)
	dst = key(dst, "metadata")
	if f.Metadata == nil {
		dst = append(dst, "null"...)
	} else {
		dst = jsonline.Object(dst, f.Metadata)
	}
	if d := f.Delivery; d != nil {
		dst = jsonline.String(append(key(dst, "delivery"), `{"status":`...), d.Status)
		dst = integer(dst, "attempts", d.Attempts)
		dst = strconv.AppendInt(key(dst, "ms"), d.Millis, 10)
		dst = append(str(dst, "id", d.ID), '}')
	}
	return append(dst, '}')
}

// names appends an array of texts.
func names(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		dst = jsonline.String(comma(dst, i), s)
	}
	return append(dst, ']')
}

// said is str for a text that is left out if it is empty.
func said(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return str(dst, name, value)
}

// given is integer for a number that is left out if it is 0.
func given(dst []byte, name string, value int) []byte {
	if value == 0 {
		return dst
	}
	return integer(dst, name, value)
}
