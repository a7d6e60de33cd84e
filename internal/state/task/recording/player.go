package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"sluice/internal/turn/tool"
)

// stall is how long an input waits for the earlier entries of the recording. A turn that goes
// another way would wait for ever. Entries that did not come by then count as come, so that later
// ones do not wait for them again.
const stall = 500 * time.Millisecond

// errNotRecorded is the answer to a request that the recording does not have.
var errNotRecorded = errors.New("the recording has no answer to this")

// Player gives a turn the inputs of a recording. It is without a clock: an input comes after
// everything that preceded it in the recording. So the order of events, which parallel streams show
// to readers, is the recorded one. With a Speed it waits for its time as well. It is safe for
// concurrent use; a Player is for one turn. Use NewPlayer.
type Player struct {
	// Speed is 1 for the pace of the recording, and 2 for twice that. 0 does not wait, unless the
	// turn gave something up after a time: it needs that time again.
	Speed float64

	entries []Entry
	before  []counts // counts before entry i
	sets    map[int]*tool.Set
	offers  map[string][]int // numbers of sets, by the agent or node that they were offered to
	names   map[string]string
	began   time.Time
	timed   bool

	mu      sync.Mutex // guards the fields below
	changed chan struct{}
	now     counts
	frames  framer
	used    map[int]bool   // entries of asks and calls that were taken
	offered map[string]int // how many times
	extra   []string       // requests of the program that the recording lacks
}

// counts are the calls and frames of the program so far.
type counts struct{ asks, calls, frames int }

func (c counts) hasReached(other counts) bool {
	return c.asks >= other.asks && c.calls >= other.calls && c.frames >= other.frames
}

// addEntry counts an entry.
func (c *counts) addEntry(e *Entry, f *framer) {
	switch e.Kind {
	case kindAsk:
		c.asks++
	case kindCall:
		c.calls++
	case kindOut:
		c.frames += f.countEvents(e.dataBytes())
	}
}

// NewPlayer returns the Player of a recording, whose turn begins now.
func NewPlayer(r *Recording) *Player {
	p := &Player{
		entries: r.Entries, sets: map[int]*tool.Set{}, offers: map[string][]int{}, names: map[string]string{}, began: time.Now(),
		changed: make(chan struct{}), used: map[int]bool{}, offered: map[string]int{},
	}
	var c counts
	var f framer
	for i := range r.Entries {
		e := &r.Entries[i]
		p.before = append(p.before, c)
		p.timed = p.timed || e.Lost == lostCancelled
		c.addEntry(e, &f)
		switch e.Kind {
		case kindOffer:
			if e.Tools != nil {
				p.sets[e.Set] = e.Tools.toolSet()
			}
			p.offers[e.Of] = append(p.offers[e.Of], e.Set)
		case kindName:
			p.names[e.Of] = string(e.dataBytes())
		}
	}
	return p
}

// framer counts frames of a stream that are events: heartbeats come when they like.
type framer struct {
	line    []byte // the last one, as far as it came
	comment bool   // the frame has comments alone
	any     bool   // the frame has lines
}

// countEvents takes the next bytes and returns how many events end in them.
func (f *framer) countEvents(p []byte) (n int) {
	for _, c := range p {
		if c != '\n' {
			f.line = append(f.line, c)
			continue
		}
		switch {
		case len(f.line) > 0:
			f.comment = (f.comment || !f.any) && f.line[0] == ':'
			f.any = true
		case f.any:
			if !f.comment {
				n++
			}
			f.any, f.comment = false, false
		}
		f.line = f.line[:0]
	}
	return n
}

// countSent counts the frames that the program has sent to its client.
func (p *Player) countSent(out []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now.frames += p.frames.countEvents(out)
	p.wakeLocked()
}

func (p *Player) wakeLocked() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// awaitEntry waits until an entry may come.
func (p *Player) awaitEntry(ctx context.Context, i int) {
	patience := time.NewTimer(stall)
	defer patience.Stop()
	for {
		p.mu.Lock()
		ready, changed := p.now.hasReached(p.before[i]), p.changed
		p.mu.Unlock()
		if ready {
			break
		}
		select {
		case <-changed:
			continue
		case <-patience.C:
			p.countAsCome(p.before[i])
		case <-ctx.Done():
			return
		}
	}
	if speed := p.playSpeed(); speed > 0 {
		_ = waitForTime(ctx, p.began, p.entries[i].At, speed)
	}
}

// playSpeed returns by how much faster than the recording this is; 0: as fast as it can.
func (p *Player) playSpeed() float64 {
	if p.Speed <= 0 && p.timed {
		return 1
	}
	return max(p.Speed, 0)
}

// countAsCome counts the entries that an input has waited for as come.
func (p *Player) countAsCome(to counts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = counts{max(p.now.asks, to.asks), max(p.now.calls, to.calls), max(p.now.frames, to.frames)}
	p.wakeLocked()
}

// Extra returns the requests of the program that the recording lacks, and how many recorded answers
// were not used.
func (p *Player) Extra() (asked []string, unused int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.entries {
		if k := p.entries[i].Kind; (k == kindAsk || k == kindCall) && !p.used[i] {
			unused++
		}
	}
	return p.extra, unused
}

// claimEntry returns the recorded entry of a call that the program makes now, or -1. It is the
// fitting unused entry with the most similar data.
func (p *Player) claimEntry(kind Kind, data []byte, what string, fits func(*Entry) bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	best := p.closestEntry(kind, data, fits)
	if kind == kindAsk {
		p.now.asks++
	} else {
		p.now.calls++
	}
	p.wakeLocked()
	if best < 0 {
		p.extra = append(p.extra, what)
		return -1
	}
	p.used[best] = true
	return best
}

func (p *Player) closestEntry(kind Kind, data []byte, fits func(*Entry) bool) int {
	best, unlike := -1, 0
	for i := range p.entries {
		e := &p.entries[i]
		if e.Kind != kind || p.used[i] || !fits(e) {
			continue
		}
		if n := unlikeness(e.dataBytes(), data); best < 0 || n < unlike {
			best, unlike = i, n
		}
	}
	return best
}

// unlikeness returns the length of the longer text without the common begin and the common end of
// both. A prompt holds the time of day, so that the same request differs in the middle; another one
// mostly differs by more.
func unlikeness(a, b []byte) int {
	n := min(len(a), len(b))
	head := 0
	for head < n && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < n-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return max(len(a), len(b)) - head - tail
}

// nextEntry returns the entry of an exchange or a call that follows entry i, or -1.
func (p *Player) nextEntry(i int, kinds ...Kind) int {
	n := p.entries[i].N
	for j := i + 1; j < len(p.entries); j++ {
		if e := &p.entries[j]; e.N == n {
			for _, k := range kinds {
				if e.Kind == k {
					return j
				}
			}
		}
	}
	return -1
}

// RoundTrip implements http.RoundTripper: it answers as the upstream did.
func (p *Player) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
		_ = req.Body.Close()
	}
	ctx, to := req.Context(), upstreamTarget(req.URL)
	i := p.claimEntry(kindAsk, body, req.Method+" "+to, func(e *Entry) bool { return e.Method == req.Method && e.URL == to })
	if i < 0 {
		return nil, fmt.Errorf("%s %s: %w", req.Method, to, errNotRecorded)
	}
	if i = p.nextEntry(i, kindAnswer, kindClose); i < 0 {
		return nil, lostError(ctx, lostCancelled)
	}
	p.awaitEntry(ctx, i)
	e := &p.entries[i]
	if e.Kind == kindClose {
		return nil, lostError(ctx, e.Lost)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	ctx, end := context.WithCancel(ctx)
	return &http.Response{
		Status: http.StatusText(e.Status), StatusCode: e.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: e.Header.Clone(), Body: &playedBody{p: p, ctx: ctx, end: end, at: i}, ContentLength: -1, Request: req,
	}, nil
}

// lostError returns the error of an exchange that failed. An exchange that the program ended itself
// fails when the program ends it again.
func lostError(ctx context.Context, lost string) error {
	switch lost {
	case lostCancelled:
		<-ctx.Done()
		return context.Cause(ctx)
	case io.ErrUnexpectedEOF.Error():
		return io.ErrUnexpectedEOF
	case "", lostClosed:
		return io.EOF
	}
	return errors.New(lost)
}

// playedBody is the body of a recorded reply.
type playedBody struct {
	p      *Player
	ctx    context.Context // of the request, and until Close
	end    context.CancelFunc
	at     int // the entry that was read last
	unread []byte
	err    error
}

// Read implements io.Reader.
func (b *playedBody) Read(buf []byte) (int, error) {
	for len(b.unread) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.unread, b.err = b.nextPart()
	}
	n := copy(buf, b.unread)
	b.unread = b.unread[n:]
	return n, nil
}

// nextPart returns the next part.
func (b *playedBody) nextPart() ([]byte, error) {
	ctx := b.ctx
	i := b.p.nextEntry(b.at, kindData, kindClose)
	if i < 0 {
		return nil, lostError(ctx, lostCancelled)
	}
	b.at = i
	b.p.awaitEntry(ctx, i)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if e := &b.p.entries[i]; e.Kind == kindData {
		return e.dataBytes(), nil
	}
	return nil, lostError(ctx, b.p.entries[i].Lost)
}

// Close implements io.Closer.
func (b *playedBody) Close() error {
	b.end()
	return nil
}

// Around returns the Player as a transport.
func (p *Player) Around(http.RoundTripper, string) http.RoundTripper { return p }

// Tools returns tools that offer the recorded sets, and answer as they did in the recording.
func (p *Player) Tools(of string, _ Tools) Tools { return playedTools{p, of} }

type playedTools struct {
	p  *Player
	of string
}

// Tools implements Tools. A caller that asks more often than in the recording gets the last set
// again.
func (t playedTools) Tools(context.Context) *tool.Set {
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	offers := t.p.offers[t.of]
	if len(offers) == 0 {
		return &tool.Set{}
	}
	n := min(t.p.offered[t.of], len(offers)-1)
	t.p.offered[t.of]++
	if set := t.p.sets[offers[n]]; set != nil {
		return set
	}
	return &tool.Set{} // the file does not spell it out
}

// Named returns the name of a server's tool, or "".
func (p *Player) Named(_ context.Context, server, name string, _ func() string) string {
	return p.names[server+"/"+name]
}

// Call implements Tools.
func (t playedTools) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	p := t.p
	i := p.claimEntry(kindCall, call.Arguments, "tool "+call.Name, func(e *Entry) bool { return e.Of == t.of && e.Tool == call.Name })
	if i < 0 {
		return tool.Result{}, errNotRecorded
	}
	report := tool.ReportOf(ctx)
	for {
		if i = p.nextEntry(i, kindProgress, kindResult); i < 0 {
			return tool.Result{}, lostError(ctx, lostCancelled)
		}
		e := &p.entries[i]
		if e.Lost == lostCancelled { // its turn ended first
			<-ctx.Done()
		}
		p.awaitEntry(ctx, i)
		switch {
		case ctx.Err() != nil && e.Lost == "":
			return tool.Result{}, context.Cause(ctx)
		case e.Kind == kindProgress && report != nil && e.Progress != nil:
			report(*e.Progress)
		case e.Kind == kindResult:
			out := tool.Result{}
			if e.Result != nil {
				out = *e.Result
			}
			if e.Failure == nil {
				out.ID, out.Name = call.ID, call.Name
			}
			return out, e.Failure.asError()
		}
	}
}
