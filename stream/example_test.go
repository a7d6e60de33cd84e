package stream_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/internal/turn/chat"
	"sluice/stream"
)

// shout is a Runner that answers with the input in capital letters. A Runner emits neither Start
// nor Done: the Frame does.
type shout struct{}

func (shout) Run(_ context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	for word := range strings.FieldsSeq(req.Input) {
		if err := sink.Emit(&stream.Delta{Text: strings.ToUpper(word) + "!"}); err != nil {
			return stream.Result{}, err
		}
	}
	return stream.Result{Reason: stream.Stop}, sink.Flush()
}

// printer is a Sink that prints the names of events.
type printer struct{}

func (printer) Emit(ev stream.Event) error {
	if d, ok := ev.(*stream.Delta); ok {
		fmt.Println(stream.Name(ev), d.Text)
		return nil
	}
	fmt.Println(stream.Name(ev))
	return nil
}

func (printer) Flush() error { return nil }

// A Runner answers one request, and a Frame makes a complete turn of it.
func ExampleRunner() {
	frame := stream.Frame{Runner: shout{}, Model: "loud"}
	err := frame.Run(context.Background(), &chat.Request{Input: "good morning"}, printer{})
	fmt.Println(err)
	// Output:
	// start
	// response_delta GOOD!
	// response_delta MORNING!
	// done
	// <nil>
}

// A Guard stands in front of a Sink and refuses events out of order.
func ExampleGuard() {
	guard := stream.NewGuard(printer{})
	fmt.Println(guard.Emit(&stream.Delta{Text: "too early"}) != nil)
	fmt.Println(guard.Emit(&stream.Start{Model: "m"}))
	// Output:
	// true
	// start
	// <nil>
}

// plain encodes the text of a turn, one line for each piece. It skips events that it does not know.
type plain struct{}

func (plain) Encode(dst []byte, s stream.Stamp, ev stream.Event) []byte {
	if d, ok := ev.(*stream.Delta); ok {
		dst = strconv.AppendInt(dst, int64(s.N), 10)
		dst = append(dst, ' ')
		dst = append(dst, d.Text...)
		dst = append(dst, '\n')
	}
	return dst
}

func (plain) Heartbeat() []byte { return []byte("\n") }

// An Encoder is a pure function: the same stamped events give the same bytes.
func ExampleEncoder() {
	var enc stream.Encoder = plain{}
	var out []byte
	for i, ev := range []stream.Event{&stream.Start{Model: "m"}, &stream.Delta{Text: "Hello."}, &stream.Done{Reason: stream.Stop}} {
		out = enc.Encode(out, stream.Stamp{N: i + 1, At: time.Duration(i) * time.Millisecond}, ev)
	}
	fmt.Printf("%s", out)
	// Output: 2 Hello.
}

// collector is an Output that keeps the numbers of events.
type collector struct{ numbers []int }

func (c *collector) Write(s stream.Stamp, _ stream.Event) error {
	c.numbers = append(c.numbers, s.N)
	return nil
}

func (*collector) Flush() error           { return nil }
func (*collector) Blocked() time.Duration { return 0 }

// A Stamper numbers the events of a turn for an Output. A turn that continues begins behind the
// events that it has had.
func ExampleOutput() {
	out := &collector{}
	stamper := stream.NewStamperAt(out, time.Now(), 7)
	for _, ev := range []stream.Event{&stream.Delta{Text: "go"}, &stream.Delta{Text: " on"}, &stream.Done{Reason: stream.Stop}} {
		if err := stamper.Emit(ev); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(out.numbers)
	// Output: [8 9 10]
}
