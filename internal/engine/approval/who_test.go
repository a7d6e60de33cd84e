package approval

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
)

// An authenticated user answers what belongs to them, or names them; the others must be who
// they say. A token stands for its holder's right, but not against approvers.
func TestWhoMayAnswer(t *testing.T) {
	t.Parallel()
	sure := func(id, user string) Caller {
		return Caller{Principal: chat.Principal{Tenant: "t", ID: id}, UserID: user}
	}
	says := func(user string) Caller { return Caller{Principal: chat.Principal{Tenant: "t"}, UserID: user} }
	type question struct {
		principal, user string
		approvers       []string
	}
	for _, tt := range []struct {
		name        string
		of          question
		by          Caller
		listed, may bool // without a token, and with it
	}{
		{"owner", question{"", "ann", nil}, says("ann"), true, true},
		{"nobody", question{"", "ann", nil}, says(""), false, true},
		{"another", question{"", "ann", nil}, says("bob"), false, false},
		{"of nobody, by nobody", question{}, says(""), true, true},
		{"of nobody, by one", question{}, says("bob"), false, false},
		{"approver", question{"", "ann", []string{"boss"}}, says("boss"), true, true},
		{"owner, not an approver", question{"", "ann", []string{"boss"}}, says("ann"), false, false},
		{"nobody, not an approver", question{"", "ann", []string{"boss"}}, says(""), false, false},
		{"owner, with approvers", question{"", "ann", []string{"boss", "owner"}}, says("ann"), true, true},
		{"nobody, any may", question{"", "ann", []string{"any"}}, says(""), false, true},
		{"one, any may", question{"", "ann", []string{"any"}}, says("bob"), true, true},
		{"called like the owner", question{"", "ann", []string{"owner"}}, says("owner"), false, false},
		{"sure owner", question{"p_ann", "", nil}, sure("p_ann", ""), true, true},
		{"sure owner for a user", question{"p_ann", "u", nil}, sure("p_ann", "u"), true, true},
		{"sure owner, whatever they are called", question{"p_ann", "u", nil}, sure("p_ann", "v"), true, true},
		{"sure other", question{"p_ann", "", nil}, sure("p_bob", ""), false, false},
		{"says to be a sure one", question{"p_ann", "", nil}, says("p_ann"), false, false},
		{"sure approver", question{"p_ann", "", []string{"p_boss"}}, sure("p_boss", ""), true, true},
		{"says to be the approver", question{"p_ann", "", []string{"p_boss"}}, sure("p_bob", "p_boss"), false, false},
		{"reviewer", question{"p_ann", "", nil}, Caller{Principal: chat.Principal{Tenant: "t", ID: "p_rev", Scopes: chat.ScopeApprove}}, true, false},
		{"named reviewer", question{"p_ann", "", nil}, Caller{Principal: chat.Principal{Tenant: "t", ID: "p_svc", Scopes: chat.ScopeApprove | chat.ScopeActAs}.As("p_rev")}, false, false},
		{"another tenant", question{"", "", []string{"any"}}, Caller{Principal: chat.Principal{Tenant: "u", ID: "x"}}, false, false},
	} {
		r := &record{entitled: entitled{Tenant: "t", Principal: tt.of.principal, User: tt.of.user, Approvers: tt.of.approvers}}
		if listed, may := tt.by.canAnswer(r, false), tt.by.canAnswer(r, true); listed != tt.listed || may != tt.may {
			t.Errorf("%s: without a token %v, want %v; with it %v, want %v", tt.name, listed, tt.listed, may, tt.may)
		}
	}
}

// Of an index a caller is shown what waits for them and is not about a task of their own.
func TestWhoIsAsked(t *testing.T) {
	t.Parallel()
	later := time.Now().Add(time.Hour).UnixMilli()
	bob := Caller{Principal: chat.Principal{Tenant: "t", ID: "bob"}}
	for name, c := range map[string]struct {
		record
		conversation string
		want         bool
	}{
		"named":              {record{entitled: entitled{Tenant: "t", Principal: "ann", Approvers: []string{"bob"}}, storedRequest: storedRequest{Conversation: "c"}, Expires: later}, "", true},
		"of a conversation":  {record{entitled: entitled{Tenant: "t", Principal: "ann", Approvers: []string{"any"}}, storedRequest: storedRequest{Conversation: "c"}, Expires: later}, "c", true},
		"of another":         {record{entitled: entitled{Tenant: "t", Principal: "ann", Approvers: []string{"bob"}}, storedRequest: storedRequest{Conversation: "c"}, Expires: later}, "d", false},
		"not named":          {record{entitled: entitled{Tenant: "t", Principal: "ann", Approvers: []string{"eve"}}, Expires: later}, "", false},
		"of another tenant":  {record{entitled: entitled{Tenant: "u", Principal: "ann", Approvers: []string{"bob"}}, Expires: later}, "", false},
		"about their task":   {record{entitled: entitled{Tenant: "t", Principal: "bob", Approvers: []string{"any"}}, Expires: later}, "", false},
		"whose time is over": {record{entitled: entitled{Tenant: "t", Principal: "ann", Approvers: []string{"bob"}}, Expires: 1}, "", false},
	} {
		if got := bob.isAsked(&c.record, c.conversation); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A person may change some members of a state, each to a value of its type.
func TestStateUpdates(t *testing.T) {
	t.Parallel()
	for updates, want := range map[string]string{
		``: "",
		`{"next_action":"a","routing_key":"b","metadata":{},"messages":[{"role":"user","content":"x"},{"role":"system","content":""}]}`: "",
		`{"next_action":1,"routing_key":null,"metadata":[],"messages":{}}`:                                                              "/state_updates/messages, /state_updates/metadata, /state_updates/next_action, /state_updates/routing_key",
		`{"messages":[{"role":"user"}]}`:               "/state_updates/messages",
		`{"messages":[{"role":"tool","content":"x"}]}`: "/state_updates/messages",
		`{"messages":[]}`:                              "",
		`{"other":1}`:                                  "/state_updates",
		`{"metadata":{"a":"` + strings.Repeat("x", maxUpdates) + `"}}`: "/state_updates",
	} {
		a := &chat.Answer{}
		if updates != "" {
			a.StateUpdates = jsontext.Value(updates)
		}
		e := new(chat.ValidationError)
		checkUpdates(a, e)
		var got []string
		for _, f := range e.Fields {
			got = append(got, f.Field)
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%.80s: %q, want %q", updates, s, want)
		}
	}
}

// What a later version has asked is not listed, and stays in the index for who can read it; what
// nobody can read leaves it.
func TestQuestionsOfALaterVersionStayListed(t *testing.T) {
	t.Parallel()
	in := memory.New(memory.Config{})
	s := New(Config{Store: in})
	index, later := store.ApprovalsKey("t", "boss"), time.Now().Add(time.Hour).UnixMilli()
	for id, text := range map[string]string{"later": `{"record":{"schema":4}}`, "damaged": `{"record":{"schema":3,"paused":1}}`} {
		if _, err := in.PutValue(t.Context(), store.ApprovalKey(id), store.Value{Data: []byte(text)}, time.Hour); err != nil {
			t.Fatal(err)
		}
		if err := in.PutIndex(t.Context(), index, store.Member{ID: id, Score: later}, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	var page Listing
	_, err := s.ForOthers(t.Context(), Caller{Principal: chat.Principal{Tenant: "t"}, UserID: "boss"}, "", "", &page)
	list := page.Approvals
	left, indexErr := in.Index(t.Context(), index, store.Range{Max: 1 << 53, Limit: 9})
	if err != nil || indexErr != nil || len(list) != 0 || len(left) != 1 || left[0].ID != "later" {
		t.Errorf("listed %v, left %v: %v, %v", list, left, err, indexErr)
	}
}
