package home

import (
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// light is the state of a room's light.
type light struct {
	Room       string `json:"room"`
	On         bool   `json:"on"`
	Brightness int    `json:"brightness"` // percent
	Color      string `json:"color"`
}

// lights is the server of the lights: one in each room.
type lights struct {
	mu    sync.Mutex // guards rooms
	rooms map[string]light
}

// roomNames are the rooms that a call may name, sorted.
func roomNames() []string {
	return []string{"bathroom", "bedroom", "hall", "kitchen", "living room", "office"}
}

// colorNames are the possible colors of a light.
func colorNames() []string {
	return []string{"blue", "cool white", "green", "orange", "pink", "purple", "red", "warm white", "yellow"}
}

// sceneLights are the states that a scene gives to every light.
func sceneLights() map[string]light {
	return map[string]light{
		"movie":    {On: true, Brightness: 15, Color: "warm white"},
		"reading":  {On: true, Brightness: 80, Color: "cool white"},
		"party":    {On: true, Brightness: 100, Color: "purple"},
		"relax":    {On: true, Brightness: 40, Color: "orange"},
		"night":    {On: false, Brightness: 5, Color: "warm white"},
		"everyday": {On: true, Brightness: 70, Color: "warm white"},
	}
}

// sceneNames are the names of the scenes.
func sceneNames() []string {
	return []string{"everyday", "movie", "night", "party", "reading", "relax"}
}

// newLights begins with all lights off, at 70 % if switched on.
func newLights() *lights {
	l := &lights{rooms: map[string]light{}}
	for _, r := range roomNames() {
		l.rooms[r] = light{Room: r, Brightness: 70, Color: "warm white"}
	}
	return l
}

// declaredTools declares the tools that a model may call.
func (l *lights) declaredTools() []server.ServerTool {
	list := mcp.NewTool("list_lights", readOnlyHints("List lights"),
		mcp.WithDescription("Show the lights of all rooms, or of one: on or off, brightness in percent, color."),
		mcp.WithString("room", mcp.Enum(roomNames()...)))
	set := mcp.NewTool("set_light", changeHints("Set light"),
		mcp.WithDescription("Change the light of a room: switch it on or off, dim it, color it. What is not given stays as it is; a brightness above 0 switches it on."),
		mcp.WithString("room", mcp.Required(), mcp.Enum(roomNames()...)),
		mcp.WithBoolean("on"),
		mcp.WithInteger("brightness", mcp.Min(0), mcp.Max(100), mcp.Description("Percent.")),
		mcp.WithString("color", mcp.Enum(colorNames()...)))
	scene := mcp.NewTool("activate_scene", changeHints("Activate scene"),
		mcp.WithDescription("Set all lights of the house to a scene."),
		mcp.WithString("scene", mcp.Required(), mcp.Enum(sceneNames()...)))
	return []server.ServerTool{serveTool(list, l.listLights), serveTool(set, l.setLight), serveTool(scene, l.activateScene)}
}

// listLights returns the lights of one room or of all.
func (l *lights) listLights(a struct {
	Room string `json:"room"`
}) (any, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.Room != "" {
		room, err := oneOf("room", a.Room, roomNames())
		return l.rooms[room], err
	}
	var all []light
	for _, r := range roomNames() {
		all = append(all, l.rooms[r])
	}
	return all, nil
}

// setLight changes a light, or nothing if an argument is refused.
func (l *lights) setLight(a struct {
	Room       string   `json:"room"`
	On         *bool    `json:"on"`
	Brightness *float64 `json:"brightness"`
	Color      string   `json:"color"`
}) (any, error) {
	room, err := oneOf("room", a.Room, roomNames())
	if err != nil {
		return nil, err
	}
	if a.On == nil && a.Brightness == nil && a.Color == "" {
		return nil, refusal("nothing to change: give at least one of on, brightness, color")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	state := l.rooms[room]
	if a.Brightness != nil {
		if err := checkBounds("brightness", *a.Brightness, 0, 100); err != nil {
			return nil, err
		}
		state.Brightness, state.On = int(*a.Brightness), *a.Brightness > 0
	}
	if a.Color != "" {
		if state.Color, err = oneOf("color", a.Color, colorNames()); err != nil {
			return nil, err
		}
	}
	if a.On != nil {
		state.On = *a.On
	}
	l.rooms[room] = state
	return state, nil
}

// activateScene sets all lights that a scene names.
func (l *lights) activateScene(a struct {
	Scene string `json:"scene"`
}) (any, error) {
	name, err := oneOf("scene", a.Scene, sceneNames())
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range roomNames() {
		state := sceneLights()[name]
		state.Room = r
		l.rooms[r] = state
	}
	return map[string]any{"scene": name, "lights": len(l.rooms)}, nil
}
