package home_test

import (
	"strings"
	"testing"

	"sluice/internal/sim/home"
)

func TestPlayer(t *testing.T) {
	t.Parallel()
	const (
		jazz   = `{"state":"playing","track":"jazz","volume":40}`
		silent = `{"state":"stopped","volume":40}`
	)
	for name, steps := range map[string][]step{
		"silent at first":            {{"get_music", `{}`, silent}},
		"plays":                      {{"play_music", `{"query":"jazz"}`, jazz}, {"get_music", `{}`, jazz}},
		"blanks are no query":        {{"play_music", `{"query":"  "}`, `!nothing was paused: say what to play`}},
		"around a query they go":     {{"play_music", `{"query":" jazz "}`, jazz}},
		"another track":              {{"play_music", `{"query":"rock"}`, `{"state":"playing","track":"rock","volume":40}`}, {"play_music", `{"query":"jazz"}`, jazz}},
		"paused, and on by play":     {{"play_music", `{"query":"jazz"}`, jazz}, {"control_music", `{"action":"pause"}`, `{"state":"paused","track":"jazz","volume":40}`}, {"play_music", `{}`, jazz}},
		"paused, and on by resume":   {{"play_music", `{"query":"jazz"}`, jazz}, {"control_music", `{"action":"Pause"}`, `{"state":"paused","track":"jazz","volume":40}`}, {"control_music", `{"action":"resume"}`, jazz}},
		"stopped forgets the track":  {{"play_music", `{"query":"jazz"}`, jazz}, {"control_music", `{"action":"stop"}`, silent}, {"play_music", `{}`, `!nothing was paused: say what to play`}},
		"nothing to stop":            {{"control_music", `{"action":"stop"}`, `!nothing is playing`}},
		"nothing to resume":          {{"control_music", `{"action":"resume"}`, `!nothing is playing`}},
		"no such action":             {{"control_music", `{"action":"rewind"}`, `!there is no action "rewind"; there are: next, pause, resume, stop`}},
		"the longest query":          {{"play_music", `{"query":"` + strings.Repeat("x", 200) + `"}`, `{"state":"playing","track":"` + strings.Repeat("x", 200) + `","volume":40}`}},
		"a longer one":               {{"play_music", `{"query":"` + strings.Repeat("x", 201) + `"}`, `!the query is too long`}, {"get_music", `{}`, silent}},
		"volume stays while playing": {{"set_volume", `{"level":7}`, `{"state":"stopped","volume":7}`}, {"play_music", `{"query":"jazz"}`, `{"state":"playing","track":"jazz","volume":7}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, home.Music, steps)
		})
	}
}

func TestVolume(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"level":0}`:                `{"state":"stopped","volume":0}`,
		`{"level":100}`:              `{"state":"stopped","volume":100}`,
		`{"level":101}`:              `!level must be from 0 to 100`,
		`{"level":-0.5}`:             `!level must be from 0 to 100`,
		`{"change":0}`:               `{"state":"stopped","volume":40}`,
		`{"change":60}`:              `{"state":"stopped","volume":100}`,
		`{"change":61}`:              `{"state":"stopped","volume":100}`,
		`{"change":-40}`:             `{"state":"stopped","volume":0}`,
		`{"change":-41}`:             `{"state":"stopped","volume":0}`,
		`{"change":100}`:             `{"state":"stopped","volume":100}`,
		`{"change":101}`:             `!change must be from -100 to 100`,
		`{"change":-101}`:            `!change must be from -100 to 100`,
		`{"level":10,"change":10}`:   `!give either level or change`,
		`{}`:                         `!give either level or change`,
		`{"level":"loud"}`:           `!the arguments are not as the schema says`,
		`{"level":10,"change":null}`: `{"state":"stopped","volume":10}`,
	} {
		play(t, home.Music, []step{{"set_volume", args, want}})
	}
	play(t, home.Music, []step{
		{"set_volume", `{"change":10}`, `{"state":"stopped","volume":50}`},
		{"set_volume", `{"change":10}`, `{"state":"stopped","volume":60}`},
		{"set_volume", `{"level":101}`, `!level must be from 0 to 100`},
		{"get_music", `{}`, `{"state":"stopped","volume":60}`},
	})
}
