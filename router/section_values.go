package router

import (
	"fmt"
	"strings"
	"time"

	"sluice/config"
	"sluice/config/file"
)

// These put the value of a key in its place. A key that is absent, or has a fault
// already, changes nothing.

// take reads a text if there is one; else *p stays, which holds the default. So
// do its siblings below.
func take(p *string, n *file.Node) {
	if s, ok := n.Text(); ok {
		*p = s
	}
}

// takeBool reads a flag.
func takeBool(p *bool, n *file.Node) {
	if b, ok := n.Bool(); ok {
		*p = b
	}
}

// takeInt reads a whole number, whose bounds the schema has checked.
func takeInt(p *int, n *file.Node) {
	if i, ok := n.Int(); ok {
		*p = i
	}
}

// takeFloat reads a number, whose bounds the schema has checked.
func takeFloat(p *float64, n *file.Node) {
	if f, ok := n.Float(); ok {
		*p = f
	}
}

// takeDuration reads a duration from least to most, both included. A schema has
// no words for that.
func takeDuration(p *time.Duration, n *file.Node, least, most time.Duration) {
	text, ok := n.Text()
	if !ok {
		return
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > most {
		n.Fault(fmt.Sprintf("must be a duration from %s to %s, with its unit, such as 15s or 500ms",
			durationText(least), durationText(most)))
		return
	}
	*p = d
}

// durationText writes d as a person would: 10m, not 10m0s.
func durationText(d time.Duration) string {
	text := config.DurationText(d)
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	return text
}

// takeTemplate wants a text of up to 16 KiB in which each placeholder stands, by its
// name or by its number.
func takeTemplate(p *string, n *file.Node, placeholders ...string) {
	text, ok := n.Text()
	if !ok {
		return
	}
	if len(text) > maxTemplate {
		n.Fault("must not be longer than 16 KiB")
		return
	}
	for i, name := range placeholders {
		if !strings.Contains(text, name) && !strings.Contains(text, fmt.Sprintf("{%d}", i)) {
			n.Fault("must hold " + name)
			return
		}
	}
	*p = text
}

// temperature reads a number, null for none, or nothing for the default.
func temperature(n *file.Node, otherwise float64) *float64 {
	if n.IsNull() {
		return nil
	}
	takeFloat(&otherwise, n)
	return &otherwise
}

// modelKey reads the key of a model that is in the file. default is always there.
func modelKey(n *file.Node) string {
	const defaultKey = "default"
	key, ok := n.Text()
	if !ok {
		return ""
	}
	if key != defaultKey && !n.Section("models").Has(key) {
		n.Fault("there is no such model")
		return ""
	}
	return key
}

// texts returns the strings of a list. What is no string has been reported by
// the schema.
func texts(list *file.Node) (all []string) {
	for item := range list.Members() {
		if s, ok := item.Text(); ok {
			all = append(all, s)
		}
	}
	return all
}
