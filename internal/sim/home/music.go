package home

import (
	"strconv"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// playing is the state of the player.
type playing struct {
	State  string `json:"state"` // playing, paused or stopped
	Track  string `json:"track,omitempty"`
	Volume int    `json:"volume"` // percent
}

// player is the server of the music.
type player struct {
	mu  sync.Mutex // guards now
	now playing
}

// maxQuery bounds the query of play_music, in bytes.
const maxQuery = 200

// newPlayer begins in silence.
func newPlayer() *player { return &player{now: playing{State: "stopped", Volume: 40}} }

// declaredTools declares the tools that a model may call.
func (p *player) declaredTools() []server.ServerTool {
	get := mcp.NewTool("get_music", readOnlyHints("Now playing"), mcp.WithDescription("Show what is playing, and how loud."))
	play := mcp.NewTool("play_music", changeHints("Play music"),
		mcp.WithDescription("Play music: an artist, a genre, a track or a playlist. Without query: go on with what was paused."),
		mcp.WithString("query", mcp.Description(`For example "jazz".`)))
	control := mcp.NewTool("control_music", changeHints("Control music"),
		mcp.WithDescription("Pause, stop or resume the music, or skip to the next track."),
		mcp.WithString("action", mcp.Required(), mcp.Enum("pause", "stop", "resume", "next")))
	volume := mcp.NewTool("set_volume", changeHints("Set volume"),
		mcp.WithDescription("Set the volume of the music, or make it louder or quieter. Give either level or change."),
		mcp.WithInteger("level", mcp.Min(0), mcp.Max(100), mcp.Description("Percent.")),
		mcp.WithInteger("change", mcp.Min(-100), mcp.Max(100), mcp.Description("Percent to add to what it is now; below 0: to take off.")))
	return []server.ServerTool{serveTool(get, p.getMusic), serveTool(play, p.playMusic), serveTool(control, p.controlMusic), serveTool(volume, p.setVolume)}
}

// getMusic returns the state of the player.
func (p *player) getMusic(struct{}) (any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now, nil
}

// playMusic begins a query, or resumes the previous track.
func (p *player) playMusic(a struct {
	Query string `json:"query"`
}) (any, error) {
	query := strings.TrimSpace(a.Query)
	if len(query) > maxQuery {
		return nil, refusal("the query is too long")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if query == "" && p.now.Track == "" {
		return nil, refusal("nothing was paused: say what to play")
	}
	if query != "" {
		p.now.Track = query
	}
	p.now.State = "playing"
	return p.now, nil
}

// controlMusic pauses, stops, resumes or skips. A second stop succeeds.
func (p *player) controlMusic(a struct {
	Action string `json:"action"`
}) (any, error) {
	action, err := oneOf("action", a.Action, []string{"next", "pause", "resume", "stop"})
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now.Track == "" {
		return nil, refusal("nothing is playing")
	}
	switch action {
	case "pause":
		p.now.State = "paused"
	case "resume":
		p.now.State = "playing"
	case "next":
		p.now.State, p.now.Track = "playing", nextTrack(p.now.Track)
	case "stop":
		p.now.State, p.now.Track = "stopped", ""
	}
	return p.now, nil
}

// nextTrack returns the name of the track behind another one: "jazz", "jazz (track 2)", and so on.
func nextTrack(track string) string {
	name, rest, numbered := strings.Cut(track, " (track ")
	number, err := strconv.Atoi(strings.TrimSuffix(rest, ")"))
	if !numbered || err != nil {
		name, number = track, 1
	}
	return name + " (track " + strconv.Itoa(number+1) + ")"
}

// setVolume sets the volume in percent, or changes it by some. It stays between 0 and 100.
func (p *player) setVolume(a struct {
	Level  *float64 `json:"level"`
	Change *float64 `json:"change"`
}) (any, error) {
	var err error
	switch {
	case (a.Level == nil) == (a.Change == nil):
		err = refusal("give either level or change")
	case a.Level != nil:
		err = checkBounds("level", *a.Level, 0, 100)
	default:
		err = checkBounds("change", *a.Change, -100, 100)
	}
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.Level != nil {
		p.now.Volume = int(*a.Level)
	} else {
		p.now.Volume = min(100, max(0, p.now.Volume+int(*a.Change)))
	}
	return p.now, nil
}
