package run

import (
	"errors"

	"sluice/internal/base/fault"
	"sluice/stream"
)

// Branch is the sink of a run inside a turn: an agent of a team, a node of a workflow, an agent
// that another one called, or a held answer. It bounds the run's text, says whose its events are,
// and gives its calls ids that are unique in the stream of the turn. All of it belongs to the
// goroutine of the run.
type Branch struct {
	Owner       Owner
	Attribution stream.Attribution // of events that name no origin; zero: they stay as they are
	Max         int                // bytes of text; 0: no bound
	Long        error              // of a longer text; nil: one that names the model
	Size        int                // bytes of text so far
	// Stopped is why the run was stopped: its text is too long. From then on no event is passed on.
	Stopped error
}

// Owner is the run that a Branch belongs to.
type Owner interface {
	// EmitText gets a piece of the run's text. The piece belongs to its sender.
	EmitText(piece *stream.Delta) error
	// Pass gets any other event. With Branch.Attribution it may be retained, as its attribution was
	// copied. inner: it comes from a run further inside (stream.Inner).
	Pass(ev stream.Event, inner bool) error
	// CallID returns the id that all events of a call carry. own is the agent's id; if the event
	// comes from further inside, it is the id given there.
	CallID(own string, inner bool) string
}

// Emit implements stream.Sink.
func (b *Branch) Emit(ev stream.Event) error {
	if b.Stopped != nil {
		return b.Stopped
	}
	if d, ok := ev.(*stream.Delta); ok {
		if b.Size += len(d.Text); b.Max > 0 && b.Size > b.Max {
			b.stopTooLong()
			return b.Stopped
		}
		return b.Owner.EmitText(d)
	}
	if r, ok := ev.(*stream.Reset); ok {
		b.Size = max(0, b.Size-r.Back)
	}
	inner := stream.Inner(ev) // before it says whose it is
	if b.Attribution != (stream.Attribution{}) {
		ev = stream.Attributed(ev, b.Attribution)
	}
	if id := stream.CallIDOf(ev); id != nil {
		*id = b.Owner.CallID(*id, inner)
	}
	return b.Owner.Pass(ev, inner)
}

func (b *Branch) stopTooLong() {
	if b.Stopped = b.Long; b.Stopped == nil {
		b.Stopped = &fault.Error{Type: fault.ModelUnavailable, Message: fault.ModelUnavailableMessage, Err: errors.New("the agent's text is too long")}
	}
}

// Recover makes a panic of a run the run's failure alone. It is to be deferred.
func Recover(err *error) {
	if p := recover(); p != nil {
		*err = stream.NewPanic(p)
	}
}
