// This file has the floods by clients with few or no rights: the other clients must not notice
// them. The sender shares the machine. So the others are measured in turns: with the flood on the
// gateway, and with the flood on a server that refuses all. The allowed part always goes to the
// gateway, so that the difference is the cost of the refusals. Each round gives a ratio of its two
// windows, and a short disturbance of the machine changes one round, not the median of them.
// Refused and accepted requests are counted.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/e2e/credential"
	"sluice/e2e/events"
	"sluice/e2e/scenario"
)

// flood is what somebody sends, and whom it must cost nothing.
type flood struct {
	rate   int                // requests a second
	may    int                // of them those that are allowed, whatever comes besides
	head   func(n int) string // lines of the head of request n, each with its end
	cheap  bool               // nearly all of it costs as little as a refusal
	others []string           // head of each of the others, "Name: value"; empty: none
	// most is how many requests may be something else than refused, of a flood that was sent for
	// so long; whole is the time with the windows between.
	most func(sent, whole time.Duration) int
}

const (
	rounds = 6                       // each without a flood, with a flood elsewhere, and with a flood
	window = 1200 * time.Millisecond // of each
	// senders are the connections of a flood. As many may be past a limit before the first counts.
	senders = 16
	// floodFrom is an address of this host that nobody else uses.
	floodFrom = "127.0.0.2"
)

// badCredentials sends tokens whose signatures do not hold, each another one. Beyond the limit
// of failures they are not read.
func badCredentials(r *run) {
	issuer := &credential.Issuer{URL: "http://issuer.attack"}
	g, others := r.startGuarded(issuer, "limits: {user: {requests: 1000/s}}\n")
	token, err := issuer.Token("mallory", "", "", time.Hour)
	r.Must(err)
	signed := token[:strings.LastIndexByte(token, '.')+1]
	const burst = 60 // a minute, unless auth.failures says otherwise. It fills up in the other windows too
	// The last letter of 64 bytes has four bits that must be zero.
	r.withstand(g, flood{rate: 5000, cheap: true, others: others,
		head: func(n int) string { return fmt.Sprintf("Authorization: Bearer %s%085dA\r\n", signed, n) },
		most: func(_, whole time.Duration) int { return burst + int(whole.Seconds()*burst/60) + senders }})
}

// greedyTenant sends twenty times what its tenant may, as several of its users.
func greedyTenant(r *run) {
	const allowed = 100 // a second
	issuer := &credential.Issuer{URL: "http://issuer.attack"}
	g, others := r.startGuarded(issuer, fmt.Sprintf("tenants: {greedy: {limits: some}, fair: {}}\nlimits: {user: {requests: 1000/s}, classes: {some: {requests: %d/s}}}\n", allowed))
	var shown []string
	for n := range 5 {
		token, err := issuer.Token(fmt.Sprint("mallory", n), "greedy", "", time.Hour)
		r.Must(err)
		shown = append(shown, "Authorization: Bearer "+token+"\r\n")
	}
	r.withstand(g, flood{rate: 20 * allowed, may: allowed, others: others,
		head: func(n int) string { return shown[n%len(shown)] },
		most: func(sent, _ time.Duration) int { return rounds*allowed + int(sent.Seconds()*allowed) + senders }})
}

// oneAddress sends twenty times the limit of an address, without a credential.
func oneAddress(r *run) {
	const allowed = 100 // a second
	issuer := &credential.Issuer{URL: "http://issuer.attack"}
	g, others := r.startGuarded(issuer, fmt.Sprintf("limits: {user: {requests: 1000/s}, address: {requests: %d/s}}\n", allowed), "anonymous: {}")
	r.withstand(g, flood{rate: 20 * allowed, may: allowed, others: others,
		head: func(int) string { return "" },
		most: func(sent, _ time.Duration) int { return rounds*allowed + int(sent.Seconds()*allowed) + senders }})
}

// guardedOverload is overload with authentication and with every limit that can count: admission
// must hold its promises there too.
func guardedOverload(r *run) {
	const most = "{requests: 1000000/s, streams: 1000000, tokens: [1000000000/m]}"
	env, heads := r.guardSettings(&credential.Issuer{URL: "http://issuer.attack"}, fmt.Sprintf("tenants: {fair: {limits: wide}}\nlimits: {user: %s, classes: {wide: %s}, global: %s}\n", most, most, most))
	r.judgeOverload(env, "--header="+heads[0])
}

// startGuarded starts a gateway that requires credentials, and returns the headers of eight users.
func (r *run) startGuarded(issuer *credential.Issuer, config string, methods ...string) (*gateway, []string) {
	env, heads := r.guardSettings(issuer, config, methods...)
	return r.mustStart(options{env: env}), heads
}

// guardSettings returns the settings of such a gateway, and what eight users have to show: half of
// them keys, half of them tokens.
func (r *run) guardSettings(issuer *credential.Issuer, config string, methods ...string) (env, heads []string) {
	dir := r.makeFolder()
	r.Must(issuer.Rotate())
	set := httptest.NewRecorder()
	issuer.ServeHTTP(set, nil)
	var entries []credential.Entry
	for n := range 8 {
		user := fmt.Sprint("ann", n)
		if n%2 == 0 {
			key, e := credential.NewKey(user, "fair", "", "chat")
			entries = append(entries, e)
			heads = append(heads, "X-API-Key: "+key)
			continue
		}
		token, err := issuer.Token(user, "fair", "", time.Hour)
		r.Must(err)
		heads = append(heads, "Authorization: Bearer "+token)
	}
	keys, err := json.Marshal(map[string]any{"keys": entries})
	r.Must(err)
	auth := append([]string{
		fmt.Sprintf("keys: %q", filepath.Join(dir, "keys.json")),
		fmt.Sprintf("jwt: [{issuer: %q, audiences: [%s], jwks_file: %q, claims: {tenant: tenant}}]", issuer.URL, credential.Audience, filepath.Join(dir, "set.json")),
	}, methods...)
	for name, text := range map[string]string{"keys.json": string(keys), "set.json": set.Body.String(), "sluice.yaml": "auth: {" + strings.Join(auth, ", ") + "}\n" + config} {
		r.Must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return []string{"SLUICE_CONFIG=" + filepath.Join(dir, "sluice.yaml"), "SLUICE_AUTH=required"}, heads
}

// withstand floods a gateway, and records the cost for the others and for the gateway.
func (r *run) withstand(g *gateway, f flood) {
	if l, err := net.Listen("tcp", floodFrom+":0"); err != nil {
		r.Lack("the address " + floodFrom)
	} else {
		_ = l.Close()
	}
	s := &siege{run: r, g: g, floor: r.startFloor(), flood: f}
	s.others = make([]*http.Client, len(f.others))
	for n := range s.others {
		s.others[n] = &http.Client{Transport: &http.Transport{}}
		r.AtEnd(s.others[n].CloseIdleConnections)
	}
	s.measureRound(nil) // makes everything that is made at first use
	m := s.measureRounds()
	s.judgeRefusals(m, f.most(m.under.elapsed, m.total))
	for try := 1; try < 3 && quartile(m.slowest, 2) > unseen; try++ {
		m.add(s.measureRounds())
	}
	// On a busy machine the slowest few are others' doing, in either window: only what most rounds
	// show is the gateway's.
	s.Check("p99 to the others' first text, over that with the flood elsewhere", quartile(m.slowest, 1) <= unseen,
		fmt.Sprintf("<= %.1f in a quarter of the rounds", unseen), "%s", formatQuartiles(m.slowest))
	s.Report("the median of it, over the same", "%s", formatQuartiles(m.typical))
	s.Report("p99 with the flood, with it elsewhere, without", "%s, %s, %s", roundFine(m.under.p99()), roundFine(m.elsewhere.p99()), roundFine(m.quiet.p99()))
	s.Report("of a core, with the flood and elsewhere: the gateway", "%s, %s", m.under.ofCore(m.under.cpu), m.elsewhere.ofCore(m.elsewhere.cpu))
	s.Report("of a core, with the flood and elsewhere: who sends it", "%s, %s", m.under.ofCore(m.under.ours), m.elsewhere.ofCore(m.elsewhere.ours))
}

// unseen is how many times as long the others may wait for their first text, at p99.
const unseen = 1.2

// quartile returns the first, second (the median) or third quartile of values.
func quartile(values []float64, number int) float64 {
	slices.Sort(values)
	n := len(values) - 1
	return (values[n*number/4] + values[(n*number+3)/4]) / 2
}

// formatQuartiles returns the median of values with the other two quartiles, as text.
func formatQuartiles(values []float64) string {
	return fmt.Sprintf("%.2f (%.2f to %.2f)", quartile(values, 2), quartile(values, 1), quartile(values, 3))
}

// measured has the results of the rounds.
type measured struct {
	quiet, elsewhere, under spell
	total                   time.Duration // of all windows
	// slowest and typical are, of each round, p99 and median of the others under the flood over
	// those with the flood elsewhere.
	slowest, typical []float64
}

// add adds the results of further rounds.
func (m *measured) add(o measured) {
	m.quiet.add(o.quiet)
	m.elsewhere.add(o.elsewhere)
	m.under.add(o.under)
	m.total += o.total
	m.slowest, m.typical = append(m.slowest, o.slowest...), append(m.typical, o.typical...)
}

// measureRounds measures the others without a flood, with one elsewhere, and with one.
func (s *siege) measureRounds() (m measured) {
	begin := time.Now()
	for n := range rounds {
		quiet := s.measureRound(nil)
		var elsewhere, under spell
		if n%2 == 0 { // neither is always the later one
			elsewhere = s.measureRound(s.floor)
		}
		under = s.measureRound(s.g)
		if n%2 == 1 {
			elsewhere = s.measureRound(s.floor)
		}
		if min(len(quiet.first), len(elsewhere.first), len(under.first)) == 0 {
			s.Must(errors.New("the others were not answered"))
		}
		m.slowest = append(m.slowest, float64(under.p99())/float64(elsewhere.p99()))
		m.typical = append(m.typical, float64(under.percentile(50))/float64(elsewhere.percentile(50)))
		m.quiet.add(quiet)
		m.elsewhere.add(elsewhere)
		m.under.add(under)
	}
	m.total = time.Since(begin)
	return m
}

// siege is a gateway under a flood.
type siege struct {
	*run
	g, floor *gateway
	flood
	others []*http.Client
	sent   int // requests of the flood so far: no two are equal
}

// spell has the results of one kind of window.
type spell struct {
	first   []time.Duration // of the others, to their first text
	failed  []string        // turns of the others
	replies map[int]int     // to the flood, by status
	elapsed time.Duration
	cpu     time.Duration // of the gateway
	least   time.Duration // of the floor
	ours    time.Duration // of this process, which sends all and is the model
}

// add adds a window.
func (p *spell) add(o spell) {
	p.first, p.failed = append(p.first, o.first...), append(p.failed, o.failed...)
	if p.replies == nil {
		p.replies = map[int]int{}
	}
	for status, n := range o.replies {
		p.replies[status] += n
	}
	p.elapsed, p.cpu, p.least = p.elapsed+o.elapsed, p.cpu+o.cpu, p.least+o.least
	p.ours += o.ours
}

// p99 returns the p99 of the others' first texts.
func (p *spell) p99() time.Duration { return p.percentile(99) }

// percentile returns the time within which that percentage of the first texts came.
func (p *spell) percentile(percent int) time.Duration {
	slices.Sort(p.first)
	return p.first[len(p.first)*percent/100]
}

// countReplies returns how many replies the flood got.
func (p *spell) countReplies() (n int) {
	for _, m := range p.replies {
		n += m
	}
	return n
}

// measureRound has the others ask for a while. at gets the flood meanwhile, except its allowed
// part, which goes to the gateway. With nil the window is quiet.
func (s *siege) measureRound(at *gateway) (p spell) {
	ctx, cancel := context.WithTimeout(s.Ctx, window)
	defer cancel()
	begin := time.Now()
	cpu, _ := s.g.usage()
	least, _ := s.floor.usage()
	ours, _ := usageOf(os.Getpid())
	var mu sync.Mutex // guards p
	var all sync.WaitGroup
	for n, client := range s.others {
		all.Go(func() {
			for ctx.Err() == nil {
				first, err := s.askTurn(client, s.flood.others[n])
				mu.Lock()
				if err != nil {
					p.failed = append(p.failed, err.Error())
				} else {
					p.first = append(p.first, first)
				}
				mu.Unlock()
				_ = scenario.Pause(ctx, 25*time.Millisecond)
			}
		})
	}
	if at == s.floor && s.may > 0 {
		all.Go(func() { s.sendFlood(ctx, s.g, s.may, s.sent+50_000) })
	}
	if at != nil {
		rate := s.rate
		if at == s.floor {
			rate -= s.may
		}
		replies := s.sendFlood(ctx, at, rate, s.sent)
		mu.Lock()
		p.replies = replies
		mu.Unlock()
	}
	all.Wait()
	s.sent += 100_000
	after, _ := s.g.usage()
	floor, _ := s.floor.usage()
	own, _ := usageOf(os.Getpid())
	p.elapsed, p.cpu, p.least, p.ours = time.Since(begin), after.cpu-cpu.cpu, floor.cpu-least.cpu, own.cpu-ours.cpu
	return p
}

// askTurn runs a turn of one of the others, and returns the time to its first text. A turn that
// ends otherwise than well is an error.
func (s *siege) askTurn(client *http.Client, head string) (first time.Duration, err error) {
	ctx, cancel := context.WithTimeout(s.Ctx, 30*time.Second)
	defer cancel()
	begin := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.g.addr+"/chat/stream", strings.NewReader(`{"input":"hi","accumulated":false}`))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	name, value, _ := strings.Cut(head, ": ")
	req.Header.Set(name, value)
	resp, err := client.Do(req)
	if err != nil {
		return 0, plainError(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("status %d", resp.StatusCode)
	}
	good := false
	_ = events.Read(resp.Body, func(e events.Event) bool {
		if e.Name == "response_delta" && first == 0 {
			first = time.Since(begin)
		}
		good = e.Name == "done" && strings.Contains(string(e.Data), `"success":true`)
		return true
	})
	if !good || first == 0 {
		return 0, errors.New("a turn without a good end")
	}
	return first, nil
}

// sendFlood sends requests, numbered from number, at a rate until ctx ends, over connections that
// stay, and returns the replies by status. In a second it sends at most the requests of that
// second: requests that the machine could not send are lost.
func (s *siege) sendFlood(ctx context.Context, at *gateway, rate, number int) map[int]int {
	counts := make([]map[int]int, senders)
	pause := time.Second * senders / time.Duration(rate)
	var all sync.WaitGroup
	for i := range senders {
		begin := number + i*1_000_000
		all.Go(func() { counts[i] = s.sendConnection(ctx, at, begin, pause) })
	}
	all.Wait()
	sum := spell{}
	for _, c := range counts {
		sum.add(spell{replies: c})
	}
	return sum.replies
}

// sendConnection sends one connection's requests of a flood, numbered from begin, and returns the
// replies by status.
func (s *siege) sendConnection(ctx context.Context, at *gateway, begin int, pause time.Duration) map[int]int {
	replies := map[int]int{}
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(floodFrom)}}
	var l *link
	defer func() { l.close() }()
	due := time.Now()
	for n := begin; ctx.Err() == nil; n++ {
		if l == nil {
			conn, err := d.DialContext(ctx, "tcp", at.addr)
			if err != nil {
				replies[0]++
				_ = scenario.Pause(ctx, 100*time.Millisecond)
				continue
			}
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			l = newLink(conn)
		}
		got, closing := l.exchange(strings.Replace(rawTurn("hi"), "\r\n", "\r\n"+s.head(n), 1))
		replies[got.status]++
		if closing {
			l.close()
			l = nil
		}
		if due = due.Add(pause); time.Until(due) < -pause { // a second that is over is not made up for
			due = time.Now()
		}
		_ = scenario.Pause(ctx, time.Until(due))
	}
	return replies
}

// judgeRefusals records the refusals and their cost. most is how many requests of the flood may be
// accepted.
func (s *siege) judgeRefusals(m measured, most int) {
	under := &m.under
	s.Report("requests of the flood a second", "%.0f", float64(under.countReplies())/under.elapsed.Seconds())
	refused := under.replies[http.StatusTooManyRequests]
	other := under.countReplies() - refused
	s.Check("of the flood, not refused with 429", other <= most && refused > 0, fmt.Sprint("<= ", most), "%d of %d: %s", other, under.countReplies(), strings.Trim(fmt.Sprint(under.replies), "map[]"))
	failed := slices.Concat(m.quiet.failed, m.elsewhere.failed, under.failed)
	slices.Sort(failed)
	s.Check("turns of the others that did not end well", len(failed) == 0, "0", "%d %s", len(failed), strings.Join(slices.Compact(failed), ", "))
	s.judgeCost(&m.elsewhere, under)
}

// judgeCost records the CPU time of a request of the flood. The CPU time of the others is left out,
// as they asked alike in both kinds of windows.
func (s *siege) judgeCost(elsewhere, under *spell) {
	turn := elsewhere.cpu / time.Duration(len(elsewhere.first))
	each := (under.cpu - turn*time.Duration(len(under.first))) / time.Duration(max(1, under.countReplies()))
	least := elsewhere.least / time.Duration(max(1, elsewhere.countReplies()))
	const what = "CPU of a request of the flood, beside the least"
	switch {
	case under.cpu == 0 || least == 0:
		s.Skip(what, "no /proc here")
	case s.cheap:
		s.Check(what, each < 4*least, "< 4 times", "%s of %s", each.Round(time.Microsecond), least.Round(time.Microsecond))
	default: // some of it are turns
		s.Report(what, "%s of %s", each.Round(time.Microsecond), least.Round(time.Microsecond))
	}
}

// ofCore words a CPU time as a part of one core.
func (p *spell) ofCore(cpu time.Duration) string {
	return fmt.Sprintf("%.0f%%", 100*cpu.Seconds()/p.elapsed.Seconds())
}

// roundFine rounds a duration for the table.
func roundFine(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
