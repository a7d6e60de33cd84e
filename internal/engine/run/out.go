package run

import "sluice/stream"

// Out is the sink that a turn emits to. It keeps the first error of Sink and passes nothing
// on after it, so that callers need not look each time.
type Out struct {
	Sink stream.Sink
	Err  error
}

// Emit implements stream.Sink.
func (o *Out) Emit(ev stream.Event) error {
	if o.Err == nil {
		o.Err = o.Sink.Emit(ev)
	}
	return o.Err
}

// Flush implements stream.Sink: the turn is about to wait.
func (o *Out) Flush() error {
	if o.Err == nil {
		o.Err = o.Sink.Flush()
	}
	return o.Err
}
