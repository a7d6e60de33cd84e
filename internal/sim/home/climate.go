package home

import (
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// zone is the state of a part of the house.
type zone struct {
	Zone   string  `json:"zone"`
	Mode   string  `json:"mode"`
	Target float64 `json:"target"` // degrees Celsius
	Now    float64 `json:"now"`    // degrees Celsius
}

// heating is the server of the heating: two zones.
type heating struct {
	mu    sync.Mutex // guards zones
	zones map[string]zone
}

// zoneNames are the zones that a call may name; house stands for all of them.
func zoneNames() []string { return []string{"downstairs", "house", "upstairs"} }

// modeNames are the modes of a zone.
func modeNames() []string { return []string{"auto", "cool", "heat", "off"} }

// newHeating begins with both zones at 20 °C.
func newHeating() *heating {
	h := &heating{zones: map[string]zone{}}
	for _, name := range []string{"downstairs", "upstairs"} {
		h.zones[name] = zone{Zone: name, Mode: "auto", Target: 20, Now: 19.5}
	}
	return h
}

// declaredTools declares the tools that a model may call.
func (h *heating) declaredTools() []server.ServerTool {
	get := mcp.NewTool("get_climate", readOnlyHints("Show climate"),
		mcp.WithDescription("Show mode, target and temperature, in degrees Celsius, of the house or of one zone."),
		mcp.WithString("zone", mcp.Enum(zoneNames()...)))
	set := mcp.NewTool("set_climate", changeHints("Set climate"),
		mcp.WithDescription("Set the target temperature or the mode of the house or of one zone. What is not given stays as it is."),
		mcp.WithString("zone", mcp.Enum(zoneNames()...), mcp.Description("The whole house unless told otherwise.")),
		mcp.WithNumber("target", mcp.Min(5), mcp.Max(35), mcp.Description("Degrees Celsius.")),
		mcp.WithString("mode", mcp.Enum(modeNames()...)))
	return []server.ServerTool{serveTool(get, h.getClimate), serveTool(set, h.setClimate)}
}

// getClimate returns the state of the zones that are meant.
func (h *heating) getClimate(a struct {
	Zone string `json:"zone"`
}) (any, error) {
	names, err := zonesNamed(a.Zone)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.statesOf(names), nil
}

// setClimate changes all named zones. It changes nothing if an argument is refused.
func (h *heating) setClimate(a struct {
	Zone   string   `json:"zone"`
	Target *float64 `json:"target"`
	Mode   string   `json:"mode"`
}) (any, error) {
	names, err := zonesNamed(a.Zone)
	if err == nil && a.Mode != "" {
		a.Mode, err = oneOf("mode", a.Mode, modeNames())
	}
	if err == nil && a.Target != nil {
		err = checkBounds("target", *a.Target, 5, 35)
	}
	if err == nil && a.Target == nil && a.Mode == "" {
		err = refusal("nothing to change: give at least one of target, mode")
	}
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range names {
		state := h.zones[name]
		if a.Target != nil {
			state.Target = *a.Target
		}
		if a.Mode != "" {
			state.Mode = a.Mode
		}
		h.zones[name] = state
	}
	return h.statesOf(names), nil
}

// zonesNamed returns the zones that a name stands for.
func zonesNamed(name string) ([]string, error) {
	if name == "" {
		name = "house"
	}
	name, err := oneOf("zone", name, zoneNames())
	if name == "house" {
		return []string{"downstairs", "upstairs"}, err
	}
	return []string{name}, err
}

// statesOf lists zones. The caller holds mu.
func (h *heating) statesOf(names []string) (states []zone) {
	for _, name := range names {
		states = append(states, h.zones[name])
	}
	return states
}
