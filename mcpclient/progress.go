package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"sluice/internal/base/redact"
	"sluice/internal/turn/tool"
)

const (
	methodProgress = "notifications/progress"
	// maxMessage is how many bytes of a progress message are kept.
	maxMessage = 1 << 10
)

// listener hands a call's progress on. A repeated call keeps its listener, so that its progress
// only grows, as the specification requires of a server.
type listener struct {
	report func(tool.Progress)
	hide   *redact.Scrubber

	mu    sync.Mutex // guards the fields below, and keeps the reports in order
	last  float64
	ended bool
}

// newListener returns the listener of a call with ctx, or nil if no one asked for
// progress.
func (u *upstream) newListener(ctx context.Context) *listener {
	report := tool.ReportOf(ctx)
	if report == nil {
		return nil
	}
	return &listener{report: report, hide: u.hide, last: math.Inf(-1)}
}

// reportProgress takes a report. Late ones and those that do not grow are dropped; the same
// one may come twice, as replies are read ahead of mcp-go.
func (l *listener) reportProgress(p tool.Progress) {
	if math.IsNaN(p.Progress) || math.IsInf(p.Progress, 0) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended || p.Progress <= l.last {
		return
	}
	l.last = p.Progress
	if !(p.Total > 0) || math.IsInf(p.Total, 1) {
		p.Total = 0
	}
	p.Message = hidePlaces(l.hide.Text(clipText(tool.Clean(p.Message), maxMessage)))
	l.report(p)
}

// endReports waits for a report that is under way. After it no report follows.
func (l *listener) endReports() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

// listeners are those of the calls under way on one server, by their progress
// tokens.
type listeners struct {
	mu      sync.Mutex // guards the fields below
	given   uint64     // tokens so far
	byToken map[string]*listener
}

// add registers l under a new token, until remove.
func (s *listeners) add(l *listener) (token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given++
	token = "sluice-" + strconv.FormatUint(s.given, 10)
	if s.byToken == nil {
		s.byToken = map[string]*listener{}
	}
	s.byToken[token] = l
	return token
}

// remove ends what add began: later reports under the token are dropped.
func (s *listeners) remove(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byToken, token)
}

// dispatch passes a report on to the call with this token, if it is still under way.
func (s *listeners) dispatch(token string, p tool.Progress) {
	s.mu.Lock()
	l := s.byToken[token]
	s.mu.Unlock()
	if l != nil {
		l.reportProgress(p)
	}
}

// wireProgress is a notification of MCP.
type wireProgress struct {
	Method string `json:"method"`
	Params struct {
		Token    any      `json:"progressToken"`
		Progress *float64 `json:"progress"`
		Total    float64  `json:"total"`
		Message  string   `json:"message"`
	} `json:"params"`
}

// onMessage takes one message of a reply that is being read, if it reports
// progress. mcp-go sees the reply only when it is whole.
func (s *listeners) onMessage(message []byte) {
	if !bytes.Contains(message, []byte("notifications")) { // it may be spelled with an escaped slash
		return
	}
	var n wireProgress
	if json.Unmarshal(message, &n) != nil || n.Method != methodProgress {
		return
	}
	if token, ok := n.Params.Token.(string); ok && n.Params.Progress != nil {
		s.dispatch(token, tool.Progress{Progress: *n.Params.Progress, Total: n.Params.Total, Message: n.Params.Message})
	}
}

// onNotification takes a notification that mcp-go has read.
func (s *listeners) onNotification(n mcp.JSONRPCNotification) {
	if n.Method != methodProgress {
		return
	}
	about := n.Params.AdditionalFields
	token, ok := about["progressToken"].(string)
	progress, known := numberOf(about["progress"])
	if !ok || !known {
		return
	}
	total, _ := numberOf(about["total"])
	message, _ := about["message"].(string)
	s.dispatch(token, tool.Progress{Progress: progress, Total: total, Message: message})
}

// numberOf returns a number that was read from JSON, or that a server in this
// process has put there itself.
func numberOf(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case float32:
		return float64(v), true
	case int:
		return float64(v), true
	case int32:
		return float64(v), true
	case int64:
		return float64(v), true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	}
	return 0, false
}
