package main

import (
	"testing"

	"sluice/e2e/events"
)

// The numbers of a turn have a gap where another gateway goes on, and nowhere else.
func TestGapOfATakeover(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		n     []int
		stray int
	}{
		{"one", []int{1, 2, 1_000_001, 1_000_002}, 0},
		{"two", []int{1, 1_000_001, 2_000_001}, 0},
		{"not at its begin", []int{1, 1_000_002}, 1},
		{"one too far", []int{1, 2_000_001}, 1},
		{"back", []int{1, 1_000_001, 2}, 1},
	} {
		v := newView()
		for _, n := range tt.n {
			v.accept(events.Event{Turn: "t", N: n, Name: "thinking", Data: []byte(`{}`)})
		}
		if v.stray != tt.stray {
			t.Errorf("%s: %d stray, want %d", tt.name, v.stray, tt.stray)
		}
	}
}

// Both ways of putting a text together are followed, and compared at each event.
func TestTextOfATurn(t *testing.T) {
	t.Parallel()
	event := func(name, data string) events.Event { return events.Event{Name: name, Data: []byte(data)} }
	delta := func(delta, accumulated string) events.Event {
		return event("response_delta", `{"delta":"`+delta+`","accumulated":"`+accumulated+`"}`)
	}
	reset, done := event("response_reset", `{"accumulated":"a"}`), event("done", `{"final_output":"ac","takeovers":1}`)
	for _, tt := range []struct {
		name string
		of   []events.Event
		want shownText
	}{
		{"taken back", []events.Event{delta("a", "a"), delta("b", "ab"), reset, delta("c", "ac"), done}, shownText{joined: "ac", accumulated: "ac", final: "ac", output: true, resets: 1, takeovers: 1}},
		{"not for those who join", []events.Event{delta("a", "a"), delta("b", "ab"), delta("c", "ac"), done}, shownText{joined: "abc", accumulated: "ac", final: "ac", output: true, takeovers: 1, differ: 2}},
		{"half an event", []events.Event{event("response_delta", `{"del`)}, shownText{differ: 1}},
		{"others", []events.Event{event("thinking", `{"delta":"x"}`)}, shownText{}},
	} {
		var got shownText
		for _, e := range tt.of {
			got.accept(e)
		}
		if got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
