package quality

// rules say what becomes of an answer. They are settled once, by the settings of the agent that
// answers, and stay from then on.
type rules struct {
	agent   string // whose settings hold; empty: not known yet, or nobody's own
	set     Settings
	settled bool
	watched bool // the answer is checked
	held    bool // the answer is held back
	drafts  bool // a held answer is shown as it is written
}

// assignAgent sets the agent whose settings hold. It does nothing once the rules are settled.
func (r *rules) assignAgent(agent string) {
	if !r.settled {
		r.agent = agent
	}
}

// fixSettings settles the rules for an answer. It returns false if they are settled.
func (r *rules) fixSettings(spec *Spec, b *brief) bool {
	if r.settled {
		return false
	}
	r.settled = true
	r.set = spec.settingsOn(r.agent, b.channel)
	r.watched = r.set.Mode == modeObserve || r.set.Mode == modeEnforce
	r.held = r.set.Mode == modeEnforce || b.form != nil
	r.drafts = r.held && r.set.showsDrafts(b.req)
	return true
}
