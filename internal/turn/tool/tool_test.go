package tool_test

import (
	"testing"

	"sluice/internal/turn/tool"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	set := &tool.Set{Specs: []tool.Spec{{Name: "a", Server: "s1"}, {Name: "b", Server: "s2"}}}
	if got := set.Lookup("b"); got != &set.Specs[1] {
		t.Errorf("Lookup(b) = %+v, want the set's own spec", got)
	}
	for _, s := range []*tool.Set{nil, {}, set} {
		if got := s.Lookup("B"); got != nil {
			t.Errorf("Lookup of an unknown name = %+v", got)
		}
	}
}

func TestRepeatable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a    tool.Annotations
		want bool
	}{
		{tool.Annotations{}, false}, {tool.Annotations{Destructive: true, OpenWorld: true}, false},
		{tool.Annotations{ReadOnly: true}, true}, {tool.Annotations{Idempotent: true, Destructive: true}, true},
	} {
		if got := tt.a.Repeatable(); got != tt.want {
			t.Errorf("%+v.Repeatable() = %v", tt.a, got)
		}
	}
}

func TestPolicyOverridesTheServer(t *testing.T) {
	t.Parallel()
	said := tool.Annotations{Title: "T", ReadOnly: true, OpenWorld: true}
	this := []string{"this"}
	for name, tt := range map[string]struct {
		policy tool.Policy
		want   tool.Annotations
	}{
		"nothing":      {tool.Policy{}, said},
		"another tool": {tool.Policy{Destructive: []string{"other"}}, said},
		"destructive":  {tool.Policy{Destructive: this}, tool.Annotations{Title: "T", Destructive: true, OpenWorld: true}},
		"both":         {tool.Policy{ReadOnly: this, Destructive: this}, tool.Annotations{Title: "T", Destructive: true, OpenWorld: true}},
		"idempotent":   {tool.Policy{Idempotent: this}, tool.Annotations{Title: "T", ReadOnly: true, Idempotent: true, OpenWorld: true}},
	} {
		got := said
		tt.policy.Override("this", &got)
		if got != tt.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tt.want)
		}
	}
}
