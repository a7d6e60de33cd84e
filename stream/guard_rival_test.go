package stream

import "testing"

type nowhere struct{}

func (nowhere) Emit(Event) error { return nil }
func (nowhere) Flush() error     { return nil }

// BenchmarkGuardDelta passes a piece of the answer with the short cut that Emit has for
// it, and without.
func BenchmarkGuardDelta(b *testing.B) {
	delta := &Delta{Text: "five and twenty letters, "}
	for _, rival := range []struct {
		name string
		emit func(*Guard) error
	}{
		{"short-cut", func(g *Guard) error { return g.Emit(delta) }},
		{"checked", func(g *Guard) error {
			next, err := g.checkEvent(delta)
			if err == nil {
				err = g.emitToSink(delta)
			}
			g.turn.size += len(delta.Text)
			g.state = next
			return err
		}},
	} {
		b.Run(rival.name, func(b *testing.B) {
			g := NewGuard(nowhere{})
			if err := g.Emit(&Start{}); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := rival.emit(g); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
