package mcpclient

import (
	"context"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"sluice/internal/turn/chat"
	"sluice/mcpclient/internal/wire"
)

// addIdentity adds for whom the call is made, so that the server knows. It leaves out unknown
// names. The arguments are the model's, so the server can distinguish its word from ours.
func addIdentity(ctx context.Context, req *mcp.CallToolRequest, x *wire.Exchange) {
	who := chat.TurnOf(ctx).Caller
	for _, part := range []struct{ meta, header, value string }{
		{"sluice/tenant", "X-Sluice-Tenant", who.Tenant},
		{"sluice/user", "X-Sluice-User", who.User},
	} {
		if x.Header == nil {
			x.Header = map[string]string{}
		}
		// Also with an empty value: a header of the configuration would name somebody else.
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

// headerValue returns text with the percent sign and all bytes but visible ASCII percent-encoded,
// so that the server can restore it.
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
