package geminisim

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// none in place of an id or a signature leaves it out.
const none = "none"

// directiveParser returns the reader of a directive's argument, or nil for an unknown directive.
func directiveParser(name string) func(arg string) (step, error) {
	return map[string]func(string) (step, error){
		"text":     parseText(textPart),
		"thought":  parseText(thoughtPart),
		"fill":     parseFill,
		"call":     parseCall,
		"parts":    parseParts,
		"data":     parseData,
		"raw":      parseRaw,
		"finish":   parseFinish,
		"usage":    parseUsage,
		"delay":    parseDelay,
		"split":    parseSplit,
		"status":   parseStatus,
		"header":   parseHeader,
		"body":     parseBody,
		"error":    parseError,
		"redirect": parseRedirect,
		"repeat":   parseRepeat,
		"cut":      parseEnding("cut"),
		"reset":    parseEnding("reset"),
		"end":      parseEnding("end"),
		"stall":    parseEnding("stall"),
		"hang":     parseEnding("hang"),
	}[name]
}

// usageError makes the error of a directive that is not written as usage says.
func usageError(ok bool, usage string) error {
	if ok {
		return nil
	}
	return errors.New("want: " + usage)
}

// unquoted returns what s stands for if it is a Go-quoted string, else s.
func unquoted(s string) string {
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return s
}

// unquotedText returns the text of an argument that may be Go-quoted.
func unquotedText(arg string) (string, error) {
	if !strings.HasPrefix(arg, `"`) {
		return arg, nil
	}
	s, err := strconv.Unquote(arg)
	if err != nil {
		return "", errors.New("a text that starts with a quote must be a whole Go-quoted string")
	}
	return s, nil
}

// parseText parses a directive that sends text or a thought.
func parseText(part func(string) outPart) func(string) (step, error) {
	return func(arg string) (step, error) {
		s, err := unquotedText(arg)
		return func(t *playing) error { return t.sendParts(part(s)) }, err
	}
}

// parseFill: a text of so many bytes, all "x".
func parseFill(arg string) (step, error) {
	n, err := strconv.Atoi(arg)
	return func(t *playing) error { return t.sendParts(textPart(strings.Repeat("x", n))) }, usageError(err == nil && n >= 0, "fill BYTES")
}

// parseCall parses call NAME {ARGUMENTS} with id= and signature= behind it.
// Without a signature the simulator makes one, as the real service does for the
// first call of a step.
func parseCall(arg string) (step, error) {
	name, rest := cutWord(arg)
	args, rest, err := leadingObject(rest)
	if err != nil {
		return nil, err
	}
	var id, signature string
	for _, option := range strings.Fields(rest) {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "id":
			id = value
		case "sig":
			signature = value
		default:
			return nil, fmt.Errorf("call: %q is neither id=… nor sig=…", option)
		}
	}
	return func(t *playing) error { return t.sendCall(name, args, id, signature) }, usageError(name != "", "call NAME {ARGS} [id=ID] [sig=BASE64]")
}

// leadingObject takes the JSON object, if any, off the start of s.
func leadingObject(s string) (object jsontext.Value, rest string, err error) {
	if !strings.HasPrefix(s, "{") {
		return nil, s, nil
	}
	dec := jsontext.NewDecoder(strings.NewReader(s))
	v, err := dec.ReadValue()
	if err != nil {
		return nil, "", err
	}
	return v.Clone(), s[dec.InputOffset():], nil
}

// parseParts parses parts as JSON. They are sent unchanged. Their calls are remembered for the
// check of the next request.
func parseParts(arg string) (step, error) {
	var raw []jsontext.Value
	if err := json.Unmarshal([]byte(arg), &raw); err != nil {
		return nil, fmt.Errorf("parts: %w", err)
	}
	out := make([]outPart, len(raw))
	for i, v := range raw {
		out[i] = outPart{Raw: v}
	}
	var known []part
	_ = json.Unmarshal([]byte(arg), &known) // faulty parts, sent on purpose, are not remembered
	return func(t *playing) error {
		t.recordCalls(known)
		return t.sendParts(out...)
	}, nil
}

// parseData parses a whole event. It may stand over several lines of the
// script.
func parseData(arg string) (step, error) {
	v := jsontext.Value(arg)
	if !v.IsValid() {
		return nil, errors.New("data: not valid JSON (to send that on purpose, use raw)")
	}
	flat := v.Clone()
	if strings.Contains(arg, "\n") { // written over several lines of the script, but an event has one
		if err := flat.Compact(); err != nil {
			return nil, err
		}
	}
	known := partsOf(v)
	return func(t *playing) error {
		t.recordCalls(known)
		return t.sendEvent(flat)
	}, nil
}

// parseRaw parses bytes that are sent as they are, valid or not.
func parseRaw(arg string) (step, error) {
	s, err := strconv.Unquote(arg)
	if err != nil {
		return nil, errors.New(`want: raw "GO-QUOTED BYTES"`)
	}
	return func(t *playing) error { return t.write(s) }, nil
}

// parseFinish parses the end of an answer: a reason, and a message for those
// that have one.
func parseFinish(arg string) (step, error) {
	reason, message := cutWord(arg)
	message, err := unquotedText(message)
	if reason == "" {
		err = usageError(false, "finish REASON [MESSAGE]")
	}
	return func(t *playing) error {
		return t.sendChunk([]outPart{textPart("")}, reason, message, t.usage)
	}, err
}

// parseUsage parses the usage of the next chunks.
func parseUsage(arg string) (step, error) {
	if arg == none {
		return func(t *playing) error { t.usage = nil; return nil }, nil
	}
	var prompt, candidates, thoughts int
	n, _ := fmt.Sscan(arg, &prompt, &candidates, &thoughts)
	return func(t *playing) error {
		t.usage = newUsage(prompt, candidates, thoughts)
		return nil
	}, usageError(n >= 2 && len(strings.Fields(arg)) == n, "usage PROMPT CANDIDATES [THOUGHTS], or usage none")
}

// parseDelay parses a pause. In a bubble of testing/synctest it takes no time.
func parseDelay(arg string) (step, error) {
	d, err := time.ParseDuration(arg)
	return func(t *playing) error { return t.sleep(d) }, usageError(err == nil, "delay DURATION")
}

// parseSplit parses how many bytes are written at once from here on, so that a
// character or a line is cut anywhere.
func parseSplit(arg string) (step, error) {
	n, err := strconv.Atoi(arg)
	return func(t *playing) error { t.split = n; return nil }, usageError(err == nil && n >= 0, "split BYTES (0: no more)")
}

// parseRepeat parses a directive that is done several times.
func parseRepeat(arg string) (step, error) {
	number, rest := cutWord(arg)
	n, err := strconv.Atoi(number)
	name, rest := cutWord(rest)
	parse := directiveParser(name)
	if err != nil || n < 0 || parse == nil {
		return nil, usageError(false, "repeat TIMES DIRECTIVE")
	}
	inner, err := parse(rest)
	return func(t *playing) error {
		for range n {
			if err := inner(t); err != nil {
				return err
			}
		}
		return nil
	}, err
}

// parseEnding parses the ways in which a connection breaks off.
func parseEnding(name string) func(string) (step, error) {
	return func(arg string) (step, error) {
		err := usageError(arg == "", name+", without an argument")
		switch name {
		case "cut":
			return func(t *playing) error { return t.cutConnection(false) }, err
		case "reset":
			return func(t *playing) error { return t.cutConnection(true) }, err
		case "stall":
			return func(t *playing) error { return errors.Join(t.flush(), t.wait()) }, err
		case "hang":
			return func(t *playing) error { return t.wait() }, err
		}
		return func(*playing) error { return errEnd }, err
	}
}
