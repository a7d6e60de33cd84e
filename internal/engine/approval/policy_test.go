package approval

import (
	"testing"

	"sluice/internal/turn/tool"
)

func TestReasons(t *testing.T) {
	t.Parallel()
	plain := tool.Annotations{Destructive: true, OpenWorld: true} // as MCP takes a tool that says nothing
	for name, tt := range map[string]struct {
		spec *tool.Spec
		want [4]string // off, destructive, writes, all
	}{
		"unknown":                             {nil, [4]string{}},
		"says nothing":                        {&tool.Spec{Annotations: plain}, [4]string{"", "destructive", "writes", "all"}},
		"adds":                                {&tool.Spec{Annotations: tool.Annotations{}}, [4]string{"", "", "writes", "all"}},
		"reads":                               {&tool.Spec{Annotations: tool.Annotations{ReadOnly: true, Destructive: true}}, [4]string{"", "", "", "all"}},
		"reads, and calls itself destructive": {&tool.Spec{Annotations: tool.Annotations{ReadOnly: true}, ClaimsDestructive: true}, [4]string{"", "destructive", "writes", "all"}},
		"always":                              {&tool.Spec{Annotations: tool.Annotations{ReadOnly: true}, Confirm: tool.ConfirmAlways}, [4]string{"confirm", "confirm", "confirm", "confirm"}},
		"never":                               {&tool.Spec{Annotations: plain, ClaimsDestructive: true, Confirm: tool.ConfirmNever}, [4]string{}},
	} {
		for i, mode := range []Mode{Off, modeDestructive, Writes, modeAll} {
			if got := mode.Reason(tt.spec); got != tt.want[i] || mode.Holds(tool.Call{}, tt.spec) != (got != "") {
				t.Errorf("%s, %s: %q, want %q", name, mode, got, tt.want[i])
			}
		}
	}
}
