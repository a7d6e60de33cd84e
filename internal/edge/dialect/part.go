package dialect

import (
	"slices"
	"strings"
)

// PartKind is the use of a part of a message.
type PartKind int

// Kinds of parts.
const (
	PartUnknown    PartKind = iota // a newer client's, or a call as a part
	PartText                       // words of the speaker
	PartAttachment                 // an image, audio or a file
	PartSilent                     // for the page alone, or a thought: no model is shown it
)

// Attachment is the text that a model is shown in place of an attachment.
const Attachment = "[attachment left out]"

// attachments are words in the types of attachments, such as image_url and input_audio.
var attachments = []string{"image", "audio", "video", "file", "document", "binary", "media"}

// PartOf returns the use of a part by its type, in any protocol: clients pass on parts of others. If
// the part has a text, member is the name of the member with it.
func PartOf(kind string) (use PartKind, member string) {
	switch kind {
	case "text", "input_text", "output_text":
		return PartText, "text"
	case "refusal":
		return PartText, "refusal"
	case "reasoning", "thinking", "redacted_thinking", "reasoning_text", "summary_text", "step-start":
		return PartSilent, ""
	}
	if strings.HasPrefix(kind, "source-") || strings.HasPrefix(kind, "data-") {
		return PartSilent, ""
	}
	words := strings.FieldsFunc(kind, func(r rune) bool { return r == '_' || r == '-' })
	if slices.ContainsFunc(words, func(word string) bool { return slices.Contains(attachments, word) }) {
		return PartAttachment, ""
	}
	return PartUnknown, ""
}
