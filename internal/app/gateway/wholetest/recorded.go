package wholetest

import (
	"bytes"
	"net/http"
	"slices"
	"testing"

	"sluice/internal/app/gateway"
	"sluice/internal/edge/dialect"
	"sluice/stream"
)

// Observed is a Dialect whose turns are seen as they pass.
type Observed struct {
	dialect.Dialect
	// Opened is called with the exchange of each turn, and returns the function that gets its
	// events. open opens the same request once more.
	Opened func(x *dialect.Exchange, open func() (*dialect.Exchange, error)) (func(stream.Stamp, stream.Event), error)
}

// Routes implements dialect.Dialect.
func (o Observed) Routes() []dialect.Route {
	routes := slices.Clone(o.Dialect.Routes())
	for i := range routes {
		open := routes[i].Open
		if open == nil {
			continue
		}
		routes[i].Open = func(r *http.Request, body []byte) (*dialect.Exchange, error) {
			x, err := open(r, body)
			if err != nil || x.Reply != nil {
				return x, err
			}
			see, err := o.Opened(x, func() (*dialect.Exchange, error) { return open(r, body) })
			if err != nil {
				return nil, err
			}
			inner := x.Output
			x.Output = func(out stream.Output) stream.Output {
				if inner != nil {
					out = inner(out)
				}
				return tap{out, see}
			}
			return x, nil
		}
	}
	return routes
}

// tap shows events on their way to an Output.
type tap struct {
	stream.Output
	see func(stream.Stamp, stream.Event)
}

func (t tap) Write(s stream.Stamp, ev stream.Event) error {
	t.see(s, ev)
	return t.Output.Write(s, ev)
}

// Recorded is an event of a turn.
type Recorded struct {
	stream.Stamp
	stream.Event
}

// Record plays the transcript in a bubble, and returns the events of each of its turns. Events of a
// log are as the log would return them; drafts are among the events, too.
func (tr Transcript) Record(t *testing.T) (turns [][]Recorded) {
	t.Helper()
	opened := func(*dialect.Exchange, func() (*dialect.Exchange, error)) (func(stream.Stamp, stream.Event), error) {
		i := len(turns)
		turns = append(turns, nil)
		return func(s stream.Stamp, ev stream.Event) {
			if stream.Passing(ev) {
				turns[i] = append(turns[i], Recorded{s, ev})
				return
			}
			line, err := stream.AppendStored(nil, s, ev)
			if err == nil {
				err = stream.ReadStoredLine(line, func(s stream.Stamp, ev stream.Event) { turns[i] = append(turns[i], Recorded{s, ev}) })
			}
			if err != nil {
				t.Error(err)
			}
		}, nil
	}
	tr.PlayWith(t, tr.Gemini(t), new(bytes.Buffer), gateway.Seams{Dialect: func(d dialect.Dialect) dialect.Dialect { return Observed{d, opened} }})
	return slices.DeleteFunc(turns, func(turn []Recorded) bool { return len(turn) == 0 }) // it was refused
}
