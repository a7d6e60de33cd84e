package recording_test

import (
	"testing"

	"sluice/internal/base/config"
	"sluice/internal/base/config/configtest"
	"sluice/internal/state/task/recording"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	load := func(env map[string]string) (recording.Config, error) {
		w := configtest.World{Env: env}
		cfg, err := config.NewLoader(func(c *config.Config) config.Table { return config.Table{recording.Settings(c)} }).Load(nil, w.Lookup, w.ReadFile)
		return config.Of[recording.Config](&cfg), err
	}
	for text, want := range map[string]int64{"": recording.DefaultMax, "1MiB": 1 << 20, "64GiB": 64 << 30, "65536MiB": 64 << 30} {
		if got, err := load(map[string]string{"SLUICE_RECORD": "folder", "SLUICE_RECORD_MAX": text}); err != nil || got.Dir != "folder" || got.Max != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"1", "0MiB", "-1MiB", "1.5GiB", "65GiB", "1MB", "1 MiB"} {
		if _, err := load(map[string]string{"SLUICE_RECORD_MAX": text}); err == nil || err.Error() != "SLUICE_RECORD_MAX: must be a whole number with MiB or GiB, from 1MiB to 64GiB" {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := load(map[string]string{"SLUICE_RECORD": "a\nb"}); err == nil {
		t.Error("a folder with a line break is accepted")
	}
}
