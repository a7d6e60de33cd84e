// This file defines a channel: a Spec with its limits, and the six built-in ones. A limit of a
// service is in docs/channel-rules.md with its source and date; here is only its number.

package channel

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Names of the channels that are built in. Web is Markdown as it is.
const (
	Web      = "web"
	SMS      = "sms"
	WhatsApp = "whatsapp"
	Teams    = "teams"
	Email    = "email"
	Plain    = "plain"
)

// Features are the constructs of Markdown that a channel shows as markup.
//
// The zero value shows none. Bits are in the order of featureNames, the public names in the
// configuration. They are never stored.
type Features uint16

// featureNames are the names of features, as in the configuration, in the order of
// their bits.
func featureNames() []string {
	return []string{"bold", "italic", "strike", "headers", "tables", "links", "code", "lists", "quotes"}
}

// featureOf has the feature that a construct needs to be shown as markup, or 0.
var featureOf = [...]Features{
	bold: 1 << 0, italic: 1 << 1, struck: 1 << 2, heading: 1 << 3, table: 1 << 4, link: 1 << 5, image: 1 << 5,
	code: 1 << 6, codeBlock: 1 << 6, list: 1 << 7, quote: 1 << 8, lineBreak: 0,
}

const allFeatures Features = 1<<9 - 1

// featuresOf returns the set of those named; unknown names count for nothing.
func featuresOf(names ...string) (f Features) {
	for i, name := range featureNames() {
		if slices.Contains(names, name) {
			f |= 1 << i
		}
	}
	return f
}

// Names lists the features of f.
func (f Features) Names() []string {
	list := []string{}
	for i, name := range featureNames() {
		if f&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}

// has reports whether what k needs is in f. A construct without a feature, such as a paragraph, is
// never in it.
func (f Features) has(k kind) bool { return f&featureOf[k] != 0 }

// lacks reports whether nodes of a kind need a feature that is not there.
func (f Features) lacks(k kind) bool { return featureOf[k]&^f != 0 }

// shownFeatures returns the features that are shown as markup.
func (s *Spec) shownFeatures() Features {
	if !s.Markdown {
		return 0
	}
	return s.Features
}

// Indicator is the position of a part's indicator.
type Indicator string

// Indicators: "(2/3) " in front, " (2/3)" behind, or none.
const (
	indicatorPrefix Indicator = "prefix"
	indicatorSuffix Indicator = "suffix"
	noIndicator     Indicator = "none"
)

// Emoji policies; "max:N" keeps the first N.
const (
	emojisAuto  = "auto"
	emojisStrip = "strip"
	EmojisKeep  = "keep"
	emojisMax   = "max:"
)

// EmojisMax is the policy that keeps the first n.
func EmojisMax(n int) string { return emojisMax + strconv.Itoa(n) }

// Spec describes how one channel words a text.
type Spec struct {
	Name string
	// Form is the one of the six that this channel is, or extends.
	Form string
	// MaxLength bounds a part: in units of its encoding for sms, in bytes for teams, else
	// in units of UTF-16. 0: no bound.
	MaxLength   int `key:"max_length"`
	MaxSegments int `key:"max_segments"` // of sms; 0: no bound
	// Markdown says that features are shown as markup at all.
	Markdown       bool `key:"supports_markdown"`
	Features       Features
	SupportsEmojis bool   `key:"supports_emojis"`
	Emojis         string `key:"emojis"`
	// Words stand in place of emojis in an SMS: success for ✅. The others go.
	Words         map[string]string
	Split         Strategy  `key:"split_strategy"`
	Indicator     Indicator `key:"indicator"`
	MaxParts      int       `key:"max_parts"` // 1 to 20; 0: it is never split
	Transliterate bool      `key:"transliterate"`
	// Greeting says that a greeting and a sign-off may stand around a text.
	Greeting bool   `key:"greeting"`
	Brand    string // stands above the HTML of an e-mail; may be empty
}

// builtinSpecs returns the six channels, in the order of the documentation. Limits are those of
// docs/channel-rules.md.
func builtinSpecs() []Spec {
	return []Spec{
		{Name: Web, Form: Web, Markdown: true, Features: allFeatures, SupportsEmojis: true, Emojis: EmojisKeep, Split: strategyByParagraph, Indicator: noIndicator, Greeting: true},
		{Name: SMS, Form: SMS, MaxLength: 1600, MaxSegments: 10, SupportsEmojis: true, Emojis: emojisAuto, Split: strategyBySentence, Indicator: indicatorPrefix, MaxParts: 3, Transliterate: true},
		{
			Name: WhatsApp, Form: WhatsApp, MaxLength: 4096, Markdown: true, Features: featuresOf("bold", "italic", "strike", "code", "lists", "quotes"),
			SupportsEmojis: true, Emojis: EmojisKeep, Split: strategyByParagraph, Indicator: indicatorPrefix, MaxParts: 5, Greeting: true,
		},
		{
			Name: Teams, Form: Teams, MaxLength: 28672, Markdown: true, Features: featuresOf("bold", "italic", "headers", "tables", "links", "code", "lists", "quotes"),
			SupportsEmojis: true, Emojis: EmojisKeep, Split: strategyByParagraph, Indicator: indicatorPrefix, MaxParts: 5, Greeting: true,
		},
		{Name: Email, Form: Email, Markdown: true, Features: allFeatures, SupportsEmojis: true, Emojis: EmojisKeep, Split: strategyByParagraph, Indicator: noIndicator, Greeting: true},
		{Name: Plain, Form: Plain, SupportsEmojis: true, Emojis: EmojisKeep, Split: strategyByParagraph, Indicator: noIndicator, Greeting: true},
	}
}

// namesBut lists the names of the built-in channels, without those given, for a fault.
func namesBut(without ...string) string {
	var list []string
	for _, s := range builtinSpecs() {
		if !slices.Contains(without, s.Name) {
			list = append(list, s.Name)
		}
	}
	return strings.Join(list, ", ")
}

// Lengths that hold an indicator, and a grapheme behind it.
const (
	minLength     = 40
	minCardLength = 4 << 10 // a card, with its fallback text, says little in less
)

// Check returns what keeps a Spec from being used, each with the key of the configuration
// that it is about.
//
// nil and an empty map both mean that the spec is valid. It does not look at names, which ByName
// resolves.
func (s *Spec) Check() map[string]string {
	faults := map[string]string{}
	least := minLength
	if s.Form == Teams {
		least = minCardLength
	}
	if s.MaxLength != 0 && s.MaxLength < least {
		faults["max_length"] = fmt.Sprintf("must be %d or more: an indicator and a character must fit", least)
	}
	if s.MaxLength != 0 && (s.Form == Email || s.Form == Web) {
		faults["max_length"] = "belongs to " + namesBut(Web, Email) + ": this channel is never split"
	}
	if s.MaxSegments != 0 && s.Form != SMS {
		faults["max_segments"] = "belongs to sms"
	}
	if s.Emojis == emojisAuto && s.Form != SMS {
		faults["emojis"] = "auto belongs to sms"
	}
	return faults
}

// maxEmojis returns how many emojis are kept; -1: all.
//
// auto keeps all here: which emojis an SMS can afford is decided part by part in sms.go.
func (s *Spec) maxEmojis() int {
	if s.Emojis == emojisStrip || !s.SupportsEmojis {
		return 0
	}
	if number, ok := strings.CutPrefix(s.Emojis, emojisMax); ok {
		n, _ := strconv.Atoi(number)
		return n
	}
	return -1
}

// ByName returns the built-in specs and own by their names. A spec of own replaces a built-in one
// of its name.
//
// The map is the caller's own.
func ByName(own []Spec) map[string]Spec {
	all := map[string]Spec{}
	for _, s := range slices.Concat(builtinSpecs(), own) {
		all[s.Name] = s
	}
	return all
}

// Names lists the names of specs, the built-in ones first.
func Names(specs map[string]Spec) []string {
	var list []string
	for _, s := range builtinSpecs() {
		list = append(list, s.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}
