package ask

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway/gatewaytest"
)

// ids returns the ids of questions.
func ids(list []*approvalData) string {
	var all []string
	for _, q := range list {
		all = append(all, q.ID)
	}
	return strings.Join(all, " ")
}

func asked(ids ...string) (list []*approvalData) {
	for _, id := range ids {
		list = append(list, &approvalData{ID: id})
	}
	return list
}

// A stream names what it asks; what else was asked is still open if the turn waits, once each.
func TestWhatIsAskedNext(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		waits       bool
		now, others []*approvalData
		want        string
	}{
		{true, nil, asked("b", "c"), "b c"},
		{true, asked("c", "d"), asked("b", "c"), "c d b"},
		{true, asked("c"), nil, "c"},
		{false, nil, asked("b"), ""},
		{false, asked("c"), asked("b"), "c"},
	} {
		so := streamResult{waits: tt.waits, questions: tt.now}
		if got := ids(so.mergeQuestions(tt.others)); got != tt.want {
			t.Errorf("waits %v, asked %q behind %q: %q, want %q", tt.waits, ids(tt.now), ids(tt.others), got, tt.want)
		}
	}
}

// The list is read page by page, for one user, and not without end.
func TestPagesOfWhatWaits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ pages, want int }{{1, 1}, {3, 3}, {100, maxWaiting}} {
		var asks atomic.Int64
		base := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n, next := asks.Add(1), ""
			if query := r.URL.Query(); query.Get("user_id") != "ann&x=1 ü" || n > 1 && query.Get("cursor") != fmt.Sprintf("c%d", n-1) {
				t.Errorf("page %d is asked for with %s", n, r.URL.RawQuery)
			}
			if int(n) < tt.pages {
				next = fmt.Sprintf(`,"next_cursor":"c%d"`, n)
			}
			fmt.Fprintf(w, `{"approvals":[{"task_id":"task_%d","approval_id":"a%d","prompt":"Go?"}]%s}`, n, n, next)
		}))
		list, err := (&Client{Base: base, User: "ann&x=1 ü"}).waitingQuestions(t.Context())
		if err != nil || len(list) != tt.want || list[len(list)-1].Task != fmt.Sprintf("task_%d", tt.want) || list[0].ID != "a1" {
			t.Errorf("%d pages: %+v, %v", tt.pages, list, err)
		}
	}
}

// What waits is answered one after the other; the outcome is that of the first that failed.
func TestAnswersToWhatWaits(t *testing.T) {
	t.Parallel()
	ended := func(success bool) string {
		return fmt.Sprintf("id: r:1\nevent: done\ndata: {\"success\":%v,\"finish_reason\":\"stop\"}\n\n", success)
	}
	for _, tt := range []struct {
		name, list string
		action     Action
		outcome    Outcome
		out, err   string
		answers    []string
	}{
		{"nothing", `{}`, Approve, Succeeded, "Nothing waits.", "", nil},
		{"two, of which the first fails", `{"approvals":[{"task_id":"no/1","approval_id":"a1","prompt":"Go\u001b[2J?"},{"task_id":"yes","approval_id":"a2","prompt":"Stay?"}]}`, Reject, failed, "yes waits: Stay?", "",
			[]string{`/tasks/no%2F1/decision {"approval_id":"a1","user_id":"ann","action":"reject"}`, `/tasks/yes/decision {"approval_id":"a2","user_id":"ann","action":"reject"}`}},
		{"nobody to ask", `{"approvals":[{"task_id":"yes","approval_id":"a1"},{"task_id":"yes","approval_id":"a2"}]}`, "", Unanswered, "yes waits: ", "there is none to ask", nil},
		{"refused", `{"approvals":[{"task_id":"gone","approval_id":"a1"}]}`, Approve, failed, "gone waits", "404 Not Found", []string{`/tasks/gone/decision {"approval_id":"a1","user_id":"ann","action":"approve"}`}},
		{"no list", `not JSON`, Approve, failed, "", "sluice ask: ", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answers := make(chan string, 4)
			base := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					_, _ = io.WriteString(w, tt.list)
					return
				}
				body, _ := io.ReadAll(r.Body)
				answers <- r.URL.EscapedPath() + " " + string(body)
				if strings.HasPrefix(r.URL.Path, "/tasks/gone") {
					http.NotFound(w, r)
					return
				}
				_, _ = io.WriteString(w, ended(strings.HasPrefix(r.URL.Path, "/tasks/yes")))
			}))
			d := deskAt(base, "")
			d.User, d.Action = "ann", tt.action
			d.want(t, tt.name, d.Waiting(t.Context()), tt.outcome, tt.out, tt.err)
			close(answers)
			var got []string
			for a := range answers {
				got = append(got, a)
			}
			if diff := cmp.Diff(tt.answers, got); diff != "" || strings.Contains(d.out.String(), "\x1b") {
				t.Errorf("answers (-want +got):\n%s\nstdout %q", diff, d.out.String())
			}
		})
	}
}
