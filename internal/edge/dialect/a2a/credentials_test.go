package a2a

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A card says which credentials suffice, in the form of both versions.
func TestCardNamesCredentials(t *testing.T) {
	t.Parallel()
	for _, v03 := range []bool{true, false} {
		s := New(Config{V03: v03, Credentials: &Credentials{Keys: true, Issuers: []string{"https://id.example/", "https://other.example/x"}}})
		x, err := s.openCard(httptest.NewRequest("GET", "/.well-known/agent-card.json", nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		var card struct {
			Schemes      map[string]any   `json:"securitySchemes"`
			Requirements []map[string]any `json:"securityRequirements"`
			Security     []map[string]any `json:"security"`
		}
		if err := json.Unmarshal(x.Reply.Body, &card); err != nil {
			t.Fatal(err)
		}
		if len(card.Schemes) != 4 || len(card.Requirements) != 4 || v03 && len(card.Security) != 4 {
			t.Errorf("0.3 %v: %d schemes, %d requirements, %d of 0.3: %s", v03, len(card.Schemes), len(card.Requirements), len(card.Security), x.Reply.Body)
		}
		oidc, _ := json.Marshal(card.Schemes["oidc2"])
		var one map[string]any
		_ = json.Unmarshal(oidc, &one)
		inner, _ := one["openIdConnectSecurityScheme"].(map[string]any)
		if diff := cmp.Diff("https://other.example/x/.well-known/openid-configuration", inner["openIdConnectUrl"]); diff != "" {
			t.Errorf("oidc2 %s (-want +got):\n%s", oidc, diff)
		}
	}
	open, err := New(Config{}).openCard(httptest.NewRequest("GET", "/.well-known/agent-card.json", nil), nil)
	var card map[string]any
	if err != nil || json.Unmarshal(open.Reply.Body, &card) != nil || card["securitySchemes"] != nil || card["securityRequirements"] != nil {
		t.Errorf("an open gateway: %v %v", card, err)
	}
}
