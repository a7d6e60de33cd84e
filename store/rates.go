package store

import (
	"context"
	"encoding/json"
	"strconv"
	"time"
)

// Rates keep what is used of limits, for all processes that share the store.
//
// A rate is kept as the generic cell rate algorithm keeps it: by the time until nothing of what
// was charged is left, its level. The clock is the engine's, which is one for all.
type Rates interface {
	// ChargeRates charges all of c or, if one of its limits does not allow that, nothing. A
	// second try may charge twice.
	ChargeRates(ctx context.Context, c Charge) (Charged, error)
}

// Charge asks for some of several limits at once.
type Charge struct {
	Levels []Level
	Counts []Count
	// Holder is the process that counts. Those of others count while they have their leases.
	Holder Holder
	// Owed says that it was used already, so that it is charged in any case.
	Owed bool
}

// Level is a rate.
type Level struct {
	Key string
	// Window is the level at which it is used up; a charge afterwards may leave Debt above it.
	Window, Debt time.Duration
	// Cost is what is charged, or given back if it is negative, and Need how much room there must be for it. With Of, there
	// must be Need for each turn that runs by Counts[Of-1].
	Cost, Need time.Duration
	Of         int
}

// Count says what runs at a time. A process writes its true numbers, so nothing of one that
// dies stays for longer than its lease.
type Count struct {
	Key string
	// Turns and Watchers are those of Holder, with what it asks for now.
	Turns, Watchers int
	// Seq grows with each change of the two: of writes that overtake each other the last
	// change stays.
	Seq  int64
	Most int // of all processes; 0: any number
}

// Charged is the answer to a Charge.
type Charged struct {
	OK bool // it was charged
	// Levels are those of Charge.Levels, with what was charged now, and Counts the sums of
	// what runs, with what was asked for.
	Levels []time.Duration
	Counts []Running
}

// Running is how much runs.
type Running struct{ Turns, Watchers int }

// How long a count is kept after the last write: while something runs, and after that for as
// long as a write can be under way that is older.
const (
	KeepCount = time.Hour
	KeepZero  = 10 * time.Second
)

// Shelf is what Charge.Apply needs of an engine, within one transaction.
type Shelf interface {
	Text(key string) (string, error) // empty: there is none
	PutText(key, text string, ttl time.Duration) error
	Alive(h Holder) (bool, error)
}

// Apply does what ChargeRates says, for an engine that runs Go.
func (c *Charge) Apply(on Shelf, now time.Time) (r Charged, err error) {
	r.OK = true
	kept := make([]map[string][3]int64, len(c.Counts))
	for i := range c.Counts {
		of := &c.Counts[i]
		if kept[i], err = c.others(on, of.Key); err != nil {
			return r, err
		}
		sum := Running{of.Turns, of.Watchers}
		for holder, n := range kept[i] {
			if holder != c.Holder.name() {
				sum.Turns, sum.Watchers = sum.Turns+int(n[1]), sum.Watchers+int(n[2])
			}
		}
		r.Counts = append(r.Counts, sum)
		r.OK = r.OK && (of.Most == 0 || sum.Turns+sum.Watchers <= of.Most)
	}
	for i := range c.Levels {
		level, fits, err := c.Levels[i].read(on, now, r.Counts)
		if err != nil {
			return r, err
		}
		r.Levels = append(r.Levels, level)
		r.OK = r.OK && fits
	}
	if r.OK = r.OK || c.Owed; !r.OK {
		return r, nil
	}
	for i := range c.Levels {
		l := &c.Levels[i]
		if l.Cost != 0 {
			r.Levels[i] = max(min(r.Levels[i]+l.Cost, l.Window+l.Debt), 0)
			if err := on.PutText(l.Key, strconv.FormatInt(now.Add(r.Levels[i]).UnixNano(), 10), max(r.Levels[i], 1)); err != nil {
				return r, err
			}
		}
	}
	return r, c.write(on, kept, r.Counts)
}

// others returns the counts of those that live, and that of Holder.
func (c *Charge) others(on Shelf, key string) (map[string][3]int64, error) {
	text, err := on.Text(key)
	if err != nil {
		return nil, err
	}
	counts := map[string][3]int64{}
	_ = json.Unmarshal([]byte(text), &counts) // of something else: nothing is known
	for name := range counts {
		h, ok := holderOf(name)
		alive := name == c.Holder.name()
		if ok && !alive {
			if alive, err = on.Alive(h); err != nil {
				return nil, err
			}
		}
		if !alive {
			delete(counts, name)
		}
	}
	return counts, nil
}

// read returns a level, and whether there is room for what is asked for.
func (l *Level) read(on Shelf, now time.Time, running []Running) (level time.Duration, fits bool, err error) {
	text, err := on.Text(l.Key)
	if err != nil {
		return 0, false, err
	}
	if tat, err := strconv.ParseInt(text, 10, 64); err == nil {
		level = max(time.Unix(0, tat).Sub(now), 0)
	}
	need, most := l.Need, l.Window+l.Debt
	if level > most { // the clock was moved, or the limit
		level = most
		err = on.PutText(l.Key, strconv.FormatInt(now.Add(level).UnixNano(), 10), level)
	}
	if l.Of > 0 {
		need *= time.Duration(running[l.Of-1].Turns)
	}
	return level, need == 0 || level+need <= l.Window, err
}

// write puts the counts of Holder in.
func (c *Charge) write(on Shelf, kept []map[string][3]int64, sums []Running) error {
	for i := range c.Counts {
		of, ttl := &c.Counts[i], KeepCount
		if before, ok := kept[i][c.Holder.name()]; ok && before[0] >= of.Seq {
			continue
		}
		kept[i][c.Holder.name()] = [3]int64{of.Seq, int64(of.Turns), int64(of.Watchers)}
		if sums[i] == (Running{}) {
			ttl = KeepZero
		}
		text, err := json.Marshal(kept[i])
		if err != nil {
			return err
		}
		if err := on.PutText(of.Key, string(text), ttl); err != nil {
			return err
		}
	}
	return nil
}

// name is what a count of h is kept under.
func (h Holder) name() string { return h.Owner + ":" + strconv.FormatInt(h.Epoch, 10) }

// holderOf reads a name.
func holderOf(name string) (h Holder, ok bool) {
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == ':' {
			epoch, err := strconv.ParseInt(name[i+1:], 10, 64)
			return Holder{name[:i], epoch}, err == nil
		}
	}
	return Holder{}, false
}
