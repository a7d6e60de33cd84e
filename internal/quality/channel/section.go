// This file reads the section channels of the configuration file. An entry either changes a
// built-in channel of its name or makes a new one that extends one. Spec.Check checks the values,
// so that specs from other places follow the same rules.

package channel

import (
	_ "embed"
	"maps"
	"slices"

	"sluice/internal/base/config/file"
)

//go:embed section.json
var sectionSchema string

// Section is the section channels of the configuration file. It fills specs, in the order
// of the file. deliver gets the value of that name of a channel that has one.
func Section(specs *[]Spec, deliver func(channel string, n *file.Node)) file.Section {
	return file.Section{Name: "channels", Schema: sectionSchema, Read: func(channels *file.Node) {
		builtin := ByName(nil)
		for n := range channels.Members() {
			base := n.Name()
			if extends, ok := n.Get("extends").Text(); ok {
				base = extends
			}
			spec, ok := builtin[base]
			if !ok {
				n.FaultMissing("extends", "is required: it is none of "+namesBut())
				continue
			}
			spec.Name = n.Name()
			if name, ok := n.Get("channel").Text(); ok && name != spec.Name {
				n.Get("channel").Fault("must be " + spec.Name + ", the key of this channel, or be left out")
			}
			readSpec(n, &spec)
			*specs = append(*specs, spec)
			switch d := n.Get("deliver"); {
			case d == nil:
			case spec.Form == Web: // its text streams: there is no message to send
				d.FaultKey("belongs to " + namesBut(Web) + ": web has no messages")
			default:
				deliver(spec.Name, d)
			}
		}
	}}
}

// readSpec reads a channel into s. s has the values of the channel that it extends. null removes a
// limit.
//
// A key that is absent changes nothing. A limit of length without a number of parts gives 5
// of them, for a channel that was never split would otherwise be cut.
func readSpec(n *file.Node, s *Spec) {
	n.Decode(s)
	if list := n.Get("markdown_features"); list != nil {
		s.Features = featuresOf(list.Texts()...)
	}
	if n.Has("max_length") && s.MaxLength > 0 && s.MaxParts == 0 {
		s.MaxParts = 5
	}
	faults := s.Check()
	for _, key := range slices.Sorted(maps.Keys(faults)) {
		if v := n.Get(key); v != nil {
			v.Fault(faults[key])
		} else {
			n.Fault(faults[key])
		}
	}
}
