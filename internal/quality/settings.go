package quality

import (
	"cmp"
	"slices"
	"time"

	"sluice/internal/quality/check"
	"sluice/internal/turn/chat"
)

// Mode says what becomes of an answer.
type Mode string

// Modes.
const (
	modeOff     Mode = "off"     // nothing is checked
	modeObserve Mode = "observe" // it streams, and is checked afterwards
	modeEnforce Mode = "enforce" // it is held back until it has passed
)

// Planning says whether a planner is asked.
type Planning string

// Ways to plan.
const (
	noPlan    Planning = "none"
	scorecard Planning = "scorecard" // while the inner runner works
	guide     Planning = "guide"     // before it
)

// Drafts says whether a text that is held back is shown as it is written.
type Drafts string

// Policies for drafts.
const (
	neverDrafts  Drafts = "never"
	askDrafts    Drafts = "ask"
	alwaysDrafts Drafts = "always"
)

// Fallback is the policy for an answer that did not pass.
type Fallback string

// Fallbacks.
const (
	fallbackGraceful Fallback = "graceful" // a text of our own
	fallbackSend     Fallback = "send"     // the text all the same
)

// Settings say how answers are checked. Use defaults: the zero value is not settled.
type Settings struct {
	Mode Mode `key:"mode"`
	// Channels are those for which Mode holds; none: all.
	Channels     []string `key:"channels"`
	Plan         Planning `key:"plan"`
	Drafts       Drafts   `key:"drafts"`
	HideThinking bool     `key:"thinking" is:"hide"`
	Criteria     []Criterion
	MaxPlanned   int `key:"max_planned"`
	// Planner and Judge are keys of models; empty: default.
	Planner string `key:"planner/model" of:"models,default"`
	Judge   string `key:"judge/model" of:"models,default"`
	// Timeout bounds one question to planner or judge. Reserve is the time that a turn must still
	// have for a refinement.
	Timeout     time.Duration `key:"timeout" from:"100ms" to:"1m"`
	Reserve     time.Duration `key:"reserve" from:"1s" to:"5m"`
	OnFail      Fallback      `key:"on_fail"`
	OnUnjudged  Fallback      `key:"on_unjudged"`
	HideReceipt bool          `key:"receipt" is:"off"`
}

// Criterion is one thing that an answer is checked for.
type Criterion struct {
	ID          string `key:"id"`
	Description string `key:"description"`
	Expected    string `key:"expected"` // for the judge; may be empty
	// Check is what code checks, and Name its name; nil: the judge checks it.
	Check check.Check
	Name  string
	// Must withholds a text that fails; else it may only cause a refinement.
	Must bool `key:"must"`
	// Channels are where it applies; none: everywhere.
	Channels []string `key:"channels"`
}

// defaultSettings returns the settings of a file that says nothing.
func defaultSettings() Settings {
	return Settings{
		Mode: modeOff, Plan: scorecard, Drafts: neverDrafts, MaxPlanned: 6,
		Timeout: 6 * time.Second, Reserve: 8 * time.Second, OnFail: fallbackGraceful, OnUnjudged: fallbackSend,
	}
}

// showsDrafts reports whether req is shown drafts.
func (s *Settings) showsDrafts(req *chat.Request) bool {
	return s.Drafts != neverDrafts && (req.Drafts == chat.Yes || req.Drafts == chat.Unsaid && s.Drafts == alwaysDrafts)
}

// Spec is the configuration of quality. The zero value is a file that says nothing.
type Spec struct {
	settings Settings
	agents   map[string]Settings
	begun    bool
	builtin  []string // channels without a configuration
}

// Settings returns the settings of an agent, or the common ones.
func (s *Spec) Settings(agent string) Settings {
	if own, ok := s.agents[agent]; ok {
		return own
	}
	if !s.begun {
		return defaultSettings()
	}
	return s.settings
}

// settingsOn returns the settings of an agent for answers in a channel.
func (s *Spec) settingsOn(agent, channel string) Settings {
	set := s.Settings(agent)
	if len(set.Channels) > 0 && !slices.Contains(set.Channels, cmp.Or(channel, web)) {
		set.Mode = modeOff
	}
	return set
}

// hasAgentSettings reports whether any agent has settings of its own.
func (s *Spec) hasAgentSettings() bool { return len(s.agents) > 0 }

// appliesTo reports whether a criterion counts on a channel.
func (c *Criterion) appliesTo(channel string) bool {
	return len(c.Channels) == 0 || slices.Contains(c.Channels, channel)
}

// web is the channel without a formatter: Markdown as it was written.
const web = "web"

// isOff reports whether the answers of an agent in a channel are not checked. An empty agent stands
// for all agents.
func (s *Spec) isOff(agent, channel string) bool {
	return !s.anyMode(agent, channel, func(m Mode) bool { return m != modeOff })
}

// canEnforce reports whether the answers of an agent on a page must pass checks. An empty agent
// stands for any agent.
func (s *Spec) canEnforce(agent string) bool {
	return s.anyMode(agent, web, func(m Mode) bool { return m == modeEnforce })
}

// anyMode reports whether is returns true for the mode of an agent in a channel. An empty agent
// stands for any agent.
func (s *Spec) anyMode(agent, channel string, is func(Mode) bool) bool {
	if is(s.settingsOn(agent, channel).Mode) {
		return true
	}
	if agent == "" {
		for own := range s.agents {
			if is(s.settingsOn(own, channel).Mode) {
				return true
			}
		}
	}
	return false
}
