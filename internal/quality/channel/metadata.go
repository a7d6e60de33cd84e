package channel

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON returns the same bytes as package json, faster. A test compares the two. Each turn of a
// channel reports it.
func (m *Metadata) JSON() jsontext.Value {
	b := make([]byte, 0, 128)
	b = appendTexts(append(b, `{"emojis_used":`...), m.EmojisUsed)
	b = strconv.AppendBool(append(b, `,"markdown_removed":`...), m.MarkdownRemoved)
	b = appendTexts(append(b, `,"degraded":`...), m.Degraded)
	b = strconv.AppendBool(append(b, `,"transliterated":`...), m.Transliterated)
	if m.LinksDropped != 0 {
		b = strconv.AppendInt(append(b, `,"links_dropped":`...), int64(m.LinksDropped), 10)
	}
	for _, flag := range [...]struct {
		is   bool
		text string
	}{{m.Truncated, `,"truncated":true`}, {m.MarkupIgnored, `,"markup_ignored":true`}, {m.ClipRisk, `,"clip_risk":true`}} {
		if flag.is {
			b = append(b, flag.text...)
		}
	}
	return append(b, '}')
}

// appendTexts appends a list of texts in JSON.
func appendTexts(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b, _ = jsontext.AppendQuote(b, s) // invalid UTF-8 is replaced
	}
	return append(b, ']')
}
