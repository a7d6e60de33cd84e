package stream

// attributable is an Extension of which several may speak in a turn.
type attributable interface {
	Extension
	// Attributed returns a copy with the given origin.
	Attributed(Attribution) Event
}

// Attributed returns a copy of ev with the origin a, or ev itself if its type has no origin. An
// event with an origin keeps it: the inner runner knows it better.
func Attributed(ev Event, a Attribution) Event {
	switch ev := ev.(type) {
	case *Thinking:
		return copyAttributed(ev, a)
	case *Delta:
		return copyAttributed(ev, a)
	case *Error:
		return copyAttributed(ev, a)
	case *ToolStarted:
		return copyAttributed(ev, a)
	case *ToolProgress:
		return copyAttributed(ev, a)
	case *ToolCompleted:
		return copyAttributed(ev, a)
	case *ToolFailed:
		return copyAttributed(ev, a)
	case *ToolUnknown:
		return copyAttributed(ev, a)
	case attributable:
		return ev.Attributed(a)
	}
	return ev
}

// copyAttributed returns a copy of an event that has an Attribution.
func copyAttributed[T any, P interface {
	*T
	Event
	setOrigin(Attribution)
}](ev P, a Attribution) Event {
	c := *ev
	P(&c).setOrigin(a)
	return P(&c)
}

// setOrigin sets the origin a unless the event has one. An event from within a team keeps the
// innermost origin.
func (own *Attribution) setOrigin(a Attribution) {
	if *own == (Attribution{}) {
		*own = a
	}
}

// CallOf returns the call that ev reports, to be changed in place; nil if it reports none.
func CallOf(ev Event) *Call {
	if c, ok := ev.(interface{ asCall() *Call }); ok {
		return c.asCall()
	}
	return nil
}

// asCall is promoted to the events that embed a Call.
func (c *Call) asCall() *Call { return c }
