package dialect_test

import (
	"testing"

	"sluice/internal/edge/dialect"
)

// Only images, audio and files are attachments. Thoughts and calls of an assistant are not.
func TestPartOf(t *testing.T) {
	t.Parallel()
	for use, kinds := range map[dialect.PartKind][]string{
		dialect.PartText:       {"text", "input_text", "output_text", "refusal"},
		dialect.PartAttachment: {"image", "image_url", "input_image", "input_audio", "audio", "file", "input_file", "document", "binary", "video_url"},
		dialect.PartSilent:     {"reasoning", "thinking", "redacted_thinking", "step-start", "source-url", "source-document", "data-image"},
		dialect.PartUnknown:    {"", "tool_use", "tool-call", "server_tool_use", "web_search_tool_result", "profile", "new"},
	} {
		for _, kind := range kinds {
			got, member := dialect.PartOf(kind)
			if got != use || (member != "") != (use == dialect.PartText) {
				t.Errorf("%q is %d with the text in %q, want %d", kind, got, member, use)
			}
		}
	}
}
