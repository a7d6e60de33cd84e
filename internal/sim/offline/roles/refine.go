package roles

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"sluice/internal/sim/geminisim"
)

// wildly is a number that is made up, and a prime, so that nothing in a list of todos adds up to it.
const wildly = 4567

var numbers = regexp.MustCompile(`\d+`)

// rewriteAnswer answers a request to write an answer once more, whose last message names the
// criteria that failed: the same answer, with the numbers that no tool has reported put right. A
// wild guess gets another guess.
//
// false: nothing is to be written again. It is tried before all other rules, as its request
// looks like none of a visitor's.
func rewriteAnswer(q geminisim.Question) (string, bool) {
	var asked struct {
		Response string `json:"original_response"`
		Failed   []struct {
			ID string `json:"id"`
		} `json:"failed_criteria"`
	}
	if !findData(q, &asked, `"original_response"`) || asked.Response == "" || len(asked.Failed) == 0 {
		return "", false
	}
	var data struct {
		Message string       `json:"user_message"`
		Results []toolResult `json:"tool_results"`
	}
	findData(q, &data, `"tool_results"`)
	if strings.Contains(strings.ToLower(data.Message), "wildly") {
		return numbers.ReplaceAllString(asked.Response, strconv.Itoa(wildly)), true
	}
	known, used := map[string]bool{}, numbers.FindAllString(asked.Response, -1)
	var spare []string // of the results, and not in the answer
	for _, r := range data.Results {
		for _, n := range r.backedNumbers() {
			if !known[n] && !slices.Contains(used, n) {
				spare = append(spare, n)
			}
			known[n] = true
		}
	}
	return numbers.ReplaceAllStringFunc(asked.Response, func(n string) string {
		if known[n] || len(spare) == 0 {
			return n
		}
		put := spare[0]
		spare = spare[1:]
		return put
	}), true
}

// toolResult is a tool's result in a request.
type toolResult struct {
	Tool   string `json:"tool"`
	Result string `json:"result"`
}

// backedNumbers returns how many items there are in each list of the result, and the numbers that
// stand in it on their own.
func (r toolResult) backedNumbers() (all []string) {
	var v any
	if json.Unmarshal([]byte(r.Result), &v) != nil {
		return numbers.FindAllString(r.Result, -1)
	}
	lists, single := countedIn(v)
	return append(lists, single...)
}

// countedIn returns the numbers that a result of a tool backs: the lengths of its lists, and the
// numbers that stand outside of lists.
func countedIn(v any) (lists, single []string) {
	switch v := v.(type) {
	case []any:
		return []string{strconv.Itoa(len(v))}, nil
	case float64:
		return nil, []string{strconv.FormatFloat(v, 'f', -1, 64)}
	case map[string]any:
		for _, name := range sortedNames(v) {
			l, s := countedIn(v[name])
			lists, single = append(lists, l...), append(single, s...)
		}
	}
	return lists, single
}
