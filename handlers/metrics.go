package handlers

import (
	"cmp"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/turn/chat"
	"sluice/stream"
	"sluice/stream/sse"
)

// instruments are the metrics of the HTTP face. Everything about a turn is added when it ends.
type instruments struct {
	streams, events, errors, tools, tokens, rejections, repetitions, stalls, blocked metrics.Counter
	turnTime, firstEvent, firstDelta, modelTime, toolTime                            metrics.Histogram

	dialects, dropped, clientCalls, tickets, resets metrics.Counter
	history                                         metrics.Histogram
}

// tokenCounter counts the tokens of turns, unless the models count theirs by themselves.
func tokenCounter(r *metrics.Registry, byModel bool) metrics.Counter {
	if byModel {
		return metrics.Counter{}
	}
	return r.Counter("tokens_total", "Tokens used, by kind.", "kind")
}

// newInstruments registers them with r. active is called with each scrape, from its
// goroutine.
func newInstruments(r *metrics.Registry, tokens metrics.Counter, active func() int) *instruments {
	r.GaugeFunc("streams_active", "Streams that run now.", func() float64 { return float64(active()) })
	return &instruments{
		streams:     r.Counter("streams_total", "Streams that ended, by finish reason.", "finish_reason"),
		events:      r.Counter("events_total", "Events sent, by type.", "event"),
		errors:      r.Counter("stream_errors_total", "Error events sent, by type.", "error_type", "fatal"),
		tools:       r.Counter("tool_calls_total", "Tool calls that ended, by MCP server and outcome.", "server", "outcome"),
		tokens:      tokens,
		rejections:  r.Counter("rejections_total", "Requests refused before a stream began, by error type.", "error_type"),
		repetitions: r.Counter("sdk_retries_refused_total", "Requests refused because a library had sent them again by itself."),
		stalls:      r.Counter("write_stalls_total", "Clients cut because a write took too long."),
		blocked:     r.Counter("write_blocked_seconds_total", "Time spent in writes to clients."),
		turnTime:    r.Histogram("turn_seconds", "Duration of a turn."),
		firstEvent:  r.Histogram("first_event_seconds", "Time from the request to the first event."),
		firstDelta:  r.Histogram("first_delta_seconds", "Time from the request to the first piece of the answer."),
		modelTime:   r.Histogram("model_call_seconds", "Duration of a model call, retries included."),
		toolTime:    r.Histogram("tool_call_seconds", "Duration of a tool call.", "server"),

		dialects:    r.Counter("dialect_turns_total", "Turns that ended, by the protocol in which they were asked for.", "dialect"),
		history:     r.Sizes("history_chars", "Characters of the history that a turn's request brought, as the model was shown it."),
		dropped:     r.Counter("history_dropped_total", "Messages of histories that were left out."),
		tickets:     r.Counter("tickets_total", "Tickets, by what became of them.", "outcome"),
		resets:      r.Counter("text_resets_total", "Times that text of an answer was taken back, by reason.", "reason"),
		clientCalls: r.Counter("client_tool_calls_total", "Calls of tools that the client runs.", "dialect"),
	}
}

// countRefusal counts a request that was refused.
func (m *instruments) countRefusal(t fault.Type) { m.rejections.Inc(string(t)) }

// countRequest adds up how a turn that has ended was asked for.
func (m *instruments) countRequest(t *turn, seen *observer) {
	name := t.route.Name()
	m.dialects.Inc(name)
	if p := t.Request.Pruning; p != (chat.Pruning{}) {
		m.history.Observe(float64(p.Chars))
		m.dropped.Add(float64(p.Dropped))
	}
	if n := len(seen.Required); n > 0 {
		m.clientCalls.Add(float64(n), name)
	}
}

// countTurn adds up a turn that has ended. before is its usage before it was paused, counted then.
func (m *instruments) countTurn(seen *observer, s *stream.Stamper, w sse.Stats, elapsed time.Duration, before chat.Usage) {
	m.streams.Inc(string(seen.finishReason()))
	m.turnTime.Observe(elapsed.Seconds())
	for _, c := range seen.eventCounts() {
		m.events.Add(float64(c.n), c.name)
	}
	for _, e := range seen.Errors {
		fatal := "false"
		if e.Fatal {
			fatal = "true"
		}
		m.errors.Inc(string(e.Type), fatal)
	}
	m.countCalls(seen.Calls)
	done := cmp.Or(seen.Done, new(stream.Done))
	for _, d := range done.Model {
		m.modelTime.Observe(d.Seconds())
	}
	m.tokens.Add(float64(max(0, done.Usage.InputTokens-before.InputTokens)), "input")
	m.tokens.Add(float64(max(0, done.Usage.OutputTokens-before.OutputTokens)), "output")
	m.tokens.Add(float64(max(0, done.Usage.ThinkingTokens-before.ThinkingTokens)), "thinking")
	m.countWrites(s, w)
}

// countCalls adds up the calls of a turn that has ended. A call that was under way when its client
// left, with the turn, is unknown, as it is in the turn's log.
func (m *instruments) countCalls(calls stream.Calls) {
	for _, c := range calls { // a model can make up any number of names, but no server
		m.tools.Inc(c.Server, string(cmp.Or(c.Outcome, stream.CallUnknown)))
		if c.Outcome != "" { // else nobody has measured it
			m.toolTime.Observe(c.Duration.Seconds(), c.Server)
		}
	}
}

// countWrites adds the figures of the writer. Times to the first event and text are those of the
// write, so they include the delay by the client.
func (m *instruments) countWrites(s *stream.Stamper, w sse.Stats) {
	event, delta := s.First()
	if event > 0 {
		m.firstEvent.Observe(event.Seconds())
	}
	if delta > 0 {
		m.firstDelta.Observe(delta.Seconds())
	}
	m.blocked.Add(w.Blocked.Seconds())
	if w.Stalled {
		m.stalls.Inc()
	}
}
