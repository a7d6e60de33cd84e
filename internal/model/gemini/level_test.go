package gemini

import (
	"testing"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// A caller's level of thinking is sent in the model's own form. A model that is set not to
// think does not.
func TestLevelOfOneCall(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, own, level, want string }{
		{"gemini-3-pro", "summary", "", `{"includeThoughts":true}`},
		{"gemini-3-pro", "high", "low", `{"includeThoughts":true,"thinkingLevel":"LOW"}`},
		{"gemini-2.5-flash", "summary", "low", `{"includeThoughts":true,"thinkingBudget":1024}`},
		{"gemini-2.5-flash", "high", "", `{"includeThoughts":true,"thinkingBudget":24576}`},
		{"gemini-3-pro", "summary", "off", ""},
		{"gemini-3-pro", "off", "high", ""},
		{"gemini-2.5-flash", "summary", "off", `{"thinkingBudget":0}`},
		{"gemini-2.5-flash", "off", "high", `{"thinkingBudget":0}`},
	} {
		g, err := settingsOf(model.Spec{Model: tt.name, Generation: model.Generation{Thinking: model.Thinking{Word: tt.own}}})
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if tt.want != "" {
			want = `,"generationConfig":{"thinkingConfig":` + tt.want + `}`
		}
		if got := string(g.append(nil, &chat.ModelRequest{Thinking: tt.level}, nil)); got != want {
			t.Errorf("%s, %s, asked for %q: %s, want %s", tt.name, tt.own, tt.level, got, want)
		}
	}
}
