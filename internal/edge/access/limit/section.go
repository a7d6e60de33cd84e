package limit

import (
	"cmp"
	_ "embed"
	"slices"
	"time"

	"sluice/internal/base/config/file"
	"sluice/internal/edge/access"
)

// Limit is the use that one subject is allowed. Members that are zero limit nothing.
type Limit struct {
	Requests   access.Rate   `key:"requests"`
	Reads      access.Rate   `key:"reads"`
	Streams    int           `key:"streams"`
	Tokens     []access.Rate `key:"tokens"`
	ModelCalls access.Rate   `key:"model_calls"`
}

// ModelQuota is the quota of a model, as its provider states it.
type ModelQuota struct {
	Calls      access.Rate   `key:"calls"`
	Concurrent int           `key:"concurrent"`
	Tokens     []access.Rate `key:"tokens"`
}

// Spec is the section limits of the configuration file. Its zero value limits nothing.
type Spec struct {
	User    *Limit                `key:"user"`
	Tenant  *Limit                `key:"tenant"`
	Address *Limit                `key:"address"`
	Global  *Limit                `key:"global"`
	Classes map[string]Limit      `key:"classes"`
	Models  map[string]ModelQuota `key:"models"`
	// Reserve is the number of tokens held for a running turn. Wait bounds the time that a call of
	// a model waits. nil stands for their defaults: see Settled.
	Reserve *int           `key:"reserve"`
	Wait    *time.Duration `key:"wait" from:"0s" to:"30s"`
	// Share is the part of the places of turns that a tenant, or else a user, may have; 0: all.
	Share float64 `key:"share"`
	// Refuse says that turns are refused while the store that counts for all is unavailable.
	Refuse bool `key:"on_store_loss" is:"refuse"`
}

// Defaults of a Spec.
const (
	defaultReserve = 1000
	defaultWait    = 2 * time.Second
)

// Settled returns s with the defaults where the file says nothing.
func (s Spec) Settled() Spec {
	if s.Reserve == nil {
		s.Reserve = new(defaultReserve)
	}
	if s.Wait == nil {
		s.Wait = new(defaultWait)
	}
	s.Share = cmp.Or(s.Share, 1)
	return s
}

// Tenant is the configuration of a tenant.
type Tenant struct {
	// Agents and Workflows are the ids of those that it may use; nil: all.
	Agents    *[]string `key:"agents"`
	Workflows *[]string `key:"workflows"`
	// Limits names the class of the tenant as a whole. Users names the class of its users whose
	// credentials lack one. Both may be empty.
	Limits string `key:"limits"`
	Users  string `key:"users"`
	// Disabled says that nobody of the tenant is admitted.
	Disabled bool `key:"enabled" is:"false"`
}

// Tenants is the section tenants of the configuration file. Without the section it is nil, and any
// tenant is served.
type Tenants map[string]Tenant

// May reports whether the tenant may use an agent.
func (t Tenant) May(agent string) bool { return t.Agents == nil || slices.Contains(*t.Agents, agent) }

// MayRun reports whether the tenant may use a workflow.
func (t Tenant) MayRun(workflow string) bool {
	return t.Workflows == nil || slices.Contains(*t.Workflows, workflow)
}

//go:embed limits.json
var limitsSchema string

//go:embed tenants.json
var tenantsSchema string

// geminiKey names the model of the GEMINI_* variables. The section models does not have it.
const geminiKey = "gemini"

// Section is the section limits of the configuration file. proven reports whether a method of
// authentication is configured; nil: one is. Without it, a limit of each user or tenant cannot hold.
func Section(s *Spec, proven func() bool) file.Section {
	return file.Section{Name: "limits", Schema: limitsSchema, Into: s, Read: func(limits *file.Node) {
		if proven != nil && !proven() {
			for _, of := range []string{"user", "tenant"} {
				if n := limits.Get(of); n != nil {
					n.FaultKey("needs a method of authentication (auth, SLUICE_API_KEYS): without one no user is known; use address or global")
				}
			}
		}
		for _, of := range []string{"user", "tenant", "address", "global"} {
			checkTokens(limits.Get(of))
		}
		for class := range limits.Get("classes").Members() {
			checkTokens(class)
		}
		models := limits.Section("models")
		for m := range limits.Get("models").Members() {
			checkTokens(m)
			if m.Name() != geminiKey && !models.Has(m.Name()) {
				m.FaultKey("there is no such model")
			}
		}
	}}
}

// checkTokens reports two rates of one unit: they would have one name, and one of them would
// say nothing.
func checkTokens(limit *file.Node) {
	var seen []access.Unit
	for n := range limit.Get("tokens").Members() {
		var r access.Rate
		n.Decode(&r)
		switch {
		case r.Quota.N == 0:
		case slices.Contains(seen, r.Quota.Unit):
			n.Fault("is a second rate of this unit")
		default:
			seen = append(seen, r.Quota.Unit)
		}
	}
}

// TenantsSection is the section tenants of the configuration file.
func TenantsSection(t *Tenants) file.Section {
	return file.Section{Name: "tenants", Schema: tenantsSchema, Read: func(tenants *file.Node) {
		*t = Tenants{}
		for n := range tenants.Members() {
			var tenant Tenant
			n.Decode(&tenant)
			(*t)[n.Name()] = tenant
			checkTenant(n)
		}
	}}
}

// checkTenant reports workflows, agents and classes that a tenant names and the file lacks.
func checkTenant(n *file.Node) {
	checkClass(n.Get("limits"))
	checkClass(n.Get("users"))
	for w := range n.Get("workflows").Members() {
		if id, ok := w.Text(); ok && !w.Section("workflows").Has(id) {
			w.Fault("there is no such workflow")
		}
	}
	for a := range n.Get("agents").Members() {
		if id, ok := a.Text(); ok && !a.Section("agents").Has(id) {
			a.Warn("is no agent of this file; one that is added while the gateway runs may have this id")
		}
	}
}

// checkClass reports a class of limits that does not exist.
func checkClass(n *file.Node) {
	if name, ok := n.Text(); ok && !n.Section("limits").Get("classes").Has(name) {
		n.Fault("there is no such class of limits")
	}
}
