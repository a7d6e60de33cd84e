package handlers

import (
	"fmt"
	"testing"
	"time"
)

// machine is what the law is for: turns that share the CPU, and wait for it ten times
// before they end. Alongside them run idle streams, which need none.
type machine struct {
	law      law
	capacity int // turns that it can end between two looks
	idle     int
	foreign  time.Duration // delay that is not caused by turns

	busy  int
	delay time.Duration
}

func newMachine(capacity int) *machine { return &machine{law: newLaw(2), capacity: capacity} }

// step lets the time between two looks pass, in which so many turns arrive.
func (m *machine) step(arrivals int) (refused, ended int) {
	for range arrivals {
		if m.law.admitsStream(m.idle + m.busy) {
			m.busy++
		} else {
			refused++
		}
	}
	m.delay = m.foreign + lookEvery*time.Duration(m.busy)/time.Duration(10*m.capacity)
	ended = min(m.busy, m.capacity)
	m.busy -= ended
	m.law.moveLimit(look{elapsed: lookEvery, delay: m.delay, active: m.idle + m.busy, ended: ended, refused: refused})
	return refused, ended
}

// run repeats step and adds up; longest is the longest delay.
func (m *machine) run(looks, arrivals int) (refused, ended int, longest time.Duration) {
	for range looks {
		r, e := m.step(arrivals)
		refused, ended, longest = refused+r, ended+e, max(longest, m.delay)
	}
	return refused, ended, longest
}

const (
	oneSecond = int(time.Second / lookEvery) // in looks
	// long is the delay with which a turn, which meets it ten times, takes a second.
	long = 100 * time.Millisecond
)

// Five seconds after five times what it carries begins to arrive, a machine ends as
// many turns as it can, each in less than a second, whether other streams wait for a
// slow model meanwhile or not.
func TestLawUnderOverload(t *testing.T) {
	t.Parallel()
	for _, capacity := range []int{20, 80, 1000} {
		for _, idle := range []int{0, 5000} {
			t.Run(fmt.Sprintf("capacity=%d/idle=%d", capacity, idle), func(t *testing.T) {
				t.Parallel()
				m := newMachine(capacity)
				m.idle = idle
				m.run(5*oneSecond, 5*capacity)
				refused, ended, longest := m.run(20*oneSecond, 5*capacity)
				if share := float64(ended) / float64(20*oneSecond*capacity); share < 0.95 || longest > long {
					t.Errorf("%.0f %% of what it carries, with delays to %v, want 95 %% and %v", 100*share, longest, long)
				}
				if least := 20 * oneSecond * capacity * 39 / 10; refused < least {
					t.Errorf("%d refused, want %d at least", refused, least)
				}
			})
		}
	}
}

// Neither a busy machine is a reason to refuse, nor the burst of a moment, nor any
// number of streams that wait.
func TestLawRefusesNobodyWithoutAStandingQueue(t *testing.T) {
	t.Parallel()
	m := newMachine(80)
	m.idle = 5000
	if refused, _, _ := m.run(60*oneSecond, m.capacity); refused > 0 {
		t.Errorf("%d are refused by a machine that carries them", refused)
	}
	for range 20 {
		m.foreign = 10 * long
		m.step(m.capacity)
		m.foreign = 0
		if refused, _ := m.step(3 * m.capacity); refused > 0 {
			t.Fatalf("%d of a burst are refused", refused)
		}
		m.run(oneSecond, m.capacity/2)
	}
}

// When the overload is over, no stream is refused after a second, and then there is no limit.
func TestLawRecovers(t *testing.T) {
	t.Parallel()
	m := newMachine(80)
	m.run(10*oneSecond, 5*m.capacity)
	if m.law.limit == 0 {
		t.Fatal("there is no limit under overload")
	}
	m.run(oneSecond, m.capacity/2)
	if refused, _, _ := m.run(2*oneSecond, m.capacity/2); refused > 0 || m.law.limit != 0 {
		t.Errorf("%d are refused after the overload, and the limit is %v", refused, m.law.limit)
	}
}

// Streams of minutes that piled up do not keep the limit down when the CPU is free.
func TestLawRecoversWhileStreamsRunOn(t *testing.T) {
	t.Parallel()
	m := newMachine(80)
	m.idle, m.foreign = 5000, 10*long
	m.run(10*oneSecond, 5*m.capacity)
	m.idle, m.foreign = 7000, 0 // admitted at the onset, they wait for their model now
	if refused, _, _ := m.run(2*oneSecond, m.capacity/2); refused == 0 {
		t.Error("there is no limit: the test shows nothing")
	}
	if refused, _, _ := m.run(2*oneSecond, m.capacity/2); refused > 0 {
		t.Errorf("%d are still refused", refused)
	}
}

// A delay that no refusal relieves, because others cause it, leaves the floor.
func TestLawHasAFloor(t *testing.T) {
	t.Parallel()
	m := newMachine(80)
	m.foreign = 10 * long
	m.run(60*oneSecond, 5*m.capacity)
	if m.law.limit != float64(m.law.floor) || m.law.floor != 64 {
		t.Errorf("the limit is %v, want the floor of two cores, 64", m.law.limit)
	}
}
