package todo

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// owner is whose list a call is about: the tenant and the user that its _meta names, as a JSON
// array. It is empty if both are missing: all calls without an owner share one list.
type owner string

// ownerOf reads _meta. The client writes it, not a model.
func ownerOf(meta *mcp.Meta) owner {
	if meta == nil {
		return ""
	}
	tenant, _ := meta.AdditionalFields["sluice/tenant"].(string)
	user, _ := meta.AdditionalFields["sluice/user"].(string)
	if tenant == "" && user == "" {
		return ""
	}
	text, _ := json.Marshal([]string{tenant, user}) // strings always have a JSON form
	return owner(text)
}
