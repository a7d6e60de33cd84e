package file

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// Duration returns a length of time: as Go writes it, or a whole number of days, such as
// 30d. One that is not from least to most is a fault.
func (n *Node) Duration(least, most time.Duration) (time.Duration, bool) {
	text, ok := n.Text()
	if !ok {
		return 0, false
	}
	d, err := parseDuration(text)
	if err != nil || d < least || d > most {
		n.Fault(fmt.Sprintf("must be a duration from %s to %s, with its unit, such as 15s, 90m or 7d", inWords(least), inWords(most)))
		return 0, false
	}
	return d, true
}

func parseDuration(text string) (time.Duration, error) {
	days, ok := strings.CutSuffix(text, "d")
	if !ok {
		return time.ParseDuration(text)
	}
	n, err := strconv.ParseUint(days, 10, 16) // so far from what overflows
	return time.Duration(n) * day, err
}

// inWords writes d as a person would: 10m, not 10m0s.
func inWords(d time.Duration) string {
	if d >= 2*day && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
