package wholetest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	logStamp = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	logWords = []string{"DEBUG", "INFO", "WARNING", "ERROR"}
)

// logPairs are lines of which there is one for each of the other.
var logPairs = map[string]string{
	"request_received": "request_completed", "gemini_api_called": "gemini_api_result", "mcp_tool_called": "mcp_tool_result",
}

// JudgeLog lists the faults of a turn's log by the rules of docs/operations.md. private are texts
// that must not be in it.
func JudgeLog(log []byte, private []string) (faults []string) {
	counts := map[string]int{}
	for line := range strings.Lines(string(log)) {
		var l struct {
			Timestamp, Level, Event string
			RequestID               *string `json:"request_id"`
			Details                 map[string]any
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			faults = append(faults, err.Error()+": "+line)
			continue
		}
		counts[l.Event]++
		if l.Event == "error_occurred" && l.Details["status"] == 422.0 { // a refused request was received, and never completed
			counts["request_completed"]++
		}
		fit := logStamp.MatchString(l.Timestamp) && slices.Contains(logWords, l.Level) && l.Event != "" && l.RequestID != nil
		if !fit || *l.RequestID != "" && *l.RequestID != RequestID {
			faults = append(faults, "not a line of the contract's form: "+line)
		}
	}
	for begin, end := range logPairs {
		if counts[begin] != counts[end] {
			faults = append(faults, fmt.Sprintf("%d lines %s, %d %s", counts[begin], begin, counts[end], end))
		}
	}
	for _, text := range private {
		if strings.Contains(string(log), text) {
			faults = append(faults, "it holds "+text)
		}
	}
	return faults
}
