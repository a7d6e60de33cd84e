// This file has the members of a stream that the client reads: the data of its events, and their
// form for programs.

package ask

import (
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/clients/terminal"
	"sluice/stream/sse"
)

// viewer shows the events of a turn.
//
// show is called for each event in order, from one goroutine. Its error ends the turn.
type viewer interface {
	showEvent(ev sse.Event, data eventData) error
}

// eventData is the union of the members that the client reads of the events' data.
//
// docs/events.md has the meaning of each member in each event; the others are zero. New events of a
// gateway do not break it: members that it does not know are passed over.
type eventData struct {
	RequestID    string `json:"request_id"`
	TaskID       string `json:"task_id"`
	Model        string `json:"model"`
	Key          string `json:"key"`
	Previous     string `json:"previous"`
	Reason       string `json:"reason"`
	Content      string `json:"content"`
	toolData     `json:",inline"`
	Delta        string `json:"delta"`
	Accumulated  string `json:"accumulated"` // of response_reset
	ErrorType    string `json:"error_type"`
	Message      string `json:"message"`
	Success      bool   `json:"success"`
	Finish       string `json:"finish_reason"`
	teamData     `json:",inline"`
	approvalData `json:",inline"`
	checkData    `json:",inline"`
	Usage        struct {
		Input    int `json:"input_tokens"`
		Cached   int `json:"cached_tokens"` // part of Input
		Output   int `json:"output_tokens"`
		Thinking int `json:"thinking_tokens"`
	} `json:"usage"`
	Timings struct {
		Total      int64  `json:"total_ms"`
		FirstDelta *int64 `json:"first_delta_ms"`
	} `json:"timings"`
}

// toolData are the members of tool_call.
type toolData struct {
	Tool      string         `json:"tool_name"`
	Server    string         `json:"server"`
	Arguments jsontext.Value `json:"arguments"`
	Status    string         `json:"status"`
	Progress  float64        `json:"progress"`
	Total     float64        `json:"total"`
	Duration  int64          `json:"duration_ms"`
	Result    string         `json:"result"`
	Error     string         `json:"error"`
}

// jsonLines prints each event as one line of JSON.
//
// It is for programs: a line is one event, with nothing left out and nothing that could
// steer a terminal.
type jsonLines struct{ out io.Writer }

// showEvent prints an event as one line, data as it was sent.
func (j *jsonLines) showEvent(ev sse.Event, _ eventData) error {
	line, err := json.Marshal(struct {
		ID    string         `json:"id"`
		Event string         `json:"event"`
		Data  jsontext.Value `json:"data"`
	}{ev.ID, ev.Type, jsontext.Value(ev.Data)}, jsontext.PreserveRawStrings(true))
	if err != nil {
		return err
	}
	_, err = j.out.Write(append(terminal.PrintableJSON(line), '\n'))
	return err
}
