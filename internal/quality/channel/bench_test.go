package channel_test

import (
	"fmt"
	"strings"
	"testing"

	"sluice/internal/quality/channel"
	"sluice/internal/quality/channel/channeltest"
)

// answer is about 1 KB of Markdown with a table, as a model writes it.
const answer = `# Your week

Here is what I found for **this week**, with the *open* ones first. See [the board](https://example.com/board?week=48) for more.

| Task | Due | Owner |
| --- | --- | --- |
| Write the report | 2026-11-24 | Ann |
| Call the bank about card 4 | 2026-11-25 | Bob |
| Order ` + "`printer paper`" + ` | 2026-11-26 | Ann |
| Review the budget | 2026-11-27 | Carla |

- Two of them are **late** by a day.
- One has no owner, which I would change today.
- The rest is on time, and nothing blocks anybody.

1. Start with the report, as it takes three hours.
2. Then call the bank; they close at 4 p.m. on Friday.

> Note: the budget review moved from Thursday to Friday.

You have logged 32 of 40 hours so far. That leaves eight hours, of which the report takes three and the call about a half. If you want, I can move the review to next week, or ask Carla whether she can take the order of paper off your list. Just tell me which of the two you prefer, and I will do it at once.
`

func BenchmarkFormat(b *testing.B) {
	for _, size := range []int{1, 64} {
		text := strings.Repeat(answer+"\n", size)[:min(size<<10, size*(len(answer)+1))]
		for _, spec := range channel.Builtin() {
			if spec.Name == channel.Web {
				continue
			}
			f := channel.New(spec)
			b.Run(fmt.Sprintf("%s/%dKB", spec.Name, size), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					channeltest.Format(f, channel.Input{Text: text})
				}
			})
		}
	}
}
