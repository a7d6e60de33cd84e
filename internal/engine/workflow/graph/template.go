// This file has texts with expressions in them: prompts of people and inputs of agents. A template
// is compiled with the file; filling it in costs an evaluation for each expression and one copy.
// The text is not escaped, because it goes to a model or a person and into no other language.

package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// template is a text with expressions in {{ }}. Values are never read as a template.
type template struct {
	texts []string // one more than expressions
	exprs []*expression
}

// parseTemplate compiles a text. To write {{ itself, an expression says it: {{"{{"}}.
//
// Each expression is compiled on its own. The error is about the first expression that does not
// compile, and quotes only its names.
func parseTemplate(text string) (*template, error) {
	t := new(template)
	for {
		before, rest, found := strings.Cut(text, "{{")
		t.texts = append(t.texts, before)
		if !found {
			return t, nil
		}
		end := closingIndex(rest)
		if end < 0 {
			return nil, errors.New("{{ is not followed by }}")
		}
		e, err := newExpression(strings.TrimSpace(rest[:end]), false)
		if err != nil {
			return nil, fmt.Errorf("between {{ and }}: %w", err)
		}
		t.exprs = append(t.exprs, e)
		text = rest[end+2:]
	}
}

// closingIndex returns where the expression ends that text begins with: at the first }} that
// stands in no string and closes nothing that the expression opened. -1: nowhere.
//
// It knows strings with either quote and nested braces, but not CEL's raw strings, where a
// backslash is not an escape.
func closingIndex(text string) int {
	open := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\'', '"':
			n := quotedLength(text[i:])
			if n < 0 {
				return -1
			}
			i += n - 1
		case '{':
			open++
		case '}':
			if open > 0 {
				open--
			} else if strings.HasPrefix(text[i:], "}}") {
				return i
			}
		}
	}
	return -1
}

// quotedLength returns the length of the string that text begins with; -1: it does not end.
func quotedLength(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i + 1
		}
	}
	return -1
}

// fillText returns the text with the values in it: texts as they are, the rest as JSON.
//
// The error is an *expressionError, for a text longer than maxState as well.
func (t *template) fillText(ctx context.Context, v View) (string, error) {
	if len(t.exprs) == 0 {
		return t.texts[0], nil
	}
	var b strings.Builder
	for i, e := range t.exprs {
		b.WriteString(t.texts[i])
		value, err := e.eval(ctx, v)
		if err != nil {
			return "", err
		}
		b.WriteString(Text(value))
		if b.Len() > MaxText {
			return "", &expressionError{e.source, errors.New("the text is longer than 1 MiB")}
		}
	}
	b.WriteString(t.texts[len(t.exprs)])
	return b.String(), nil
}

// Text writes a value as a person reads it.
func Text(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	text, err := json.Marshal(value)
	if err != nil { // plain values: cannot happen
		return ""
	}
	return string(text)
}

// MaxText bounds the output and the input of one node, in bytes.
const MaxText = 1 << 20
