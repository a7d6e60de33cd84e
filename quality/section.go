package quality

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/config/file"
	"sluice/quality/check"
)

//go:embed section.json
var sectionSchema string

// Section is the section quality of the configuration file. It fills s, and must stand
// before the section of the agents.
func Section(s *Spec) file.Section {
	return file.Section{Name: "quality", Schema: sectionSchema, Read: func(n *file.Node) {
		s.begin()
		read(n, &s.settings)
	}}
}

// agentsMark stands in the schema of the agents where the one of this section belongs.
const agentsMark = `"$comment": "schema of quality"`

// OfAgents adds to the section of the agents what each says of quality.
func OfAgents(s *Spec, agents file.Section) file.Section {
	agents.Schema = strings.Replace(agents.Schema, agentsMark, `"$ref": "#/properties/quality"`, 1)
	inner := agents.Read
	agents.Read = func(n *file.Node) {
		inner(n)
		for a := range n.Members() {
			own := a.Get("quality")
			if own == nil {
				continue
			}
			s.begin()
			settings := s.settings
			read(own, &settings)
			if s.agents == nil {
				s.agents = map[string]Settings{}
			}
			s.agents[a.Name()] = settings
		}
	}
	return agents
}

// begin fills in the defaults once, whichever section comes first.
func (s *Spec) begin() {
	if !s.begun {
		s.begun, s.settings = true, Defaults()
	}
}

// read reads settings over those that s holds. The schema has checked words and
// bounds.
func read(n *file.Node, s *Settings) {
	word(&s.Mode, n.Get("mode"))
	word(&s.Plan, n.Get("plan"))
	word(&s.Drafts, n.Get("drafts"))
	word(&s.OnFail, n.Get("on_fail"))
	word(&s.OnUnjudged, n.Get("on_unjudged"))
	if v, ok := n.Get("thinking").Text(); ok {
		s.HideThinking = v == "hide"
	}
	if v, ok := n.Get("receipt").Text(); ok {
		s.HideReceipt = v == "off"
	}
	if v, ok := n.Get("max_planned").Int(); ok {
		s.MaxPlanned = v
	}
	modelKey(&s.Planner, n.Get("planner").Get("model"))
	modelKey(&s.Judge, n.Get("judge").Get("model"))
	duration(&s.Timeout, n.Get("timeout"), 100*time.Millisecond, time.Minute)
	duration(&s.Reserve, n.Get("reserve"), time.Second, 5*time.Minute)
	if list := n.Get("criteria"); list != nil {
		s.Criteria = criteria(list)
	}
}

// word reads a word if there is one; else *p stays. So do its siblings.
func word[T ~string](p *T, n *file.Node) {
	if s, ok := n.Text(); ok {
		*p = T(s)
	}
}

// modelKey reads the key of a model, which must exist.
func modelKey(p *string, n *file.Node) {
	key, ok := n.Text()
	if !ok {
		return
	}
	if key != "default" && !n.Section("models").Has(key) {
		n.Fault("there is no such model")
		return
	}
	*p = key
}

// duration reads a duration from least to most, both included.
func duration(p *time.Duration, n *file.Node, least, most time.Duration) {
	text, ok := n.Text()
	if !ok {
		return
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > most {
		n.Fault(fmt.Sprintf("must be a duration from %s to %s, with its unit, such as 6s", least, strings.TrimSuffix(most.String(), "0s")))
		return
	}
	*p = d
}

// criteria reads a list of criteria. An id that is there twice is a fault, and so is that of
// a criterion of our own for something else: it would take that one's place unseen.
func criteria(list *file.Node) (all []Criterion) {
	for n := range list.Members() {
		id, ok := n.Get("id").Text()
		if !ok {
			continue
		}
		if slices.ContainsFunc(all, func(c Criterion) bool { return c.ID == id }) {
			n.Get("id").Fault("is used twice")
			continue
		}
		c := Criterion{ID: id, Must: true}
		word(&c.Description, n.Get("description"))
		word(&c.Expected, n.Get("expected"))
		if must, ok := n.Get("must").Bool(); ok {
			c.Must = must
		}
		for item := range n.Get("channels").Members() {
			if name, ok := item.Text(); ok {
				c.Channels = append(c.Channels, name)
			}
		}
		readCheck(&c, n)
		if isStandard(id) && c.Name != id {
			n.Get("id").Fault("is that of a check of every answer, which this criterion is not")
			continue
		}
		all = append(all, c)
	}
	return all
}

// readCheck reads which code checks a criterion, if any does.
func readCheck(c *Criterion, n *file.Node) {
	name, ok := n.Get("check").Text()
	args := n.Get("args")
	if !ok {
		if args != nil && !n.Has("check") {
			args.FaultKey("belongs to a check")
		}
		return
	}
	var raw jsontext.Value
	if args != nil {
		raw = args.JSON()
	}
	compiled, err := check.Compile(name, raw)
	if err == nil {
		c.Check, c.Name = compiled, name
		return
	}
	if args == nil {
		n.FaultMissing("args", err.Error())
		return
	}
	wrong, _ := errors.AsType[*check.ArgsError](err)
	if wrong == nil {
		args.Fault(err.Error())
		return
	}
	at := args
	for token := range wrong.Pointer.Tokens() {
		if next := at.Get(token); next != nil {
			at = next
		}
	}
	at.Fault(wrong.Text)
}
