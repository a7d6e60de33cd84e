package chat

import "strconv"

// Gateways can be each other's remote agents. A request that goes round would run a turn on each of
// them until its time is over, and hold a stream all that time.

// MaxHops is how many gateways a request may come through. At this number a request reaches no
// further remote agent.
const MaxHops = 4

// HopsHeader says to another gateway through how many a request has come. Agents that are not
// gateways drop it. A circle through them ends with the time of the turn.
const HopsHeader = "X-Sluice-Hops"

// ParseHops reads the value of HopsHeader. Any invalid value counts as MaxHops, so that its sender
// reaches no further agent. An empty value is 0.
func ParseHops(value string) int {
	if value == "" {
		return 0
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return MaxHops
	}
	return min(n, MaxHops)
}
