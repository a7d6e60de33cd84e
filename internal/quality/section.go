package quality

import (
	_ "embed"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/config/file"
	"sluice/internal/quality/check"
)

//go:embed section.json
var sectionSchema string

// Section is the section quality of the configuration file. It fills s, and must stand before the
// section of the agents. builtin are channels without a configuration.
func Section(s *Spec, builtin ...string) file.Section {
	s.builtin = builtin
	return file.Section{Name: "quality", Schema: sectionSchema, Read: func(n *file.Node) {
		s.fillDefaults()
		s.readSettings(n, &s.settings)
	}}
}

// agentsMark stands in the schema of the agents where the one of this section belongs.
const agentsMark = `"$comment": "schema of quality"`

// OfAgents adds the setting quality of each agent to the section of the agents.
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
			s.fillDefaults()
			settings := s.settings
			s.readSettings(own, &settings)
			if s.agents == nil {
				s.agents = map[string]Settings{}
			}
			s.agents[a.Name()] = settings
		}
	}
	return agents
}

// fillDefaults fills in the defaults once, whichever section comes first.
func (s *Spec) fillDefaults() {
	if !s.begun {
		s.begun, s.settings = true, defaultSettings()
	}
}

// readSettings reads settings over those that s holds. The schema has checked words and
// bounds.
func (spec *Spec) readSettings(n *file.Node, s *Settings) {
	n.Decode(s)
	spec.checkChannels(n.Get("channels"))
	if list := n.Get("criteria"); list != nil {
		s.Criteria = spec.readCriteria(list)
	}
}

// checkChannels reports the channels of a list that do not exist.
func (spec *Spec) checkChannels(list *file.Node) {
	known := slices.Clone(spec.builtin)
	for own := range list.Section("channels").Members() {
		if !slices.Contains(known, own.Name()) {
			known = append(known, own.Name())
		}
	}
	for item := range list.Members() {
		if name, ok := item.Text(); ok && !slices.Contains(known, name) {
			item.Fault(file.Unknown("channel", name, known))
		}
	}
}

// readCriteria reads a list of criteria. It is a fault to use an id twice. It is also a fault to
// use the id of a built-in criterion for another check, since the criterion would replace it
// unseen.
func (spec *Spec) readCriteria(list *file.Node) (all []Criterion) {
	for n := range list.Members() {
		c := Criterion{Must: true}
		n.Decode(&c)
		if c.ID == "" {
			continue
		}
		if slices.ContainsFunc(all, func(other Criterion) bool { return other.ID == c.ID }) {
			n.Get("id").Fault("is used twice")
			continue
		}
		spec.checkChannels(n.Get("channels"))
		readCheck(&c, n)
		warnOfExpected(&c, n)
		if isStandard(c.ID) && c.Name != c.ID {
			n.Get("id").Fault("is that of a check of every answer, which this criterion is not")
			continue
		}
		all = append(all, c)
	}
	return all
}

// warnOfExpected warns of a judged criterion that describes no good answer: the judge and the
// scorecard use the description. A check has one of its own.
func warnOfExpected(c *Criterion, n *file.Node) {
	if c.Expected == "" && c.Name == "" && n.Sound() {
		n.Warn("has no expected: describe a good answer, for the judge and for readers of the scorecard")
	}
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
	faultArgs(args, err)
}

// faultArgs reports a fault in the arguments of a check, at the place that err names.
func faultArgs(args *file.Node, err error) {
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
