package mcpclient

import (
	"context"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"sluice/internal/turn/chat"
	"sluice/mcpclient/internal/wire"
)

// addIdentity adds for whom the call is made, so that the server knows. What is not known is left
// out. The arguments are the model's, so the server can distinguish its word from ours.
func addIdentity(ctx context.Context, req *mcp.CallToolRequest, x *wire.Exchange) {
	who := chat.TurnOf(ctx).Caller
	for _, part := range []struct{ meta, header, value string }{
		{"sluice/tenant", "X-Sluice-Tenant", who.Tenant},
		{"sluice/user", "X-Sluice-User", who.User},
	} {
		if x.Header == nil {
			x.Header = map[string]string{}
		}
		// Also if it is empty: what the configuration says would name somebody else.
		x.Header[part.header] = headerValue(part.value)
		if part.value == "" {
			continue
		}
		setMeta(req, part.meta, part.value)
	}
}

// metaCallKey is the member of _meta with the key of a call: tool.WithKey.
const metaCallKey = "sluice/call_key"

// setMeta adds a member of _meta.
func setMeta(req *mcp.CallToolRequest, name, value string) {
	if req.Params.Meta == nil {
		req.Params.Meta = new(mcp.Meta)
	}
	if req.Params.Meta.AdditionalFields == nil {
		req.Params.Meta.AdditionalFields = map[string]any{}
	}
	req.Params.Meta.AdditionalFields[name] = value
}

// headerValue returns text with what is not visible ASCII percent-encoded, and the
// percent sign itself, so that nothing of it is lost on the way.
func headerValue(text string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c > ' ' && c < 0x7F && c != '%' {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}
