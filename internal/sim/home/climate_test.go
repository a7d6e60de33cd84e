package home_test

import (
	"testing"

	"sluice/internal/sim/home"
)

func TestHeating(t *testing.T) {
	t.Parallel()
	zone := func(name, mode, target string) string {
		return `{"zone":"` + name + `","mode":"` + mode + `","target":` + target + `,"now":19.5}`
	}
	house := func(mode, target string) string {
		return "[" + zone("downstairs", mode, target) + "," + zone("upstairs", mode, target) + "]"
	}
	const modes = "there are: auto, cool, heat, off"
	for name, steps := range map[string][]step{
		"at first":                    {{"get_climate", `{}`, house("auto", "20")}},
		"the house by name":           {{"get_climate", `{"zone":"house"}`, house("auto", "20")}},
		"one zone":                    {{"get_climate", `{"zone":"Upstairs"}`, "[" + zone("upstairs", "auto", "20") + "]"}},
		"the house is set at once":    {{"set_climate", `{"target":18}`, house("auto", "18")}, {"get_climate", `{}`, house("auto", "18")}},
		"a zone alone":                {{"set_climate", `{"zone":"downstairs","target":18.5}`, "[" + zone("downstairs", "auto", "18.5") + "]"}, {"get_climate", `{"zone":"upstairs"}`, "[" + zone("upstairs", "auto", "20") + "]"}},
		"a mode leaves the target":    {{"set_climate", `{"target":25}`, house("auto", "25")}, {"set_climate", `{"mode":"HEAT"}`, house("heat", "25")}},
		"both":                        {{"set_climate", `{"mode":"cool","target":19}`, house("cool", "19")}},
		"the bounds are in":           {{"set_climate", `{"target":5}`, house("auto", "5")}, {"set_climate", `{"target":35}`, house("auto", "35")}},
		"too cold":                    {{"set_climate", `{"target":4.9}`, `!target must be from 5 to 35`}},
		"too hot":                     {{"set_climate", `{"target":35.1}`, `!target must be from 5 to 35`}},
		"no such zone":                {{"set_climate", `{"zone":"attic","target":20}`, `!there is no zone "attic"; there are: downstairs, house, upstairs`}},
		"nothing to change in a zone": {{"set_climate", `{"zone":"upstairs"}`, `!nothing to change: give at least one of target, mode`}},
		"a refused mode":              {{"set_climate", `{"mode":"turbo","target":22}`, `!there is no mode "turbo"; ` + modes}, {"get_climate", `{}`, house("auto", "20")}},
		"a refused target":            {{"set_climate", `{"mode":"off","target":99}`, `!target must be from 5 to 35`}, {"get_climate", `{}`, house("auto", "20")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, home.Climate, steps)
		})
	}
}
