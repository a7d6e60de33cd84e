package task

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The way of the documents that are written often must not show: it writes what package json would,
// whatever a document has and lacks.
func TestDocumentIsPlainJSON(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 5))
	some := func() bool { return random.IntN(2) == 0 }
	text := func() string {
		return []string{"", "a", "\"\\\n\x00\u2028<&>", "ä€😀", "cut\xff", "two words"}[random.IntN(6)]
	}
	where := func() *elsewhere {
		if some() {
			return nil
		}
		return &elsewhere{Message: text(), Text: text(), From: random.IntN(2) * 7, To: random.IntN(2) * 12}
	}
	say := func() message {
		return message{Role: text(), Content: text(), Timestamp: text(), MessageID: text(), TurnID: text(), AgentID: text(), Elsewhere: where()}
	}
	plain := 0
	for range 3000 {
		d := &document{ID: text(), SessionID: text(), ContextID: text(), Status: status{State: text(), Timestamp: text()}}
		if some() {
			m := say()
			d.Status.Message, d.Status.Approvals = &m, []string{text(), text()}[:random.IntN(3)]
		}
		for range random.IntN(3) {
			d.History = append(d.History, say())
			d.Artifacts = append(d.Artifacts, artifact{ArtifactID: text(), Name: text(), Parts: []part{{Text: text(), Elsewhere: where()}, {Text: text()}}[:random.IntN(3)]})
		}
		if random.IntN(8) > 0 {
			d.Metadata = metadata{Turns: []string{text(), text()}[:random.IntN(3)], LastAgent: text(), Workflow: text(), Kind: text(), ParentTaskID: text()}
		}
		got := d.writes()
		if got == nil {
			continue
		}
		plain++
		if diff := cmp.Diff(string(d.marshal()), string(got)); diff != "" {
			t.Fatalf("(-json +written):\n%s", diff)
		}
	}
	if plain < 2000 {
		t.Errorf("only %d documents were written so", plain)
	}
}

// What has a member that the short way does not know is written by package json.
func TestDocumentThatIsNotPlain(t *testing.T) {
	t.Parallel()
	days := 3
	other := Others{"x": []byte("1")}
	for name, change := range map[string]func(*document){
		"a member": func(d *document) { d.Others = other }, "of the status": func(d *document) { d.Status.Others = other },
		"of the metadata": func(d *document) { d.Metadata.Others = other }, "of a message": func(d *document) { d.History[0].Others = other },
		"of the status' message": func(d *document) { d.Status.Message = &message{Others: other} },
		"of an artifact":         func(d *document) { d.Artifacts = []artifact{{Others: other}} }, "of a part": func(d *document) { d.Artifacts = []artifact{{Parts: []part{{}, {Others: other}}}} },
		"earlier messages": func(d *document) { d.Earlier = []earlier{{1, "a"}} }, "a question": func(d *document) { d.Metadata.PendingQuestion = &question{} },
		"agents": func(d *document) { d.Metadata.AgentSelections = []string{"a"} }, "confidence": func(d *document) { d.Metadata.RoutingConfidence = 1 },
		"routing": func(d *document) { d.Metadata.Routing = &routing{} }, "responses": func(d *document) { d.Metadata.AgentResponses = []AgentResponse{{}} },
		"days": func(d *document) { d.Metadata.RetentionDays = &days },
	} {
		d := &document{ID: "task_1", History: []message{{Role: "user"}}, Metadata: metadata{Turns: []string{"turn_1"}}}
		if d.writes() == nil {
			t.Fatal("the document itself is not plain")
		}
		change(d)
		if got := d.writes(); got != nil {
			t.Errorf("%s: %s", name, got)
		}
		if diff := cmp.Diff(string(d.marshal()), string(d.encode())); diff != "" {
			t.Errorf("%s (-json +encoded):\n%s", name, diff)
		}
	}
}
