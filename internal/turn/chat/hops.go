package chat

import "strconv"

// Gateways can be each other's remote agents. A request that goes round and round would run
// a turn on each of them until its time is over, and hold a stream all that time.

// MaxHops is how many gateways a request may come through. One that has come through so many
// reaches no further remote agent.
const MaxHops = 4

// HopsHeader says to another gateway through how many a request has come. Agents that are not
// gateways do not hand it on: what they pass round ends with the time of the turn.
const HopsHeader = "X-Sluice-Hops"

// ParseHops reads the value of HopsHeader. Anything else counts as MaxHops, unless it is empty:
// a sender of nonsense gets no further.
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
