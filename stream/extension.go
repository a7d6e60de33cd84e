package stream

// Extension is an event besides the ten core events. Its type lies in this package, in a file of
// its own. The file has the event's name, its members (a struct with JSON tags, with Attribution if
// several agents may speak), and its rule of grammar. A new one also needs its row in newExtension.
//
// The native encoder writes every extension. The log and the metrics count it under its name.
// Encoders of other protocols skip an extension that their protocol cannot express. So a new
// extension works everywhere as soon as somebody emits it.
type Extension interface {
	Event
	// Name is the event's name on the wire.
	Name() string
	// Allow returns an error if the event may not come now. It is called once for
	// each event of this type, in order, and may note in t what later ones need.
	Allow(t *Turn) error
}

// Turn is the state of a turn that the rules of extensions may read and change.
type Turn struct {
	size int // bytes of the answer
	seen map[string]int
	open map[string]string // key → description of a part that must end before Done

	// The fields below are for a checked or formatted answer; see Quality.
	phase          int  // the last one, with its attempt
	attempt        int  // the last one
	messages       int  // ChannelMessage.Total
	answerComplete bool // no piece of the answer may follow
}

// hasAnswer reports whether a piece of the answer was emitted, also if it was taken back since.
func (t *Turn) hasAnswer() bool { return t.size > 0 || t.Count(resetName) > 0 }

// Count returns how many extensions of that name there were before this one.
func (t *Turn) Count(name string) int { return t.seen[name] }

// Open opens a part that must be closed before Done. Its key begins with the name of the event. It
// returns false if it is open already.
func (t *Turn) Open(key string) bool {
	if _, ok := t.open[key]; ok {
		return false
	}
	if t.open == nil {
		t.open = map[string]string{}
	}
	t.open[key] = key
	return true
}

// isOpen reports whether key was opened and not closed yet.
func (t *Turn) isOpen(key string) bool {
	_, ok := t.open[key]
	return ok
}

// Close closes the part that Open opened. It returns false if it is not open.
func (t *Turn) Close(key string) bool {
	_, ok := t.open[key]
	delete(t.open, key)
	return ok
}

// countExtension counts a reported extension. Rules ask how often.
func (t *Turn) countExtension(name string) {
	if t.seen == nil {
		t.seen = map[string]int{}
	}
	t.seen[name]++
}

// Name returns ev's name on the wire of our own protocol, where all events of a tool call share
// one. It is empty for an unknown event.
func Name(ev Event) string {
	switch ev := ev.(type) {
	case *Delta:
		return "response_delta"
	case *Thinking:
		return "thinking"
	case *ToolStarted, *ToolProgress, *ToolCompleted, *ToolFailed, *ToolUnknown, *ToolRequired:
		return "tool_call"
	case *Start:
		return "start"
	case *Error:
		return "error"
	case *Done:
		return "done"
	case Extension:
		return ev.Name()
	}
	return ""
}
