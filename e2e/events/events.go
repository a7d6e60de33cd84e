// Package events reads a stream of Server-Sent Events as the gateway frames it, line by line, as
// the simplest client would. It shares no code with the gateway: a judge of a stream must not share
// its writer's mistakes.
package events

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"strings"
)

// Event is one event as it came over the wire: "id: <turn>:<n>", its name and its data.
type Event struct {
	Turn string
	N    int // its number in the turn, from 1
	Name string
	Data []byte // one JSON object; valid for as long as one likes
}

// Read gives the events of a stream to each until that returns false, when it returns nil, or the
// stream ends: then it returns why, io.EOF for an end that looks proper. Only the event done proves
// an end, and that is for each to notice. Comments, retry lines and incomplete lines are skipped.
func Read(in io.Reader, each func(Event) bool) error {
	lines := bufio.NewReader(in)
	var e Event
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		name, value, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(": "))
		switch string(name) {
		case "id":
			turn, n, _ := strings.Cut(string(value), ":")
			e.Turn = turn
			e.N, _ = strconv.Atoi(n)
		case "event":
			e.Name = string(value)
		case "data":
			e.Data = value
		case "":
			if e.Name != "" && !each(e) {
				return nil
			}
			e = Event{}
		}
	}
}
