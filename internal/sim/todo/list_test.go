package todo

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// titles calls list_todos and returns the titles found, in order.
func (s session) titles(arguments string) []string {
	s.t.Helper()
	var found listing
	if err := json.Unmarshal([]byte(s.must("list_todos", arguments)), &found); err != nil {
		s.t.Fatal(err)
	}
	if found.Count != len(found.Todos) || found.More {
		s.t.Errorf("%s: count = %d, more = %t with %d todos", arguments, found.Count, found.More, len(found.Todos))
	}
	titles := []string{}
	for _, it := range found.Todos {
		titles = append(titles, it.Title)
	}
	return titles
}

// dueAt adds todos that are named after their due dates.
func (s session) dueAt(dates ...string) {
	s.t.Helper()
	for _, date := range dates {
		s.must("create_todo", fmt.Sprintf(`{"title":%q,"due_date":%q}`, date, date))
	}
}

func TestDueFilters(t *testing.T) {
	t.Parallel()
	s := local(t) // Wednesday 25 November 2026, 10:00 in Berlin, which is UTC+1
	s.dueAt(
		"2026-11-22", "2026-11-22T22:59:59Z", // Sunday, the second one at 23:59:59 in Berlin
		"2026-11-22T23:00:00Z", "2026-11-23", // Monday
		"2026-11-24T23:59:59", // Tuesday
		"2026-11-25", "2026-11-25T00:00:00", "2026-11-25T08:59:59Z", "2026-11-25T10:00:00", "2026-11-25T10:00:00+01:00", "2026-11-25T22:59:59Z",
		"2026-11-26", "2026-11-26T00:30:00", "2026-11-25T23:30:00Z", // Thursday
		"2026-11-29", "2026-11-29T23:59:59", // Sunday
		"2026-11-30", "2026-11-29T23:00:00Z", // Monday
	)
	s.must("create_todo", `{"title":"some day"}`)
	s.must("create_todo", `{"title":"done","due_date":"2026-11-24"}`)
	s.must("update_todo", `{"todo_id":"todo_20","status":"completed"}`)

	today := []string{"2026-11-25T00:00:00", "2026-11-25T08:59:59Z", "2026-11-25T10:00:00", "2026-11-25T10:00:00+01:00", "2026-11-25", "2026-11-25T22:59:59Z"}
	thursday := []string{"2026-11-26T00:30:00", "2026-11-25T23:30:00Z", "2026-11-26"}
	sunday := []string{"2026-11-22", "2026-11-22T22:59:59Z"}
	early := []string{"2026-11-22T23:00:00Z", "2026-11-23", "2026-11-24T23:59:59"}
	tests := []struct {
		arguments string
		want      []string
	}{
		{`{"due_date_filter":"today"}`, today},
		{`{"due_date_filter":"tomorrow"}`, thursday},
		{`{"due_date_filter":" 2026-11-26 "}`, thursday},
		{`{"due_date_filter":"2026-11-22"}`, sunday},
		{`{"due_date_filter":"2026-01-01"}`, []string{}},
		{`{"due_date_filter":"this_week"}`, concat(early, today, thursday, []string{"2026-11-29", "2026-11-29T23:59:59"})},
		{`{"due_date_filter":"overdue"}`, concat(sunday, early, today[:2])},
		{`{"due_date_filter":"overdue","status":"all"}`, concat(sunday, early, today[:2])},
		{`{"due_date_filter":"overdue","status":"completed"}`, []string{}},
		{`{"due_date_filter":"this_week","status":"completed"}`, []string{"done"}},
		{`{"due_date_filter":"2026-11-24","status":"all"}`, []string{"2026-11-24T23:59:59", "done"}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, s.titles(test.arguments)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.arguments, diff)
		}
	}
}

func concat(lists ...[]string) []string {
	var all []string
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// The week is the calendar's, also on its last day and across a clock change: in
// Berlin the 25th of October 2026 has 25 hours.
func TestThisWeekAcrossAClockChange(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Now = func() time.Time { return time.Date(2026, 10, 25, 22, 30, 0, 0, time.UTC) } // Sunday 23:30
	s := connect(t, NewServer(open(t, cfg), "1.0"), dialInProcess, "2025-11-25")
	s.dueAt("2026-10-18", "2026-10-18T22:00:00Z", "2026-10-25T22:59:59Z", "2026-10-25T23:00:00Z", "2026-10-25", "2026-10-26")
	want := []string{"2026-10-18T22:00:00Z", "2026-10-25T22:59:59Z", "2026-10-25"}
	if diff := cmp.Diff(want, s.titles(`{"due_date_filter":"this_week"}`)); diff != "" {
		t.Errorf("this week (-want +got):\n%s", diff)
	}
}

func TestFiltersAndOrder(t *testing.T) {
	t.Parallel()
	s := local(t)
	for _, arguments := range []string{
		`{"title":"low","priority":"low","tags":["home"]}`,
		`{"title":"Medium Öl","tags":["home","#Work"]}`,
		`{"title":"high","priority":"high","tags":["work"]}`,
		`{"title":"medium 100% \"it's\"","tags":["wor_"]}`,
		`{"title":"dated, low","priority":"low","due_date":"2027-01-01"}`,
		`{"title":"dated, high","priority":"high","due_date":"2027-01-01"}`,
		`{"title":"dated earlier","due_date":"2026-12-31T23:00:00-02:00"}`,
		`{"title":"done","priority":"high","due_date":"2026-01-01"}`,
	} {
		s.must("create_todo", arguments)
	}
	s.must("update_todo", `{"todo_id":"todo_8","status":"completed"}`)

	pending := []string{"dated earlier", "dated, high", "dated, low", "high", "Medium Öl", `medium 100% "it's"`, "low"}
	tests := []struct {
		arguments string
		want      []string
	}{
		{`{}`, pending},
		{`{"status":null,"tags":[],"query":" "}`, pending},
		{`{"status":"pending"}`, pending},
		{`{"status":"all"}`, concat(pending, []string{"done"})},
		{`{"status":"completed"}`, []string{"done"}},
		{`{"priority":"high"}`, []string{"dated, high", "high"}},
		{`{"priority":"high","status":"all"}`, []string{"dated, high", "high", "done"}},
		{`{"tags":["home"]}`, []string{"Medium Öl", "low"}},
		{`{"tags":["WORK","#home"]}`, []string{"Medium Öl"}},
		{`{"tags":["wor_"]}`, []string{`medium 100% "it's"`}},
		{`{"tags":["wor"]}`, []string{}},
		{`{"query":"MEDIUM"}`, []string{"Medium Öl", `medium 100% "it's"`}},
		{`{"query":"öL"}`, []string{"Medium Öl"}},
		{`{"query":"0% \"IT'"}`, []string{`medium 100% "it's"`}},
		{`{"query":"%"}`, []string{`medium 100% "it's"`}},
		{`{"query":"_"}`, []string{}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, s.titles(test.arguments)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.arguments, diff)
		}
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	s := local(t)
	for i := range 201 {
		s.must("create_todo", fmt.Sprintf(`{"title":"number %d"}`, i))
	}
	for _, test := range []struct {
		arguments string
		todos     int
		count     int
		more      bool
		last      string
	}{
		{arguments: `{}`, todos: 50, count: 201, more: true, last: "number 49"},
		{arguments: `{"limit":200}`, todos: 200, count: 201, more: true, last: "number 199"},
		{arguments: `{"limit":1}`, todos: 1, count: 201, more: true, last: "number 0"},
		{arguments: `{"query":"number 20","limit":2}`, todos: 2, count: 2, more: false, last: "number 200"},
	} {
		var got listing
		if err := json.Unmarshal([]byte(s.must("list_todos", test.arguments)), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Todos) != test.todos || got.Count != test.count || got.More != test.more || got.Todos[len(got.Todos)-1].Title != test.last {
			t.Errorf("%s: %d todos up to %q, count %d, more %t; want %d up to %q, %d, %t", test.arguments,
				len(got.Todos), got.Todos[len(got.Todos)-1].Title, got.Count, got.More, test.todos, test.last, test.count, test.more)
		}
	}
}
