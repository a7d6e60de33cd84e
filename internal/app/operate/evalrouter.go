// This file judges a router by a set of requests with known decisions: how often it is right, how
// sure it is then, and its cost. It uses the real router and models of a configuration and nothing
// else of a gateway: no agent runs and no tool is called.
//
// countDecision counts the figures, and makeReport makes shares of them. A share that cannot be
// computed is -1: 0 would look like a bad one.

package operate

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/app/providers"
	"sluice/internal/app/settings"
	"sluice/internal/engine/router"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// RouterCase is one request of an evaluation set, with what should become of it.
type RouterCase struct {
	Input   string         `json:"input"`
	Kind    string         `json:"kind"`               // the kind of requests that it stands for
	Agents  []string       `json:"agents,omitempty"`   // who should answer, the primary agent first
	Want    string         `json:"decision,omitempty"` // clarify or fallback, in place of agents
	History []RouterSpoken `json:"history,omitempty"`
}

// RouterSpoken is a message before the request of a RouterCase.
type RouterSpoken struct {
	Role    string `json:"role"` // user or assistant
	Content string `json:"content"`
}

// RouterReport says how well a router did. Shares are from 0 to 1, or -1 if they could not be
// computed.
type RouterReport struct {
	Config    string  `json:"config"`
	Model     string  `json:"model"` // its name
	Cases     int     `json:"cases"`
	Decisions int     `json:"decisions"`
	Accuracy  float64 `json:"accuracy"` // of the decision and, where agents answer, of the primary one
	Set       float64 `json:"set"`      // of all agents, in any order

	Clarify  Precision `json:"clarify"`
	Fallback Precision `json:"fallback"`

	Kinds []RouterKind `json:"kinds"`
	// Calibration compares how sure the model was with how often it was right.
	Calibration []RouterBucket `json:"calibration"`
	// Error is the mean distance of the two.
	Error     float64 `json:"calibration_error"`
	Malformed float64 `json:"malformed"` // of all answers of the model
	Failed    int     `json:"failed"`    // decisions that failed

	P50    int64   `json:"p50_ms"`
	P95    int64   `json:"p95_ms"`
	Input  float64 `json:"input_tokens"`  // of a decision
	Output float64 `json:"output_tokens"` // of a decision, thinking included

	Wrong []RouterMistake `json:"wrong"` // of the first run
}

// Precision says how often a decision was right when it was made, and how often it was made
// when it was right.
type Precision struct {
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
}

// RouterKind is the accuracy of the cases of one kind.
type RouterKind struct {
	Kind     string  `json:"kind"`
	Cases    int     `json:"cases"`
	Accuracy float64 `json:"accuracy"`
}

// RouterBucket is the result of decisions of about the same confidence.
type RouterBucket struct {
	Confidence string  `json:"confidence"`
	Decisions  int     `json:"decisions"`
	Mean       float64 `json:"mean"`
	Accuracy   float64 `json:"accuracy"`
}

// RouterMistake is a case that went wrong.
type RouterMistake struct {
	Input string `json:"input"`
	Want  string `json:"want"`
	Got   string `json:"got"`
}

// ReadRouterCases reads an evaluation set: one JSON object a line.
//
// Blank lines are passed over; a member that is not known is an error, since it is most
// likely a typing mistake. The error names the line, from 1.
func ReadRouterCases(content []byte) (cases []RouterCase, err error) {
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var c RouterCase
		dec := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&c); err != nil {
			return nil, fmt.Errorf("line %d: is no case: %w", n, err)
		}
		known := c.Want == "" || c.Want == string(stream.Clarified) || c.Want == string(stream.FellBack)
		if c.Input == "" || (len(c.Agents) > 0) == (c.Want != "") || !known {
			return nil, fmt.Errorf("line %d: needs an input, and either agents or a decision, clarify or fallback", n)
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(cases) == 0 {
		return nil, errors.New("there is no case in it")
	}
	return cases, nil
}

// EvalRouter asks the router of a configuration for a decision on each case, so often
// as runs says, one after the other. No agent runs.
//
// Requests come one after the other, so that the times are those of single decisions. It returns an
// error if the configuration does not have agents, if a model cannot be opened, or if ctx ends. A
// decision that fails is counted and not an error.
func EvalRouter(ctx context.Context, cfg settings.Config, cases []RouterCase, runs int) (RouterReport, error) {
	if len(cfg.Team.Agents) == 0 {
		return RouterReport{}, errors.New("the configuration has no agents")
	}
	models, err := openModels(ctx, cfg, zerolog.Nop())
	if err != nil {
		return RouterReport{}, err
	}
	defer models.Close()
	r := newDecider(models, cfg.Team)
	e := evaluation{report: RouterReport{Model: models.Link(cfg.Team.Settled().Config.Model).Name(), Cases: len(cases)}}
	for run := range runs {
		for i := range cases {
			d := r.Decide(ctx, cases[i].toRequest())
			if ctx.Err() != nil {
				return RouterReport{}, context.Cause(ctx)
			}
			e.countDecision(&cases[i], &d, run == 0)
		}
	}
	return e.makeReport(), nil
}

// newDecider returns a team that only decides.
//
// Its agents lack runners: Decide does not need them.
func newDecider(models *providers.Models, spec router.Spec) *router.Team {
	spec = spec.Settled()
	cfg := spec.Config
	cfg.Asker = providers.NewAsker(models)
	for _, a := range spec.Agents {
		cfg.Agents = append(cfg.Agents, a.Routed())
	}
	return router.New(cfg)
}

// toRequest returns the request as a client would send it.
func (c *RouterCase) toRequest() *chat.Request {
	req := &chat.Request{Input: c.Input}
	for _, h := range c.History {
		role := chat.RoleUser
		if h.Role == "assistant" {
			role = chat.RoleModel
		}
		req.History = append(req.History, chat.Message{Role: role, Parts: []chat.Part{{Text: h.Content}}})
	}
	return req
}

// wantedDecision returns the decision that a case wants.
func (c *RouterCase) wantedDecision() stream.Decision {
	return stream.Decision(cmp.Or(c.Want, string(stream.Routed)))
}

// evaluation counts decisions.
//
// The zero value is ready. elapsed has one entry for each decision, failed ones included.
type evaluation struct {
	report   RouterReport
	right    int
	set      int
	kinds    []string
	byKind   map[string][2]int // right, all
	byWant   map[stream.Decision]int
	byGot    map[stream.Decision]int
	bySame   map[stream.Decision]int
	buckets  [4]bucketSum
	attempts int
	bad      int
	elapsed  []time.Duration
	usage    chat.Usage
}

// bucketSum adds up the decisions of one bucket of confidence.
type bucketSum struct {
	n, right int
	sum      float64
}

// countDecision counts one decision. reported says whether a wrong one is listed: a set that
// is asked several times lists those of the first run.
func (e *evaluation) countDecision(c *RouterCase, d *router.Decided, reported bool) {
	if e.byKind == nil {
		e.byKind = map[string][2]int{}
		e.byWant, e.byGot, e.bySame = map[stream.Decision]int{}, map[stream.Decision]int{}, map[stream.Decision]int{}
	}
	got, want := d.Route, c.wantedDecision()
	e.report.Decisions++
	e.elapsed = append(e.elapsed, d.Elapsed)
	e.usage.Add(d.Usage)
	e.attempts += got.Attempts
	e.bad += d.Unreadable
	if !slices.Contains(e.kinds, c.Kind) {
		e.kinds = append(e.kinds, c.Kind)
	}
	e.byWant[want]++
	right := false
	if d.Err != nil {
		e.report.Failed++
	} else {
		right = e.compareDecision(c, got)
	}
	k := e.byKind[c.Kind]
	k[1]++
	if right {
		k[0]++
	} else if reported {
		e.report.Wrong = append(e.report.Wrong, RouterMistake{Input: c.Input, Want: c.wantText(), Got: gotText(d)})
	}
	e.byKind[c.Kind] = k
}

// compareDecision counts a decision by what its case wants, and says whether it is right.
func (e *evaluation) compareDecision(c *RouterCase, got *stream.Route) (right bool) {
	want, routed := c.wantedDecision(), got.Decision == stream.Routed
	same := got.Decision == want
	right = same && (!routed || got.AgentID == c.Agents[0])
	e.byGot[got.Decision]++
	if same {
		e.bySame[want]++
	}
	if got.Method == "model" {
		e.addToBucket(got.Confidence, right)
	}
	if !right {
		return false
	}
	e.right++
	if !routed || sameIDs(c.Agents, append([]string{got.AgentID}, got.Additional...)) {
		e.set++
	}
	return true
}

// addToBucket counts a decision for the calibration: of those with a confidence of 0.9, nine in ten
// should be right.
//
// right is that of the decision alone where the router asks back or falls back.
func (e *evaluation) addToBucket(confidence float64, right bool) {
	b := &e.buckets[bucketIndex(confidence)]
	b.n++
	b.sum += confidence
	if right {
		b.right++
	}
}

// bucketIndex is the place of a confidence's bucket, the lowest first. Bounds
// are those of the metrics' label.
func bucketIndex(confidence float64) int {
	for i, low := range []float64{0.9, 0.7, 0.5} {
		if confidence >= low {
			return 3 - i
		}
	}
	return 0
}

// wantText shows the decision that a case wants.
func (c *RouterCase) wantText() string {
	if c.Want != "" {
		return c.Want
	}
	return fmt.Sprint(c.Agents)
}

// gotText shows the decision, or the reason for a missing one.
func gotText(d *router.Decided) string {
	switch {
	case d.Err != nil:
		return d.Route.Reasoning
	case d.Route.Decision != stream.Routed:
		return string(d.Route.Decision)
	}
	return fmt.Sprint(append([]string{d.Route.AgentID}, d.Route.Additional...))
}

// sameIDs compares ids without regard to their order.
func sameIDs(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// makeReport makes shares of the counts.
//
// It is called once, after at least one decision.
func (e *evaluation) makeReport() RouterReport {
	r := &e.report
	r.Accuracy, r.Set = shareOf(e.right, r.Decisions), shareOf(e.set, r.Decisions)
	precision := func(d stream.Decision) Precision {
		return Precision{shareOf(e.bySame[d], e.byGot[d]), shareOf(e.bySame[d], e.byWant[d])}
	}
	r.Clarify, r.Fallback = precision(stream.Clarified), precision(stream.FellBack)
	for _, kind := range e.kinds {
		k := e.byKind[kind]
		r.Kinds = append(r.Kinds, RouterKind{kind, k[1], shareOf(k[0], k[1])})
	}
	distance, judged := 0.0, 0
	for i, name := range [...]string{"<0.5", "0.5-0.7", "0.7-0.9", ">=0.9"} {
		b := e.buckets[i]
		if b.n == 0 {
			continue
		}
		mean, right := b.sum/float64(b.n), shareOf(b.right, b.n)
		r.Calibration = append(r.Calibration, RouterBucket{name, b.n, roundShare(mean), right})
		distance += math.Abs(mean-right) * float64(b.n)
		judged += b.n
	}
	if judged > 0 {
		r.Error = roundShare(distance / float64(judged))
	}
	r.Malformed = max(shareOf(e.bad, e.attempts), 0)
	slices.Sort(e.elapsed)
	r.P50, r.P95 = e.percentile(50), e.percentile(95)
	r.Input = roundShare(float64(e.usage.InputTokens) / float64(r.Decisions))
	r.Output = roundShare(float64(e.usage.OutputTokens+e.usage.ThinkingTokens) / float64(r.Decisions))
	return *r
}

// percentile returns the duration, in ms, that p percent of the decisions kept to. e.elapsed must
// be sorted.
func (e *evaluation) percentile(p int) int64 {
	return e.elapsed[min(len(e.elapsed)*p/100, len(e.elapsed)-1)].Milliseconds()
}

// shareOf returns part divided by whole, or -1 if whole is 0.
func shareOf(part, whole int) float64 {
	if whole == 0 {
		return -1
	}
	return roundShare(float64(part) / float64(whole))
}

// roundShare keeps three decimals.
func roundShare(f float64) float64 { return math.Round(f*1000) / 1000 }
