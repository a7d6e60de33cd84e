package offline

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/sim/geminisim"
)

// declared returns functions of those names, whose parameters are not known.
func declared(names string) (list []geminisim.Function) {
	for name := range strings.FieldsSeq(names) {
		list = append(list, geminisim.Function{Name: name})
	}
	return list
}

func TestOrdersToAHouse(t *testing.T) {
	t.Parallel()
	const all = "set_light activate_scene list_lights play_music control_music set_volume get_music set_climate get_climate"
	for text, want := range map[string]string{
		"Dim the kitchen lights to 30% and play some jazz": `set_light {"room":"kitchen","brightness":30}; play_music {"query":"jazz"}`,
		"Turn on the bedroom lights":                       `set_light {"room":"bedroom","on":true}`,
		"switch the hall light off, please":                `set_light {"room":"hall","on":false}`,
		"Make the living room lights blue":                 `set_light {"room":"living room","color":"blue"}`,
		"Change the lights to blue":                        `set_light {"room":"living room","color":"blue"}`,
		"Set bedroom lights to red":                        `set_light {"room":"bedroom","color":"red"}`,
		"Set the office lights to warm white":              `set_light {"room":"office","color":"warm white"}`,
		"Create a party scene":                             `activate_scene {"scene":"party"}`,
		"Set the scene to reading":                         `activate_scene {"scene":"reading"}`,
		"Set the thermostat to 70":                         `set_climate {"target":21}`,
		"Skip this track":                                  `control_music {"action":"next"}`,
		"play the next song":                               `control_music {"action":"next"}`,
		"Set the volume to eleven":                         ``,
		"Activate movie scene":                             `activate_scene {"scene":"movie"}`,
		"Pause the music":                                  `control_music {"action":"pause"}`,
		"Set the volume to 25 percent":                     `set_volume {"level":25}`,
		"Turn up the volume":                               `set_volume {"change":10}`,
		"turn the music down a bit":                        `set_volume {"change":-10}`,
		"Set temperature to 72 degrees":                    `set_climate {"target":22}`,
		"Set the temperature to 21 degrees":                `set_climate {"target":21}`,
		"set the upstairs heating to 19.5":                 `set_climate {"zone":"upstairs","target":19.5}`,
		"Turn on the AC":                                   `set_climate {"mode":"cool"}`,
		"turn the heating off":                             `set_climate {"mode":"off"}`,
		"What is playing?":                                 `get_music {}`,
		"How warm is it?":                                  `get_climate {}`,
		"Dim the office lights, turn on the heating, and play some rock": `set_light {"room":"office","brightness":20}; set_climate {"mode":"heat"}; play_music {"query":"rock"}`,
	} {
		in, ok := readOrders(text, declared(all))
		var got []string
		for _, o := range in.list {
			c := o.plan.call()
			got = append(got, c.Name+" "+string(c.Args))
		}
		if joined := strings.Join(got, "; "); !ok || joined != want {
			t.Errorf("%s: %s, want %s", text, joined, want)
		}
	}
}

// An agent does what its own tools are for, and leaves the rest to others.
func TestOrdersAreForTheToolsAtHand(t *testing.T) {
	t.Parallel()
	q := geminisim.Question{
		MayCall: true, Functions: declared("play_music set_volume"),
		Messages: []geminisim.Message{{Text: "Dim the kitchen lights to 30% and play some jazz"}},
	}
	a := Model{}.Answer(q)
	if len(a.Calls) != 1 || a.Calls[0].Name != "play_music" {
		t.Fatalf("calls %+v", a.Calls)
	}
	q.Messages = append(q.Messages, geminisim.Message{Model: true, Calls: a.Calls},
		geminisim.Message{Results: []geminisim.Result{{Name: "play_music", Response: jsontext.Value(`{"output":"{}"}`)}}})
	if a = (Model{}).Answer(q); a.Text != "Now playing: jazz." {
		t.Errorf("said %q", a.Text)
	}
	q.Messages[2].Results[0].Response = jsontext.Value(`{"error":"the player is off."}`)
	if a = (Model{}).Answer(q); a.Text != "That did not work: the player is off." {
		t.Errorf("said %q", a.Text)
	}
}

// Asked for todos where other tools alone are connected, the demo says that it is a simulator;
// where their server is unavailable it says that.
func TestForeignTools(t *testing.T) {
	t.Parallel()
	for moment, want := range map[string]string{
		"": foreign,
		"\nAdded by the gateway, not by the user:\nUnavailable tools: those of todo cannot be reached right now.": unavailable,
	} {
		q := geminisim.Question{System: "You help.", MayCall: true, Functions: declared("add_item"), Messages: []geminisim.Message{{Text: "Add buy milk to my todos" + moment}}}
		if got := (Model{}).Answer(q).Text; got != want {
			t.Errorf("%q: %s", moment, got)
		}
	}
}

// The answer to a question about a wish that was not clear is carried out with that wish.
func TestAnswersToAQuestion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"the music": 1, "Pause the music": 1} {
		q := geminisim.Question{MayCall: true, Functions: declared("play_music set_volume control_music"), Messages: []geminisim.Message{
			{Text: "Make it louder"}, {Model: true, Text: "Which of them do you mean: Lights, or Music?"}, {Text: text},
		}}
		if a := (Model{}).Answer(q); len(a.Calls) != want {
			t.Errorf("%s: %+v", text, a)
		}
		q.Messages[1].Text = "Done."
		if a := (Model{}).Answer(q); text == "the music" && len(a.Calls) != 0 {
			t.Errorf("without a question: %+v", a)
		}
	}
}
