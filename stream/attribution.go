package stream

// attributable is an Extension of which several may speak in a turn.
type attributable interface {
	Extension
	// Attributed returns a copy that says whose it is.
	Attributed(Attribution) Event
}

// Attributed returns a copy of ev that says whose it is, or ev itself if it has no
// place for that. What names its origin already keeps it: it comes from further
// inside.
func Attributed(ev Event, a Attribution) Event {
	switch ev := ev.(type) {
	case *Thinking:
		return attributed(ev, a)
	case *Delta:
		return attributed(ev, a)
	case *Error:
		return attributed(ev, a)
	case *ToolStarted:
		return attributed(ev, a)
	case *ToolProgress:
		return attributed(ev, a)
	case *ToolCompleted:
		return attributed(ev, a)
	case *ToolFailed:
		return attributed(ev, a)
	case *ToolUnknown:
		return attributed(ev, a)
	case attributable:
		return ev.Attributed(a)
	}
	return ev
}

// attributed returns a copy of an event that has an Attribution.
func attributed[T any, P interface {
	*T
	Event
	fill(Attribution)
}](ev P, a Attribution) Event {
	c := *ev
	P(&c).fill(a)
	return P(&c)
}

// fill sets an origin unless the event has one: what is reported from within a team keeps the
// innermost.
func (own *Attribution) fill(a Attribution) {
	if *own == (Attribution{}) {
		*own = a
	}
}

// CallOf returns the call that ev reports, to be changed in place; nil if it reports none.
func CallOf(ev Event) *Call {
	if c, ok := ev.(interface{ itself() *Call }); ok {
		return c.itself()
	}
	return nil
}

// itself is promoted to the events that embed a Call.
func (c *Call) itself() *Call { return c }
