package wholetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	gosse "github.com/tmaxmax/go-sse"
)

// Judge lists the faults of a reply by the contract. It shares no code with what made the reply: it
// knows the wire alone, and reads it with another's parser.
func Judge(r WireReply) []string {
	j := judgement{calls: map[string]WireEvent{}}
	if r.Header.Get("X-Request-ID") != RequestID {
		j.addFault("X-Request-ID is %q", r.Header.Get("X-Request-ID"))
	}
	switch kind := r.Header.Get("Content-Type"); {
	case strings.Contains(r.Body, Key):
		j.addFault("the key is in the reply")
	case unfit.MatchString(r.Body):
		j.addFault("%s is in the reply", unfit.FindString(r.Body))
	case kind == "text/event-stream":
		j.judgeStream(r)
	case r.Status == http.StatusNoContent:
		j.must(r.Body == "", "204 has a body")
	default:
		j.judgeProblem(r)
	}
	return j.faults
}

// unfit matches what transcripts call texts that must not pass: an upstream
// service's words, and faulty values of a request.
var unfit = regexp.MustCompile(`UPSTREAM|SECRET`)

// judgement is the judge's knowledge of a stream so far.
type judgement struct {
	faults []string

	done        bool
	fatal       string               // error_type of a fatal error
	explain     bool                 // a call went wrong, and an error must say why
	calls       map[string]WireEvent // under way, by call_id
	ids         []string             // of all calls
	tools       []string             // names in order of call
	missing     []string             // services that were reported to be unavailable
	text        string               // deltas so far
	accumulates *bool
	hasQuestion bool // a person is asked

	routes    int
	clarified bool
	agents    map[string]string // the last status of each
	quality   qualityJudgement
}

func (j *judgement) addFault(format string, args ...any) {
	j.faults = append(j.faults, fmt.Sprintf(format, args...))
}

func (j *judgement) must(ok bool, format string, args ...any) {
	if !ok {
		j.addFault(format, args...)
	}
}

// WireEvent holds the members of all events' data.
type WireEvent struct {
	kind string

	RequestID string `json:"request_id"`
	Protocol  string `json:"protocol"`
	Model     string `json:"model"`
	Content   string `json:"content"`
	toolEvent
	Delta       string `json:"delta"`
	Accumulated string `json:"accumulated"`
	errorEvent
	FinalOutput string   `json:"final_output"`
	ToolsCalled []string `json:"tools_called"`
	Success     *bool    `json:"success"`
	agentEvent
	Waiting []struct {
		CallID    string          `json:"call_id"`
		Arguments json.RawMessage `json:"arguments"`
		Reason    string          `json:"reason"`
	} `json:"calls"`
	Agents []struct {
		AgentID string `json:"agent_id"`
		Success bool   `json:"success"`
	} `json:"agents"`
	qualityEvent
	Finish  string         `json:"finish_reason"`
	Usage   map[string]int `json:"usage"`
	Timings struct {
		Total      int   `json:"total_ms"`
		FirstEvent int   `json:"first_event_ms"`
		FirstDelta *int  `json:"first_delta_ms"`
		Model      []int `json:"model_ms"`
		Tools      []struct {
			Tool string `json:"tool_name"`
			MS   int    `json:"ms"`
		} `json:"tools"`
		Blocked int `json:"write_blocked_ms"`
	} `json:"timings"`
}

// agentEvent are the members of agent events and of approval.
type agentEvent struct {
	AgentID      string  `json:"agent_id"`
	Decision     string  `json:"decision"`
	Confidence   float64 `json:"confidence"`
	Reasoning    string  `json:"reasoning"`
	Attempt      int     `json:"attempt"`
	ErrorMessage string  `json:"error_message"`
	ApprovalID   string  `json:"approval_id"`
	Prompt       string  `json:"prompt"`
	Token        string  `json:"token"`
}

// errorEvent are the members of error.
type errorEvent struct {
	ErrorType   string `json:"error_type"`
	Service     string `json:"service"`
	Message     string `json:"message"`
	Recoverable bool   `json:"recoverable"`
	Fatal       bool   `json:"fatal"`
	RetryAfter  int    `json:"retry_after_ms"`
}

// toolEvent are the members of tool_call.
type toolEvent struct {
	CallID    string          `json:"call_id"`
	Tool      string          `json:"tool_name"`
	Server    string          `json:"server"`
	Arguments json.RawMessage `json:"arguments"`
	Status    string          `json:"status"`
	Duration  int             `json:"duration_ms"`
	Progress  float64         `json:"progress"`
	Total     *float64        `json:"total"`
	Result    string          `json:"result"`
	Truncated bool            `json:"truncated"`
	Error     string          `json:"error"`
}

// vocabulary is that of docs/events.md: the members of each event's data, in
// the order in which we write them; those with a ? may be absent.
var vocabulary = map[string]string{
	"start":                 "request_id conversation_id? user_id? model protocol",
	"route":                 "request_id decision agent_id additional_agents confidence reasoning? method attempts duration_ms model?",
	"agent":                 "request_id agent_id role attempt status success? execution_time_ms? error_message? error_type? usage?",
	"thinking":              "request_id agent_id? content",
	"tool_call/in_progress": "request_id agent_id? call_id tool_name server arguments status",
	"tool_call/progress":    "request_id agent_id? call_id tool_name server arguments status progress total? message?",
	"tool_call/completed":   "request_id agent_id? call_id tool_name server arguments status duration_ms result truncated?",
	"tool_call/failed":      "request_id agent_id? call_id tool_name server arguments status duration_ms error error_type?",
	"tool_call/unknown":     "request_id agent_id? call_id tool_name server arguments status duration_ms error",
	"response_delta":        "request_id agent_id? delta accumulated?",
	"response_reset":        "request_id accumulated reason agent_id? node_id?",
	"approval":              "request_id approval_id kind prompt calls? expires_at token task_id?",
	"error":                 "request_id agent_id? error_type message recoverable fatal retry_after_ms? service?",
	"done":                  "request_id final_output tools_called success finish_reason usage timings agents? quality? channel?",
	"quality":               "request_id phase attempt elapsed_ms plan? chars? passed? failed?",
	"inner_delta":           "request_id agent_id? delta attempt?",
	"channel_message":       "request_id channel sequence total content content_type continuation_indicator? encoding? segments? units? chars? card? bytes? subject? text? html?",
}

// memberPattern makes a pattern of a row of the vocabulary: names, each with a comma.
func memberPattern(row string) *regexp.Regexp {
	row = regexp.MustCompile(`(\w+)(\??)`).ReplaceAllString(row, "(?:$1,)$2")
	return regexp.MustCompile("^" + strings.ReplaceAll(row, " ", "") + "$")
}

var (
	wireFrame = regexp.MustCompile(`^(?:(: ping)|(retry: 86400000\n)?(?:id: (\S+):(\d+)\n)?event: (\w+)\ndata: (\{.*\}))$`)

	// StreamHeaders are those of every stream.
	StreamHeaders = map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no",
	}
)

func (j *judgement) judgeStream(r WireReply) {
	j.must(r.Status == http.StatusOK, "a stream with status %d", r.Status)
	for name, want := range StreamHeaders {
		j.must(r.Header.Get(name) == want, "header %s: %q", name, r.Header.Get(name))
	}
	j.must(!strings.Contains(r.Body, "\r"), "there is a CR in the framing")
	blocks := strings.Split(r.Body, "\n\n")
	j.must(blocks[len(blocks)-1] == "", "the last frame is not closed by an empty line")
	var events []WireEvent
	var read []gosse.Event
	for i, block := range blocks[:len(blocks)-1] {
		m := wireFrame.FindStringSubmatch(block)
		switch {
		case m == nil:
			j.addFault("frame %d is not of the contract's form: %q", i, block)
			continue
		case m[1] != "": // a heartbeat
			j.must(!j.done && i > 0, "a heartbeat outside of the turn")
			continue
		}
		j.must((m[2] != "") == (i == 0), "retry stands on the first frame and only there")
		ev := j.decodeEvent(m[5], m[6])
		if j.judgeEvent(ev, len(events) == 0); isDraft(ev) {
			j.must(m[3] == "" && len(events) > 0, "a draft has the id %q", m[3])
			read = append(read, gosse.Event{LastEventID: read[len(read)-1].LastEventID, Type: m[5], Data: m[6]})
			continue
		}
		j.must(m[3] == RequestID && m[4] == strconv.Itoa(len(events)+1), "id %s:%s after %d events", m[3], m[4], len(events))
		read = append(read, gosse.Event{LastEventID: m[3] + ":" + m[4], Type: m[5], Data: m[6]})
		events = append(events, ev)
	}
	j.must(j.done, "there is no done")
	j.must(slices.Equal(read, j.readByAnother(r.Body)), "go-sse reads other events")
}

// readByAnother reads the stream with a parser that we did not write.
func (j *judgement) readByAnother(body string) []gosse.Event {
	events, err := ReadByAnother(body)
	if err != nil {
		j.addFault("go-sse: %v", err)
	}
	return events
}

// ReadByAnother reads a stream with a parser that we did not write, as far as it can be read.
func ReadByAnother(body string) (events []gosse.Event, err error) {
	for ev, err := range gosse.Read(strings.NewReader(body), &gosse.ReadConfig{MaxEventSize: 4 << 20}) {
		if err != nil {
			return events, err
		}
		events = append(events, ev)
	}
	return events, nil
}

func (j *judgement) decodeEvent(kind, data string) WireEvent {
	ev := WireEvent{kind: kind}
	if !jsontext.Value(data).IsValid() {
		j.addFault("no strict JSON (RFC 7493): %s", data)
	}
	if err := json.Unmarshal([]byte(data), &ev); err != nil {
		j.addFault("%v in %s", err, data)
	}
	row := kind
	if kind == "tool_call" {
		row += "/" + ev.Status
	}
	j.must(vocabulary[row] != "" && memberPattern(vocabulary[row]).MatchString(memberNames(data)), "members of %s: %s", row, memberNames(data))
	j.must(ev.RequestID == RequestID, "request_id %q", ev.RequestID)
	j.must(!strings.ContainsRune(data, '\uFFFD'), "something was replaced in %s", data)
	return ev
}

// memberNames returns the names of an object's members, each with a comma behind it.
func memberNames(object string) string {
	dec := jsontext.NewDecoder(strings.NewReader(object))
	var list strings.Builder
	_, err := dec.ReadToken()
	for err == nil && dec.PeekKind() == '"' {
		name, _ := dec.ReadToken()
		list.WriteString(name.String() + ",")
		err = dec.SkipValue()
	}
	return list.String()
}
