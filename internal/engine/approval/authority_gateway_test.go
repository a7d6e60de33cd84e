package approval_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/state/store/memory"
)

// office is a gateway whose workflow asks whether to go on.
type office struct {
	t   *testing.T
	g   http.Handler
	log gatewaytest.SafeBuffer
}

func openOffice(t *testing.T, fourEyes bool) *office {
	t.Helper()
	cfg, file := wholetest.Configured(t, humanFlow, nil)
	file.Auth.FourEyes = fourEyes
	o := &office{t: t}
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.New(&o.log),
		gateway.Seams{Store: memory.New(memory.Config{}), Door: wholetest.Door{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	o.g = g
	return o
}

// post sends a request. who is a user of the tenant t with scopes: "ann chat approve".
func (o *office) post(who, path, body string) (int, string) {
	o.t.Helper()
	user, scopes, _ := strings.Cut(who, " ")
	user, key, _ := strings.Cut(user, "#")
	req := httptest.NewRequest("POST", path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Who", "t/"+user)
	req.Header.Set("X-Key", key)
	req.Header.Set("X-Scopes", scopes)
	w := httptest.NewRecorder()
	o.g.ServeHTTP(w, req)
	return w.Code, w.Body.String()
}

// asked is the question of a run that waits.
type asked struct {
	Task  string `json:"task_id"`
	Token string `json:"token"`
	ID    string `json:"approval_id"`
}

// begin has a user begin a run, by the name of another one if named is not empty.
func (o *office) begin(who, named string) (q asked) {
	o.t.Helper()
	body := `{"input":"go","workflow":"flow"}`
	if named != "" {
		body = fmt.Sprintf(`{"input":"go","workflow":"flow","user_id":%q}`, named)
	}
	_, got := o.post(who, "/chat/stream", body)
	wholetest.DataOf(o.t, got, "approval", &q)
	return q
}

// decide answers a question by its task.
func (o *office) decide(who string, q asked, answer string) (int, string) {
	return o.post(who, "/tasks/"+q.Task+"/decision", answer)
}

// byToken answers a question by its token.
func (o *office) byToken(who, token, answer string) (int, string) {
	return o.post(who, "/chat/stream", `{"approval":{"token":"`+token+`",`+strings.TrimPrefix(answer, "{")+`}`)
}

// An answer that lets anything run needs a scope whose own turns could run it. With chat:readonly alone
// a credential can reject, which runs nothing.
func TestReadOnlyCredentialsOnlyReject(t *testing.T) {
	t.Parallel()
	o := openOffice(t, false)
	const readOnly = "ann chat:readonly"
	q := o.begin("ann chat", "")
	for _, answer := range []string{`{"action":"approve"}`, `{"action":"modify"}`, `{"action":"reject","state_updates":{"next_action":"x"}}`, `{"action":"reject","input":{"a":1}}`} {
		if code, got := o.decide(readOnly, q, answer); code != http.StatusForbidden {
			t.Errorf("%s by its task: %d %s", answer, code, got)
		}
		if code, got := o.byToken(readOnly, q.Token, answer); code != http.StatusForbidden {
			t.Errorf("%s by its token: %d %s", answer, code, got)
		}
	}
	const a2a = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"018f2f2e-4b1c-7cc1-9d8e-000000000001","taskId":%q,"role":"ROLE_USER","parts":[{"text":"approve"}]}}}`
	if _, got := o.post(readOnly, "/a2a", fmt.Sprintf(a2a, q.Task)); strings.Contains(got, "COMPLETED") {
		t.Errorf("by A2A: %s", got)
	}
	if code, got := o.decide(readOnly, q, `{"action":"reject"}`); code != http.StatusOK {
		t.Errorf("rejects: %d %s", code, got)
	}
	if code, got := o.decide("rev chat:readonly approve", o.begin("ann chat", ""), `{"action":"approve"}`); code != http.StatusOK {
		t.Errorf("with approve too: %d %s", code, got)
	}
}

// Four eyes belong to two credentials. Neither the sender of the question nor its key decides, whomever the
// request names; nor does the user for whom it was asked. The audit has the sender, and whom the sender named.
func TestFourEyesAreTwoCredentials(t *testing.T) {
	t.Parallel()
	o := openOffice(t, true)
	const svc = "svc#k1 chat act_as approve"
	for _, tt := range []struct{ asks, as, decides, by string }{
		{svc, "", svc, ""}, {svc, "", svc, "invented"}, {svc, "ann", svc, ""}, {svc, "ann", svc, "ann"}, {svc, "ann", svc, "invented"},
		{svc, "ann", "svc#k2 chat approve", ""},                    // another key of the same user
		{svc, "ann", "other#k1 chat approve", ""},                  // the same key, moved to another user
		{svc, "ann", "ann#k3 chat approve", ""},                    // her own task
		{"ann#k3 chat", "", svc, "ann"},                            // named as the owner
		{svc, "ann", "ann#k3 chat act_as approve", "bob"},          // hers, by another name
		{"ann#k3 chat", "", "pat#k4 chat act_as approve", "zoe"},   // the scope is pat's, and not of the named zoe
		{"ann#k3 chat", "", "pat#k4 chat:readonly approve", "ann"}, // names whom pat may not name
	} {
		q := o.begin(tt.asks, tt.as)
		answer := `{"action":"approve"}`
		if tt.by != "" {
			answer = fmt.Sprintf(`{"action":"approve","user_id":%q}`, tt.by)
		}
		if code, got := o.decide(tt.decides, q, answer); code != http.StatusForbidden && code != http.StatusNotFound {
			t.Errorf("%s asks as %q, %s decides as %q: %d %s", tt.asks, tt.as, tt.decides, tt.by, code, got)
		}
		if code, got := o.decide("rev#k9 approve", q, `{"action":"approve"}`); code != http.StatusOK {
			t.Errorf("%s asks as %q, a reviewer decides: %d %s", tt.asks, tt.as, code, got)
		}
	}
	if strings.Contains(o.log.String(), `"decided_by":"invented"`) || !strings.Contains(o.log.String(), `"decided_by":"rev"`) {
		t.Error("the audit has another one than the sender")
	}
	open := openOffice(t, false)
	if code, got := open.decide(svc, open.begin(svc, "ann"), `{"action":"approve","user_id":"ann"}`); code != http.StatusOK {
		t.Errorf("without four eyes: %d %s", code, got)
	}
	if log := open.log.String(); !strings.Contains(log, `"decided_by":"svc","for":"ann"`) {
		t.Error("the audit does not say who decided for whom")
	}
}

// A token is its owner's. A reviewer answers by the id of the task alone.
func TestReviewersNeedTheID(t *testing.T) {
	t.Parallel()
	o := openOffice(t, false)
	q := o.begin("ann chat", "")
	if code, got := o.byToken("rev chat approve", q.Token, `{"action":"approve"}`); code != http.StatusForbidden || !strings.Contains(got, "approval_invalid") {
		t.Errorf("by the token: %d %s", code, got)
	}
	if code, got := o.decide("rev chat approve", q, `{"action":"approve"}`); code != http.StatusOK {
		t.Errorf("by the task: %d %s", code, got)
	}
}

// Who may not answer a question does not learn whether somebody has, or whether its task was cancelled:
// neither from its token, nor from one that was made of its id.
func TestAnsweredQuestionsAreKnownToTheirOwner(t *testing.T) {
	t.Parallel()
	o := openOffice(t, false)
	answered, cancelled, waiting := o.begin("ann chat", ""), o.begin("ann chat", ""), o.begin("ann chat", "")
	if code, got := o.decide("ann chat", answered, `{"action":"approve"}`); code != http.StatusOK {
		t.Fatal(code, got)
	}
	if code, got := o.post("ann chat", "/tasks/"+cancelled.Task+"/cancel", ""); code != http.StatusOK && code != http.StatusAccepted {
		t.Fatal(code, got)
	}
	made := func(token string) string {
		raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, "slap1."))
		if err != nil || len(raw) != 32 {
			t.Fatal(token, err)
		}
		raw[31] ^= 1
		return "slap1." + base64.RawURLEncoding.EncodeToString(raw)
	}
	_, refused := o.byToken("eve chat", waiting.Token, `{"action":"approve"}`)
	for name, q := range map[string]asked{"answered": answered, "cancelled": cancelled, "waiting": waiting} {
		for _, tt := range []struct{ who, token string }{{"eve chat", q.Token}, {"eve chat approve", q.Token}, {"eve chat", made(q.Token)}, {"ann chat", made(q.Token)}} {
			code, got := o.byToken(tt.who, tt.token, `{"action":"approve"}`)
			if code != http.StatusForbidden || plainReply.ReplaceAllString(got, "R") != plainReply.ReplaceAllString(refused, "R") {
				t.Errorf("%s, %s: %d %s", name, tt.who, code, got)
			}
		}
	}
	for want, q := range map[string]asked{"approval_used": answered, "approval_conflict": cancelled} {
		if code, got := o.byToken("ann chat", q.Token, `{"action":"approve"}`); code != http.StatusConflict || !strings.Contains(got, want) {
			t.Errorf("the owner of what is %s: %d %s", want, code, got)
		}
	}
}

// plainReply is what differs between two equal refusals.
var plainReply = regexp.MustCompile(`req_[0-9a-f]{12}`)
