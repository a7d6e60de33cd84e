package limit

import (
	"cmp"
	"math"
	"time"

	"sluice/internal/edge/access"
)

// slot is the kind of subject that a limit counts.
type slot int

// Slots, in the order of counting.
const (
	userSlot slot = iota
	tenantSlot
	addressSlot
	globalSlot
	slots
)

// resource is a quantity that a limit counts, such as requests or tokens.
type resource int

// Resources with a level. Tokens have a level for each unit of a quota.
const (
	requests resource = iota
	reads
	modelCalls
	tokens
	levels = tokens + resource(len(access.Units))
	// Streams, and places of them, are counted as they are.
	streams = levels
)

// The two parts of the names of limits, as clients and metrics see them.
var (
	slotNames     = [slots]string{"user", "tenant", "address", "global"}
	resourceNames = [...]string{"-requests", "-reads", "-model-calls", "-tokens-s", "-tokens-m", "-tokens-h", "-tokens-d", "-streams"}
)

// nameOf returns the name of a limit.
func nameOf(s slot, w resource) string { return slotNames[s] + resourceNames[w] }

// shareName is the name of the limit on places.
const shareName = "share"

// plan is a Limit made ready.
type plan struct {
	class    string // empty: it is that of a slot
	rates    [levels]gcra
	streams  int32 // 0: any number
	reserve  [levels]int64
	tokens   bool // one of the rates is of tokens
	reserved int  // tokens of a running turn
}

func newPlan(l *Limit, reserve int) *plan {
	if l == nil {
		return nil
	}
	p := &plan{streams: int32(l.Streams), reserved: reserve}
	p.rates[requests], p.rates[reads], p.rates[modelCalls] = newGCRA(l.Requests, false), newGCRA(l.Reads, false), newGCRA(l.ModelCalls, false)
	for _, r := range l.Tokens {
		w := tokens + unitOf(r)
		p.rates[w], p.tokens = newGCRA(r, true), true
		if reserve > 0 {
			p.reserve[w] = min(p.rates[w].cost(reserve), p.rates[w].window)
		}
	}
	return p
}

// unitOf returns the place of a rate's unit among units.
func unitOf(r access.Rate) resource {
	for i := range access.Units {
		if access.Units[i] == byte(r.Quota.Unit) {
			return resource(i)
		}
	}
	return 0
}

// rules are the two sections made ready. They never change.
type rules struct {
	plans   [slots]*plan // of subjects without a class; nil without a limit
	classes map[string]*plan
	tenants map[string]tenantRules
	share   int32 // of the places of turns; 0: all
	// unlimited is the plan of subjects of whom only the places are counted.
	unlimited *plan
	models    map[string]*quota
	wait      time.Duration // of a call of a model
	refuse    bool
	calls     bool // some limit counts calls of models
}

// tenantRules are the plans of a tenant and of its users, by their classes; nil without a class.
type tenantRules struct{ tenant, users *plan }

// newRules returns nil if nothing is limited.
func newRules(s Spec, t Tenants, places int) *rules {
	s = s.Settled()
	r := &rules{classes: map[string]*plan{}, tenants: map[string]tenantRules{}, unlimited: &plan{}, models: map[string]*quota{}, refuse: s.Refuse}
	for i, l := range [slots]*Limit{s.User, s.Tenant, s.Address, s.Global} {
		r.plans[i] = newPlan(l, *s.Reserve)
	}
	for name, l := range s.Classes {
		r.classes[name] = newPlan(&l, *s.Reserve)
		r.classes[name].class = name
	}
	for id, tenant := range t {
		r.tenants[id] = tenantRules{tenant: r.classes[tenant.Limits], users: r.classes[tenant.Users]}
	}
	r.share = shareOf(s.Share, places)
	for key, q := range s.Models {
		r.models[key] = newQuota(q, *s.Reserve)
	}
	r.wait, r.calls = *s.Wait, r.countsCalls()
	if r.areNone() && len(t) == 0 {
		return nil
	}
	return r
}

// areNone reports whether nothing is limited, tenants apart.
func (r *rules) areNone() bool {
	return r.plans == [slots]*plan{} && len(r.models) == 0 && len(r.classes) == 0 && r.share == 0
}

// shareOf returns how many of the places one tenant may hold; 0: all of them.
func shareOf(part float64, places int) int32 {
	if part >= 1 || places <= 0 {
		return 0
	}
	return int32(max(1, math.Floor(part*float64(places))))
}

// hasTenant reports whether a tenant is one of the configuration file.
func (r *rules) hasTenant(tenant string) bool {
	_, ok := r.tenants[tenant]
	return ok
}

func (r *rules) countsCalls() bool {
	for _, p := range r.plans {
		if p != nil && p.rates[modelCalls].isSet() {
			return true
		}
	}
	for _, p := range r.classes {
		if p.rates[modelCalls].isSet() {
			return true
		}
	}
	return false
}

// planFor returns the plan that limits a subject in a slot, or nil without a limit.
//
// A class that does not exist is ignored: a credential may be older than the file.
func (r *rules) planFor(s slot, who *Subject) *plan {
	switch s {
	case userSlot:
		return r.planOfUser(who)
	case tenantSlot:
		return r.planOfTenant(who)
	case addressSlot:
		if who.User != "" || !who.Address.IsValid() {
			return nil
		}
	}
	return r.plans[s]
}

// ratedBy returns the plan that counts the levels of an entry, or nil if the rules have dropped it.
func (r *rules) ratedBy(of rated) *plan {
	switch {
	case of.class != "":
		return r.classes[of.class]
	case of.slot == tenantSlot:
		return r.planOfTenant(&Subject{Tenant: of.tenant})
	}
	return r.plans[of.slot]
}

func (r *rules) planOfTenant(who *Subject) *plan {
	if who.Tenant == "" {
		return nil
	}
	return cmp.Or(r.tenants[who.Tenant].tenant, r.plans[tenantSlot])
}

func (r *rules) planOfUser(who *Subject) *plan {
	class := r.classes[who.Class]
	if who.User == "" { // the anonymous have a class at most
		return class
	}
	if class != nil {
		return class
	}
	if users := r.tenants[who.Tenant].users; users != nil {
		return users
	}
	return r.plans[userSlot]
}

// sharingSlot returns the slot that places are shared by.
func sharingSlot(who *Subject) slot {
	switch {
	case who.Tenant != "":
		return tenantSlot
	case who.User != "":
		return userSlot
	}
	return slots // nobody is known
}
