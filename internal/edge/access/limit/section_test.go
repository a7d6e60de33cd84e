package limit

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/edge/access"
)

// read reads a file that has the two sections, and names of others.
func read(text string) (s Spec, tenants Tenants, r file.Result) {
	anything := func(name string) file.Section { return file.Section{Name: name, Schema: `{"type":"object"}`} }
	table := file.Table{anything("models"), anything("agents"), anything("workflows"), TenantsSection(&tenants), Section(&s, nil)}
	r = table.Read("s.yaml", []byte(text), config.Sources{})
	return s, tenants, r
}

func TestSections(t *testing.T) {
	t.Parallel()
	s, tenants, r := read(`
models: {fast: {}}
agents: {light-agent: {}}
workflows: {}
tenants:
  acme: {agents: [light-agent], workflows: []}
  blue: {users: gold, limits: big, enabled: false}
limits:
  user: {requests: 60/m, reads: {rate: 10/s, burst: 40}, streams: 8, tokens: [100000/m, 2000000/d], model_calls: 5/s}
  tenant: {requests: 600/m}
  address: {requests: 1/h}
  global: {streams: 1000}
  classes: {gold: {requests: 600/m}, big: {}}
  models: {fast: {calls: 1000/m, concurrent: 4, tokens: [5/m]}, gemini: {calls: 1/s}}
  reserve: 0
  wait: 500ms
  share: 0.25
  on_store_loss: refuse
`)
	if len(r.Faults) > 0 || len(r.Warnings) > 0 {
		t.Fatal(r.Faults, r.Warnings)
	}
	q := func(n int, u access.Unit) access.Rate { return access.Rate{Quota: access.Quota{N: n, Unit: u}} }
	want := Spec{
		User: &Limit{
			Requests: q(60, 'm'), Reads: access.Rate{Quota: access.Quota{N: 10, Unit: 's'}, Burst: 40}, Streams: 8, Tokens: []access.Rate{q(100_000, 'm'), q(2_000_000, 'd')}, ModelCalls: q(5, 's'),
		},
		Tenant: &Limit{Requests: q(600, 'm')}, Address: &Limit{Requests: q(1, 'h')}, Global: &Limit{Streams: 1000},
		Classes: map[string]Limit{"gold": {Requests: q(600, 'm')}, "big": {}},
		Models:  map[string]ModelQuota{"fast": {Calls: q(1000, 'm'), Concurrent: 4, Tokens: []access.Rate{q(5, 'm')}}, "gemini": {Calls: q(1, 's')}},
		Reserve: new(0), Wait: new(500 * time.Millisecond), Share: 0.25, Refuse: true,
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	acme, blue := tenants["acme"], tenants["blue"]
	if !acme.May("light-agent") || acme.May("other") || acme.MayRun("w") || acme.Disabled {
		t.Errorf("acme is %+v", acme)
	}
	if !blue.May("other") || !blue.MayRun("w") || !blue.Disabled || blue.Users != "gold" || blue.Limits != "big" {
		t.Errorf("blue is %+v", blue)
	}
}

func TestSectionFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"limits: {user: {requests: 60}}":                                "s.yaml:1:27: /limits/user/requests: must be a string or an object",
		"limits: {user: {requests: 60/w}}":                              "s.yaml:1:27: /limits/user/requests: must be a rate such as 60/m: a whole number from 1 to 1000000000, a slash, and s, m, h or d",
		"limits: {user: {requests: {rate: x, burst: 1}}}":               "s.yaml:1:34: /limits/user/requests/rate: must be a rate such as 60/m: a whole number from 1 to 1000000000, a slash, and s, m, h or d",
		"limits: {user: {requests: {burst: 1}}}":                        "s.yaml:1:27: /limits/user/requests/rate: is required",
		"limits: {user: {requests: {rate: 1/s, burst: 0}}}":             "s.yaml:1:46: /limits/user/requests/burst: must be from 1 to 1000000000",
		"limits: {user: {streams: 0}}":                                  "s.yaml:1:26: /limits/user/streams: must be from 1 to 1000000",
		"limits: {user: {tokens: [1/m, 2/m]}}":                          "s.yaml:1:31: /limits/user/tokens/1: is a second rate of this unit",
		"limits: {tenant: {tokens: [1/m, 1/h, 1/d, 1/s]}}":              "s.yaml:1:27: /limits/tenant/tokens: must not have more than 3 items",
		"limits: {classes: {gold: {tokens: [1/d, 1/d]}}}":               "s.yaml:1:41: /limits/classes/gold/tokens/1: is a second rate of this unit",
		"limits: {classes: {Gold: {}}}":                                 "s.yaml:1:20: /limits/classes/Gold: a class must be 1 to 64 of a-z 0-9 _ - and begin with a letter or a digit",
		"limits: {models: {none: {calls: 1/s}}}":                        "s.yaml:1:19: /limits/models/none: there is no such model",
		"models: {fast: {}}\nlimits: {models: {fast: {concurrent: 0}}}": "s.yaml:2:38: /limits/models/fast/concurrent: must be from 1 to 1000000",
		"limits: {wait: 31s}":                                           "s.yaml:1:16: /limits/wait: must be a duration from 0s to 30s, with its unit, such as 15s, 90m or 7d",
		"limits: {reserve: 1000001}":                                    "s.yaml:1:19: /limits/reserve: must be from 0 to 1000000",
		"limits: {share: 0}":                                            "s.yaml:1:17: /limits/share: must be from 0.01 to 1",
		"limits: {on_store_loss: wait}":                                 "s.yaml:1:25: /limits/on_store_loss: must be one of local, refuse",
		"limits: {requests: 1/s}":                                       "s.yaml:1:10: /limits/requests: there is no such key; there are address, classes, global, models, on_store_loss, reserve, share, tenant, user, wait",
		"tenants: {-a: {}}":                                             "s.yaml:1:11: /tenants/-a: a tenant must be 1 to 64 of a-z 0-9 _ - and begin with a letter or a digit",
		"tenants: {a: {users: gold}}":                                   "s.yaml:1:22: /tenants/a/users: there is no such class of limits",
		"tenants: {a: {limits: gold}}\nlimits: {classes: {silver: {}}}": "s.yaml:1:23: /tenants/a/limits: there is no such class of limits",
		"tenants: {a: {workflows: [w]}}":                                "s.yaml:1:27: /tenants/a/workflows/0: there is no such workflow",
	} {
		_, _, r := read(text)
		var got []string
		for _, f := range r.Faults {
			got = append(got, f.Name+": "+f.Message)
		}
		if diff := cmp.Diff([]string{want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	if _, tenants, _ := read("tenants: {}"); tenants == nil {
		t.Error("a section that names no tenant is none")
	}
	if _, tenants, _ := read("limits: {}"); tenants != nil {
		t.Error("there are tenants without a section")
	}
	_, _, r := read("tenants: {a: {agents: [late]}}")
	if len(r.Faults) != 0 || len(r.Warnings) != 1 {
		t.Errorf("an agent that is added later: %v, %v", r.Faults, r.Warnings)
	}
}

// A limit of each user or tenant that could not hold is a fault, and does not let the gateway start as
// if it did.
func TestLimitsOfUsersNeedAMethod(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"limits: {user: {requests: 1/h}}": 1, "limits: {tenant: {streams: 2}, user: {}}": 2,
		"limits: {address: {requests: 1/h}, global: {streams: 9}, models: {gemini: {calls: 1/s}}}": 0, "limits: {}": 0,
	} {
		for _, proven := range []bool{false, true} {
			var s Spec
			r := file.Table{{Name: "models", Schema: `{"type":"object"}`}, Section(&s, func() bool { return proven })}.Read("s.yaml", []byte(text), config.Sources{})
			if n := len(r.Faults); n != want && !proven || n != 0 && proven {
				t.Errorf("%s, with a method: %v: %d faults: %v", text, proven, n, r.Faults)
			}
		}
	}
}
