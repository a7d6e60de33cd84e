package mcpclient

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/mcpclient/internal/wire"
	"sluice/tool"
)

// wireResult is an MCP CallToolResult.
type wireResult struct {
	Content           []wireContent  `json:"content"`
	StructuredContent jsontext.Value `json:"structuredContent"`
	IsError           bool           `json:"isError"`
}

// wireContent is any of its contents.
type wireContent struct {
	Type     string `json:"type"`
	Text     string `json:"text"`     // of text
	Data     string `json:"data"`     // of image and audio, base64
	MIMEType string `json:"mimeType"` // of image, audio and resource_link
	URI      string `json:"uri"`      // of resource_link
	Name     string `json:"name"`
	Resource struct {
		URI      string  `json:"uri"`
		MIMEType string  `json:"mimeType"`
		Text     *string `json:"text"`
		Blob     string  `json:"blob"`
	} `json:"resource"`
}

// readResult reads a result. The error means that raw is none.
func readResult(raw []byte) (*wireResult, error) {
	var r wireResult
	if err := json.Unmarshal(raw, &r, wire.Lenient); err != nil {
		return nil, fmt.Errorf("unreadable tool result: %w", err)
	}
	if r.StructuredContent.Kind() == 'n' {
		r.StructuredContent = nil
	}
	if r.Content == nil && r.StructuredContent == nil {
		return nil, fmt.Errorf("unreadable tool result: it has no content")
	}
	return &r, nil
}

// render returns the text of a tool's result.
func (r *wireResult) render() string {
	parts := make([]string, 0, len(r.Content))
	hasText := false
	for _, c := range r.Content {
		part, isText := c.text()
		hasText = hasText || isText && part != ""
		parts = append(parts, part)
	}
	if !hasText && len(r.StructuredContent) > 0 {
		parts = append(parts, string(r.StructuredContent))
	}
	return tool.Clean(withoutData(strings.Join(parts, "\n")))
}

// text returns what stands for c in a text, and whether it is c's own text.
func (c wireContent) text() (string, bool) {
	switch c.Type {
	case "text":
		return c.Text, true
	case "image", "audio":
		return notShown(cmp.Or(clipped(c.MIMEType, 200), c.Type), c.Data), false
	case "resource_link":
		return note("link", c.Name, c.URI), false
	case "resource":
		if c.Resource.Text != nil {
			return *c.Resource.Text, true
		}
		return note("resource", c.Resource.URI, c.Resource.MIMEType, size(c.Resource.Blob)), false
	}
	return note("content of type", c.Type), false
}

// note stands for a content that is not text: [resource x://y, 12 KB, not shown].
func note(kind string, about ...string) string {
	var known []string
	for _, s := range about {
		if s != "" {
			known = append(known, clipped(s, 200))
		}
	}
	s := "[" + kind + " " + strings.Join(known, ", ")
	if kind != "link" {
		s += ", not shown"
	}
	return s + "]"
}

// size says how much data a base64 text holds.
func size(b64 string) string {
	n := base64.StdEncoding.DecodedLen(len(b64)) - strings.Count(b64[max(0, len(b64)-2):], "=")
	if n < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d KB", n/1024)
}
