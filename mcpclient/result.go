package mcpclient

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/tool"
	"sluice/mcpclient/internal/wire"
)

// result is an MCP CallToolResult as far as it can be read. A part in an odd form does not cost
// the others: a string is a text, and other JSON is its own text.
type result struct {
	parts      []string       // of the contents, in their order
	texts      []string       // of the parts, those that are texts
	structured jsontext.Value // nil without one
	isError    bool
}

// readResult reads a result. It returns nil if every part is unreadable.
func readResult(raw []byte) *result {
	var r result
	members := struct {
		Content    jsontext.Value `json:"content"`
		ToolResult jsontext.Value `json:"toolResult"` // of servers of 2024-10-07
		Structured jsontext.Value `json:"structuredContent"`
		IsError    jsontext.Value `json:"isError"`
	}{Content: raw}
	if members.Content.Kind() == '{' {
		members.Content = nil
		if json.Unmarshal(raw, &members, wire.Lenient) != nil {
			return nil
		}
	}
	r.isError = isTrue(members.IsError)
	readable := r.addContents(members.Content)
	readable = r.addContent(members.ToolResult) || readable
	if s := members.Structured; len(s) > 0 && s.Kind() != 'n' {
		r.structured, readable = s, true
	}
	if !readable {
		return nil
	}
	return &r
}

// addContents adds the contents of a result and reports whether it has a readable part. An empty list
// is readable: the tool ran and returned no content.
func (r *result) addContents(raw jsontext.Value) bool {
	if raw.Kind() != '[' {
		return r.addContent(raw)
	}
	var list []jsontext.Value
	if json.Unmarshal(raw, &list, wire.Lenient) != nil {
		return false
	}
	readable := len(list) == 0
	for _, content := range list {
		readable = r.addContent(content) || readable
	}
	return readable
}

// addContent adds one content and reports whether it can be read.
func (r *result) addContent(raw jsontext.Value) bool {
	part, isText, ok := readContent(raw)
	if !ok {
		return false
	}
	r.parts = append(r.parts, part)
	if isText {
		r.texts = append(r.texts, part)
	}
	return true
}

// isTrue reports whether a value says yes: servers have "true" and 1 as well.
func isTrue(raw jsontext.Value) bool {
	text, _ := wire.Text(raw)
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return n != 0
	}
	return strings.EqualFold(strings.TrimSpace(text), "true")
}

// wireContent is any content of a result. Its members are read one by one.
type wireContent struct {
	Type     jsontext.Value `json:"type"`
	Text     jsontext.Value `json:"text"`     // of text
	Data     jsontext.Value `json:"data"`     // of image and audio, base64
	MIMEType jsontext.Value `json:"mimeType"` // of image, audio and resource_link
	URI      jsontext.Value `json:"uri"`      // of resource_link
	Name     jsontext.Value `json:"name"`
	Resource jsontext.Value `json:"resource"`
}

// wireResource is the resource in a content.
type wireResource struct {
	URI      jsontext.Value `json:"uri"`
	MIMEType jsontext.Value `json:"mimeType"`
	Text     jsontext.Value `json:"text"`
	Blob     jsontext.Value `json:"blob"`
}

// readContent returns a content as text, and reports whether that is the content's own text and
// whether the content can be read at all.
func readContent(raw jsontext.Value) (part string, isText, ok bool) {
	var c wireContent
	if raw.Kind() != '{' || json.Unmarshal(raw, &c, wire.Lenient) != nil {
		part, ok = wire.Text(raw)
		return part, ok, ok
	}
	kind, _ := wire.Text(c.Type)
	switch kind {
	case "image", "audio":
		return notShown(cmp.Or(clipText(textOf(c.MIMEType), 200), kind), textOf(c.Data)), false, true
	case "resource_link":
		return placeholder("link", textOf(c.Name), textOf(c.URI)), false, true
	case "resource":
		part, isText = readResource(c.Resource)
		return part, isText, true
	}
	if text, has := wire.Text(c.Text); has || kind == "text" {
		return text, has, has
	}
	if kind == "" {
		return string(raw), true, true
	}
	return placeholder("content of type", kind), false, true
}

// readResource returns a resource as text, and reports whether that is its own text.
func readResource(raw jsontext.Value) (part string, isText bool) {
	var c wireResource
	if raw.Kind() != '{' || json.Unmarshal(raw, &c, wire.Lenient) != nil {
		return wire.Text(raw)
	}
	if text, ok := wire.Text(c.Text); ok {
		return text, true
	}
	return placeholder("resource", textOf(c.URI), textOf(c.MIMEType), dataSize(textOf(c.Blob))), false
}

// textOf returns a member as text, or "" without one.
func textOf(raw jsontext.Value) string {
	text, _ := wire.Text(raw)
	return text
}

// renderText returns the text of a tool's result. The structured content stands behind texts that
// do not hold it.
func (r *result) renderText() string {
	parts := r.parts
	if len(r.structured) > 0 && !r.holdsStructured() {
		parts = append(parts, string(r.structured))
	}
	return tool.Clean(withoutData(strings.Join(parts, "\n")))
}

// placeholder stands for a content that is not text: [resource x://y, 12 KB, not shown].
func placeholder(kind string, about ...string) string {
	var known []string
	for _, s := range about {
		if s != "" {
			known = append(known, clipText(s, 200))
		}
	}
	s := "[" + kind + " " + strings.Join(known, ", ")
	if kind != "link" {
		s += ", not shown"
	}
	return s + "]"
}

// dataSize describes the amount of data in a base64 text.
func dataSize(b64 string) string {
	n := base64.StdEncoding.DecodedLen(len(b64)) - strings.Count(b64[max(0, len(b64)-2):], "=")
	if n < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d KB", n/1024)
}
