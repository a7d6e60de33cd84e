package approval

import "sluice/tool"

// Mode says of which class of tools a person must allow the calls.
type Mode string

// Modes.
const (
	Off         Mode = "off"
	Destructive Mode = "destructive" // what may destroy
	Writes      Mode = "writes"      // what is not read-only
	All         Mode = "all"
)

// Reasons why a person is asked.
const (
	reasonConfirm = "confirm" // the operator names the tool
	reasonChanged = "tool_changed"
)

// Reason returns why a call of the tool needs a person; empty: it needs none. What the
// operator says of a tool wins; a server that calls its tool destructive is believed
// whatever else is said of it.
func (m Mode) Reason(spec *tool.Spec) string {
	switch {
	case spec == nil || spec.Confirm == tool.ConfirmNever:
		return ""
	case spec.Confirm == tool.ConfirmAlways:
		return reasonConfirm
	}
	destructive := spec.ClaimsDestructive || spec.Annotations.Destructive && !spec.Annotations.ReadOnly
	switch m {
	case Destructive:
		if destructive {
			return string(Destructive)
		}
	case Writes:
		if destructive || !spec.Annotations.ReadOnly {
			return string(Writes)
		}
	case All:
		return string(All)
	}
	return ""
}

// Holds says whether a call must wait for a person.
func (m Mode) Holds(_ tool.Call, spec *tool.Spec) bool { return m.Reason(spec) != "" }
