package home_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/sim/home"
)

// step is one call and what it must return: a result, or, where it begins with "!", an error.
type step struct{ tool, args, want string }

// play runs steps on one server, whose state they share.
func play(t *testing.T, name string, steps []step) {
	t.Helper()
	m := home.NewServer(name, "test")
	for i, s := range steps {
		text, failed := call(t, m, s.tool, s.args)
		if failed {
			text = "!" + text
		}
		if text != s.want {
			t.Errorf("step %d, %s %s:\ngot  %s\nwant %s", i+1, s.tool, s.args, text, s.want)
		}
	}
}

const noRoom = `!there is no room "cellar"; there are: bathroom, bedroom, hall, kitchen, living room, office`

func TestLightsOfARoom(t *testing.T) {
	t.Parallel()
	hall := func(on bool, brightness int, color string) string {
		return fmt.Sprintf(`{"room":"hall","on":%t,"brightness":%d,"color":%q}`, on, brightness, color)
	}
	for name, steps := range map[string][]step{
		"dark at first":                 {{"list_lights", `{"room":"hall"}`, hall(false, 70, "warm white")}},
		"on keeps the brightness":       {{"set_light", `{"room":"hall","on":true}`, hall(true, 70, "warm white")}},
		"a brightness switches on":      {{"set_light", `{"room":"hall","brightness":1}`, hall(true, 1, "warm white")}},
		"full":                          {{"set_light", `{"room":"hall","brightness":100}`, hall(true, 100, "warm white")}},
		"brightness 0 is off":           {{"set_light", `{"room":"hall","on":true}`, hall(true, 70, "warm white")}, {"set_light", `{"room":"hall","brightness":0}`, hall(false, 0, "warm white")}},
		"on wins over brightness 0":     {{"set_light", `{"room":"hall","brightness":0,"on":true}`, hall(true, 0, "warm white")}},
		"off wins over a brightness":    {{"set_light", `{"room":"hall","brightness":50,"on":false}`, hall(false, 50, "warm white")}},
		"a color alone does not switch": {{"set_light", `{"room":"hall","color":"red"}`, hall(false, 70, "red")}},
		"however names are written":     {{"set_light", `{"room":" HALL ","color":"Cool White"}`, hall(false, 70, "cool white")}},
		"null is not given":             {{"set_light", `{"room":"hall","on":null,"color":"pink"}`, hall(false, 70, "pink")}},
		"each change adds to the last":  {{"set_light", `{"room":"hall","color":"blue"}`, hall(false, 70, "blue")}, {"set_light", `{"room":"hall","on":true}`, hall(true, 70, "blue")}, {"list_lights", `{"room":"hall"}`, hall(true, 70, "blue")}},
		"another room stays":            {{"set_light", `{"room":"office","on":true}`, `{"room":"office","on":true,"brightness":70,"color":"warm white"}`}, {"list_lights", `{"room":"hall"}`, hall(false, 70, "warm white")}},
		"no such room to set":           {{"set_light", `{"room":"cellar","on":true}`, noRoom}},
		"no such room to show":          {{"list_lights", `{"room":"cellar"}`, noRoom}},
		"no room at all":                {{"set_light", `{"on":true}`, `!there is no room ""; there are: bathroom, bedroom, hall, kitchen, living room, office`}},
		"a refused color changes nothing": {
			{"set_light", `{"room":"hall","brightness":10,"on":true,"color":"plaid"}`, `!there is no color "plaid"; there are: blue, cool white, green, orange, pink, purple, red, warm white, yellow`},
			{"list_lights", `{"room":"hall"}`, hall(false, 70, "warm white")},
		},
		"a refused brightness changes nothing": {
			{"set_light", `{"room":"hall","brightness":-1,"color":"red"}`, `!brightness must be from 0 to 100`},
			{"set_light", `{"room":"hall","brightness":100.5,"color":"red"}`, `!brightness must be from 0 to 100`},
			{"list_lights", `{"room":"hall"}`, hall(false, 70, "warm white")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, home.Lights, steps)
		})
	}
}

// A scene is for all rooms, whatever they were before.
func TestScenes(t *testing.T) {
	t.Parallel()
	type light struct {
		Room       string
		On         bool
		Brightness int
		Color      string
	}
	for scene, want := range map[string]light{
		"everyday": {"", true, 70, "warm white"},
		"movie":    {"", true, 15, "warm white"},
		"night":    {"", false, 5, "warm white"},
		"party":    {"", true, 100, "purple"},
		"reading":  {"", true, 80, "cool white"},
		"Relax":    {"", true, 40, "orange"},
	} {
		m := home.NewServer(home.Lights, "test")
		call(t, m, "set_light", `{"room":"hall","brightness":33,"color":"green"}`)
		if text, failed := call(t, m, "activate_scene", `{"scene":"`+scene+`"}`); failed {
			t.Errorf("%s: %s", scene, text)
		}
		text, _ := call(t, m, "list_lights", `{}`)
		var got, all []light
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		for _, room := range []string{"bathroom", "bedroom", "hall", "kitchen", "living room", "office"} {
			want.Room = room
			all = append(all, want)
		}
		if diff := cmp.Diff(all, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", scene, diff)
		}
	}
	play(t, home.Lights, []step{
		{"activate_scene", `{"scene":"movie"}`, `{"lights":6,"scene":"movie"}`},
		{"activate_scene", `{"scene":"disco"}`, `!there is no scene "disco"; there are: everyday, movie, night, party, reading, relax`},
		{"activate_scene", `{}`, `!there is no scene ""; there are: everyday, movie, night, party, reading, relax`},
		{"list_lights", `{"room":"hall"}`, `{"room":"hall","on":true,"brightness":15,"color":"warm white"}`},
	})
}

// Two servers of one name are two houses, and one serves many callers at once.
func TestStateIsOfOneServer(t *testing.T) {
	t.Parallel()
	one, other := home.NewServer(home.Lights, "test"), home.NewServer(home.Lights, "test")
	before, _ := call(t, other, "list_lights", `{}`)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if i%2 == 0 {
				call(t, one, "activate_scene", `{"scene":"party"}`)
			} else {
				call(t, one, "list_lights", `{}`)
			}
		})
	}
	wg.Wait()
	if after, _ := call(t, other, "list_lights", `{}`); after != before {
		t.Errorf("the other house has %s, before %s", after, before)
	}
	if got, _ := call(t, one, "list_lights", `{}`); got == before {
		t.Error("no scene was set")
	}
}
