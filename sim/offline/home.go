package offline

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"sluice/sim/geminisim"
	"sluice/sim/offline/english"
	"sluice/sim/offline/roles"
)

// What is understood of the example's house. An agent sees the whole request and does
// the clauses that its own tools are for.

// order is one clause of a request: a call, and what to say when it has worked.
type order struct {
	plan plan
	said string // empty: what the tool returned
}

// orders is the intent of a request to a house.
type orders struct {
	list []order
}

// homePhrase is a way to say something to a house.
type homePhrase struct {
	tool    string
	pattern string
	order   func(p plan, f english.Found) order
}

// readOrders returns what a request asks of the declared tools of a house; ok is false
// if none is declared.
func readOrders(text string, declared []geminisim.Function) (in orders, ok bool) {
	tools := map[string]*tool{}
	for _, name := range []string{"set_light", "activate_scene", "list_lights", "play_music", "control_music", "set_volume", "get_music", "set_climate", "get_climate"} {
		if t := findTool(declared, name); t != nil {
			tools[name] = t
		}
	}
	if len(tools) == 0 {
		return in, false
	}
	for _, clause := range roles.Clauses(text) {
		s := withoutPoliteness(english.Read(clause))
		for _, p := range homePhrases() {
			t := tools[p.tool]
			if t == nil {
				continue
			}
			if f, fits := s.Match(p.pattern); fits {
				in.list = append(in.list, p.order(plan{tool: t}, f))
				break
			}
		}
	}
	return in, true
}

// homePhrases are the sentences about a home, with the tool that each of them is for.
func homePhrases() []homePhrase {
	const (
		lights = " light|lights|lamp|lamps "
		room   = " [the|all|all_the] <room?>"
	)
	return []homePhrase{
		{"set_light", "dim|set|turn|change|put|bring|make" + room + lights + "[down|up] to|at <level> [%|percent|brightness]", setLight},
		{"set_light", "dim" + room + lights + "[a_bit|a_little|down]", dimLight},
		{"set_light", "turn|switch <on=on|off>" + room + lights, switchLight},
		{"set_light", "turn|switch" + room + lights + "<on=on|off>", switchLight},
		{"set_light", "make|turn|set|color|change" + room + lights + "[to] <color>", colorLight},
		{"activate_scene", "activate|set|start|turn_on|use|make_it [the] [a] <scene=movie|reading|party|relax|night|everyday> [scene|mode|lighting|lights|time]", activate},
		{"list_lights", "is|are|which|what|show <rest?>" + lights + "<more?>", func(p plan, _ english.Found) order { return order{plan: p} }},
		{"play_music", "play|put_on|start [me] [some|a|the] <query?>", playMusic},
		{"control_music", "<action=pause|stop|resume> [the] [music|song|playback|track]", controlMusic},
		{"set_volume", "set|turn|change|put [the] volume|music|sound [up|down] to|at <level> [%|percent]", setVolume},
		{"set_volume", "turn|put|crank <way=up|down> [the] volume|music|sound [a_bit|a_little]", changeVolume},
		{"set_volume", "turn|put [the] volume|music|sound <way=up|down> [a_bit|a_little]", changeVolume},
		{"set_volume", "make it <way=louder|quieter>", changeVolume},
		{"get_music", "what|what's|what_is|which [song|track|music] [is] playing|on <rest?>", func(p plan, _ english.Found) order { return order{plan: p} }},
		{"set_climate", "set|turn|change|make|heat|cool [the] <zone?> [temperature|thermostat|heating|heat|climate] [up|down] to|at <target> [degrees|°|c|celsius|°c|f|fahrenheit|°f] [celsius|fahrenheit]", setClimate},
		{"set_climate", "turn|switch <on=on|off> [the] <mode=ac|a/c|air_conditioning|cooling|heating|heat|heater>", switchClimate},
		{"set_climate", "turn|switch [the] <mode=ac|a/c|air_conditioning|cooling|heating|heat|heater> <on=on|off>", switchClimate},
		{"get_climate", "how|what|what's|what_is <rest?> warm|cold|temperature|heating|thermostat <more?>", func(p plan, _ english.Found) order { return order{plan: p} }},
	}
}

// roomOf returns the room of a phrase; the kitchen stands for a house without one.
func roomOf(f english.Found) string {
	if r := strings.ToLower(strings.TrimSpace(strings.TrimSuffix(f.Texts["room"], "'s"))); r != "" {
		return r
	}
	return "living room"
}

// figure reads a number such as "30%"; 0 if it is none.
func figure(s string) float64 {
	n, _ := strconv.ParseFloat(strings.Trim(s, " %°C"), 64)
	return n
}

// setLight sets a brightness in percent.
func setLight(p plan, f english.Found) order {
	level := strings.Trim(f.Texts["level"], " %")
	return order{p.with("room", roomOf(f)).with("brightness", figure(level)), "The " + roomOf(f) + " lights are at " + level + "%."}
}

// dimLight sets a brightness of 20 %.
func dimLight(p plan, f english.Found) order {
	return order{p.with("room", roomOf(f)).with("brightness", 20), "The " + roomOf(f) + " lights are dimmed."}
}

// switchLight turns the lights of a room on or off.
func switchLight(p plan, f english.Found) order {
	on := strings.EqualFold(f.Texts["on"], "on")
	return order{p.with("room", roomOf(f)).with("on", on), "The " + roomOf(f) + " lights are " + onOff(on) + "."}
}

// onOff is the word for a state.
func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// colorLight gives the lights of a room a color.
func colorLight(p plan, f english.Found) order {
	color := strings.ToLower(f.Texts["color"])
	return order{p.with("room", roomOf(f)).with("color", color), "The " + roomOf(f) + " lights are " + color + " now."}
}

// activate turns a scene on.
func activate(p plan, f english.Found) order {
	scene := strings.ToLower(f.Texts["scene"])
	return order{p.with("scene", scene), "The " + scene + " scene is on."}
}

// playMusic plays what is asked for, or something.
func playMusic(p plan, f english.Found) order {
	query := f.Texts["query"]
	if low := strings.ToLower(query); low == "music" || low == "" {
		return order{p.with("query", "something nice"), "Music is playing."}
	}
	return order{p.with("query", query), "Now playing: " + query + "."}
}

// controlMusic pauses, stops or resumes the music.
func controlMusic(p plan, f english.Found) order {
	action := strings.ToLower(f.Texts["action"])
	past := map[string]string{"pause": "paused", "stop": "stopped", "resume": "playing again"}[action]
	return order{p.with("action", action), "The music is " + past + "."}
}

// setVolume sets a volume in percent.
func setVolume(p plan, f english.Found) order {
	level := strings.Trim(f.Texts["level"], " %")
	return order{p.with("level", figure(level)), "The volume is at " + level + "%."}
}

// changeVolume makes the music louder or quieter by ten percent.
func changeVolume(p plan, f english.Found) order {
	if english.In("up louder", strings.ToLower(f.Texts["way"])) {
		return order{p.with("change", 10), "The volume is up by 10%."}
	}
	return order{p.with("change", -10), "The volume is down by 10%."}
}

// hottest is beyond what anybody wants in degrees Celsius: more is Fahrenheit.
const hottest = 45

// setClimate sets a target in degrees, of a zone if one is named. The tool takes Celsius.
func setClimate(p plan, f english.Found) order {
	target := figure(f.Texts["target"])
	if target > hottest {
		celsius := math.Round((target-32)/1.8*2) / 2
		return order{p.with("target", celsius), fmt.Sprintf("The target is %g degrees Fahrenheit (%g °C).", target, celsius)}
	}
	if zone := strings.ToLower(f.Texts["zone"]); zone == "upstairs" || zone == "downstairs" {
		p = p.with("zone", zone)
	}
	return order{p.with("target", target), "The target is " + strconv.FormatFloat(target, 'g', -1, 64) + " degrees."}
}

// switchClimate turns heating or cooling on, or both off.
func switchClimate(p plan, f english.Found) order {
	mode, what := "heat", "heating"
	if english.In("ac a/c cooling", strings.ToLower(f.Texts["mode"])) || strings.Contains(strings.ToLower(f.Texts["mode"]), "air") {
		mode, what = "cool", "air conditioning"
	}
	on := strings.EqualFold(f.Texts["on"], "on")
	if !on {
		mode = "off"
	}
	return order{p.with("mode", mode), "The " + what + " is " + onOff(on) + "."}
}

// next calls the tools, then says what they have done.
func (o orders) next(t *turn) geminisim.Answer {
	if len(o.list) == 0 {
		return text("I'm the built-in offline demo model, and I don't know how to do that with what I can control here.")
	}
	if len(t.results) == 0 {
		var plans []plan
		for _, each := range o.list {
			plans = append(plans, each.plan)
		}
		if calls := t.calls(plans); calls != nil {
			return geminisim.Answer{Thoughts: []string{"The request is for my tools."}, Calls: calls}
		}
		return text("I was asked to answer without using any tools, so I changed nothing.")
	}
	var said []string
	for i, each := range o.list {
		switch {
		case i >= len(t.results):
		case t.results[i].fault != "":
			said = append(said, "That did not work: "+strings.TrimRight(t.results[i].fault, ".")+".")
		case each.said != "":
			said = append(said, each.said)
		default:
			said = append(said, "This is how it is: "+t.results[i].text)
		}
	}
	return text(strings.Join(said, " "))
}
