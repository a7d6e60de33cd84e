package store

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Rates keep the use of limits, for all processes that share the store.
//
// A rate is stored as in the generic cell rate algorithm: by its level, the time until all charges
// are paid off. A window admits no burst beyond its quota. It is stored by the charges in each part
// of it. The clock is that of the engine, so all processes share it.
type Rates interface {
	// ChargeRates charges all of c or, if one of its limits does not allow that, nothing. A
	// second try may charge twice.
	ChargeRates(ctx context.Context, c Charge) (Charged, error)
}

// Charge asks for some of several limits at once.
type Charge struct {
	Levels  []Level
	Counts  []Count
	Windows []Window
	// Holder is the process that counts. Counts of other processes are included while these have
	// their leases.
	Holder Holder
	// Owed says that it was used already, so that it is charged in any case.
	Owed bool
}

// Level is a rate.
type Level struct {
	Key string
	// Window is the level at which the rate is used up. A later charge may leave the level up to
	// Debt above it.
	Window, Debt time.Duration
	// Cost is charged, or given back if it is negative. Need is the room that the charge must find.
	// With Of, there must be Need for each turn that runs by Counts[Of-1].
	Cost, Need time.Duration
	Of         int
}

// Count is the number of turns and watchers that run at a time. A process writes its true numbers,
// so the numbers of a dead one stay for its lease at most.
type Count struct {
	Key string
	// Turns and Watchers are the numbers of Holder, including this request.
	Turns, Watchers int
	// Seq grows with each change of the two: of writes that overtake each other the last
	// change stays.
	Seq  int64
	Most int // of all processes; 0: any number
}

// Window is a quota that holds in any Period, whenever that begins. A provider that counts by
// periods of its own never counts more.
type Window struct {
	Key    string
	Period time.Duration
	// Most is the quota, and Cost is the charge.
	Most, Cost int
}

// A window is kept by parts of its period. A charge counts until WindowSpan parts have begun after
// it. That is a twentieth of the period longer than needed, since requests arrive after they were
// sent.
const (
	WindowParts = 40
	WindowSpan  = WindowParts + WindowParts/20 + 1
)

// Used is the used part of a Window.
type Used struct {
	N int
	// Wait is the time until there is room for the same charge once more.
	Wait time.Duration
}

// Charged is the answer to a Charge.
type Charged struct {
	OK bool // it was charged
	// Levels are those of Charge.Levels after this charge, and so are Windows. Counts are the sums
	// of the running turns and watchers, including this request.
	Levels  []time.Duration
	Counts  []Running
	Windows []Used
}

// Running is how much runs.
type Running struct{ Turns, Watchers int }

// How long a count is kept after the last write: while something runs, and after that for as
// long as a write can be under way that is older.
const (
	KeepCount = time.Hour
	KeepZero  = 10 * time.Second
)

// Shelf has the methods of an engine that Charge.Apply needs, within one transaction.
type Shelf interface {
	Text(key string) (string, error) // empty if it is missing
	PutText(key, text string, ttl time.Duration) error
	Alive(h Holder) (bool, error)
}

// Apply implements ChargeRates for an engine that runs Go.
func (c *Charge) Apply(on Shelf, now time.Time) (r Charged, err error) {
	r.OK = true
	kept := make([]map[string][3]int64, len(c.Counts))
	for i := range c.Counts {
		of := &c.Counts[i]
		if kept[i], err = c.livingCounts(on, of.Key); err != nil {
			return r, err
		}
		sum := Running{of.Turns, of.Watchers}
		for holder, n := range kept[i] {
			if holder != c.Holder.countName() {
				sum.Turns, sum.Watchers = sum.Turns+int(n[1]), sum.Watchers+int(n[2])
			}
		}
		r.Counts = append(r.Counts, sum)
		r.OK = r.OK && (of.Most == 0 || sum.Turns+sum.Watchers <= of.Most)
	}
	for i := range c.Levels {
		level, fits, err := c.Levels[i].readLevel(on, now, r.Counts)
		if err != nil {
			return r, err
		}
		r.Levels = append(r.Levels, level)
		r.OK = r.OK && fits
	}
	windows, err := c.readWindows(on, now, &r)
	if err != nil {
		return r, err
	}
	if r.OK = r.OK || c.Owed; r.OK {
		err = c.chargeAdmitted(on, now, &r, kept, windows)
	}
	for i := range windows {
		r.Windows = append(r.Windows, windows[i].usedAt(&c.Windows[i], now))
	}
	return r, err
}

// chargeAdmitted writes the charges of an admitted request.
func (c *Charge) chargeAdmitted(on Shelf, now time.Time, r *Charged, kept []map[string][3]int64, windows []parts) error {
	for i := range c.Levels {
		l := &c.Levels[i]
		if l.Cost != 0 {
			r.Levels[i] = max(min(r.Levels[i]+l.Cost, l.Window+l.Debt), 0)
			if err := on.PutText(l.Key, strconv.FormatInt(now.Add(r.Levels[i]).UnixNano(), 10), max(r.Levels[i], 1)); err != nil {
				return err
			}
		}
	}
	for i := range c.Windows {
		if w := &c.Windows[i]; w.Cost > 0 {
			windows[i][w.partAt(now)] += w.Cost
			if err := windows[i].storeParts(on, w); err != nil {
				return err
			}
		}
	}
	return c.writeCounts(on, kept, r.Counts)
}

// parts are the charges of a window, by the numbers of its parts.
type parts map[int64]int

// readWindows reads the windows, and notes whether there is room in them.
func (c *Charge) readWindows(on Shelf, now time.Time, r *Charged) (all []parts, err error) {
	for i := range c.Windows {
		w := &c.Windows[i]
		text, err := on.Text(w.Key)
		if err != nil {
			return nil, err
		}
		kept, n, ahead, current := parts{}, 0, 0, w.partAt(now)
		_ = json.Unmarshal([]byte(text), &kept) // of something else: nothing is known
		for part, used := range kept {
			if part > current { // the clock was set back
				ahead += used
			}
			if part > current || part <= current-WindowSpan {
				delete(kept, part)
			} else {
				n += used
			}
		}
		if ahead > 0 {
			kept[current] += ahead
			if err := kept.storeParts(on, w); err != nil {
				return nil, err
			}
		}
		r.OK = r.OK && (w.Cost == 0 || n+ahead+w.Cost <= w.Most)
		all = append(all, kept)
	}
	return all, nil
}

// partLength returns how long a part of the window is, partAt which of them it is.
func (w *Window) partLength() time.Duration { return max(w.Period/WindowParts, time.Microsecond) }

func (w *Window) partAt(now time.Time) int64 { return now.UnixNano() / int64(w.partLength()) }

// storeParts writes the charges.
func (p parts) storeParts(on Shelf, w *Window) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return on.PutText(w.Key, string(text), WindowSpan*w.partLength())
}

// usedAt returns the used part of a window, and how long it takes until there is room.
func (p parts) usedAt(w *Window, now time.Time) (u Used) {
	for _, n := range p {
		u.N += n
	}
	left := u.N
	for _, part := range slices.Sorted(maps.Keys(p)) {
		if left+w.Cost <= w.Most {
			break
		}
		left -= p[part]
		u.Wait = time.Unix(0, (part+WindowSpan)*int64(w.partLength())).Sub(now)
	}
	return u
}

// livingCounts returns the counts of those that live, and that of Holder.
func (c *Charge) livingCounts(on Shelf, key string) (map[string][3]int64, error) {
	text, err := on.Text(key)
	if err != nil {
		return nil, err
	}
	counts := map[string][3]int64{}
	_ = json.Unmarshal([]byte(text), &counts) // of something else: nothing is known
	for name := range counts {
		h, ok := holderOf(name)
		alive := name == c.Holder.countName()
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

// readLevel returns a level, and whether there is room for the charge.
func (l *Level) readLevel(on Shelf, now time.Time, running []Running) (level time.Duration, fits bool, err error) {
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

// writeCounts puts the counts of Holder in.
func (c *Charge) writeCounts(on Shelf, kept []map[string][3]int64, sums []Running) error {
	for i := range c.Counts {
		of, ttl := &c.Counts[i], KeepCount
		if before, ok := kept[i][c.Holder.countName()]; ok && before[0] >= of.Seq {
			continue
		}
		kept[i][c.Holder.countName()] = [3]int64{of.Seq, int64(of.Turns), int64(of.Watchers)}
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

// countName returns the name of h in a count.
func (h Holder) countName() string { return h.Owner + ":" + strconv.FormatInt(h.Epoch, 10) }

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
