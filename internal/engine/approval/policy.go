package approval

import "sluice/internal/turn/tool"

// Mode says of which class of tools a person must allow the calls.
type Mode string

// Modes.
const (
	Off             Mode = "off"
	modeDestructive Mode = "destructive" // what may destroy
	Writes          Mode = "writes"      // tools that are not read-only
	modeAll         Mode = "all"
)

// Reasons why a person is asked.
const (
	reasonConfirm = "confirm" // the operator names the tool
	reasonChanged = "tool_changed"
)

// Reason returns why a call of the tool needs a person; empty if it does not. The operator's
// setting for a tool wins. If a server calls its tool destructive, it is believed whatever else is
// known of the tool.
func (m Mode) Reason(spec *tool.Spec) string {
	switch {
	case spec == nil || spec.Confirm == tool.ConfirmNever:
		return ""
	case spec.Confirm == tool.ConfirmAlways:
		return reasonConfirm
	}
	destructive := spec.ClaimsDestructive || spec.Annotations.Destructive && !spec.Annotations.ReadOnly
	switch m {
	case modeDestructive:
		if destructive {
			return string(modeDestructive)
		}
	case Writes:
		if destructive || !spec.Annotations.ReadOnly {
			return string(Writes)
		}
	case modeAll:
		return string(modeAll)
	}
	return ""
}

// Holds reports whether a call must wait for a person.
func (m Mode) Holds(_ tool.Call, spec *tool.Spec) bool { return m.Reason(spec) != "" }
