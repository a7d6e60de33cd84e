package browser

import (
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

// shot is a picture of the page as documents show it: what is asked, and what must be in sight.
type shot struct {
	Name     string `json:"name"`
	Base     string `json:"base"`
	Ask      string `json:"ask"`
	Workflow string `json:"workflow,omitempty"`
	Width    int    `json:"width,omitempty"`
	Height   int    `json:"height,omitempty"`
	Dark     bool   `json:"dark,omitempty"`
	Show     string `json:"show,omitempty"`  // a data-testid
	Steps    bool   `json:"steps,omitempty"` // whether the steps of the turn are open
	// Developer is open, at the trace.
	Developer bool `json:"developer,omitempty"`
}

// maxPicture bounds a picture of the documents, in bytes.
const maxPicture = 200 << 10

// The pictures of the documents are made of the page as it is. make screenshots puts them into the
// folder that SLUICE_SCREENSHOTS names; without it they are only made.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	folder := os.Getenv("SLUICE_SCREENSHOTS")
	if folder == "" {
		folder = t.TempDir()
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	serve := func(file string, env ...string) string {
		all := map[string]string{"SLUICE_STORE": "memory"}
		if file != "" {
			all["SLUICE_CONFIG"] = root + "/examples/" + file
		}
		for i := 0; i+1 < len(env); i += 2 {
			all[env[i]] = env[i+1]
		}
		return startGateway(t, all).base
	}
	house := serve("home/sluice.yaml")
	shots := []shot{
		{Name: "page", Base: house, Ask: "Dim the kitchen lights to 30% and play some jazz"},
		{Name: "narrow", Base: house, Ask: "Turn on the kitchen lights", Width: 390, Height: 844, Dark: true},
		{Name: "workflow", Base: serve("workflows/research.yaml"), Ask: "How do tides work?", Workflow: "research", Developer: true},
		{Name: "approval", Base: serve("", "SLUICE_CONFIRM", "writes"), Ask: "Remind me to buy eggs tomorrow at 3pm", Show: "approve"},
		{Name: "quality", Base: serve("quality/sluice.yaml"), Ask: "Guess how many todos I have", Steps: true},
		{Name: "trace", Base: serve(""), Ask: "Remind me to buy eggs tomorrow at 3pm", Show: "trace-row", Developer: true},
	}
	made := drive[struct {
		Name   string
		Faults []string
	}](t, "shots.mjs", map[string]any{"chromium": browser, "folder": folder, "shots": shots})
	for _, m := range made {
		for _, fault := range m.Faults {
			t.Errorf("%s: %s", m.Name, fault)
		}
	}
	for _, s := range shots {
		checkPicture(t, filepath.Join(folder, s.Name+".png"))
	}
}

// checkPicture checks that a picture is one, and that it is small.
func checkPicture(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if size, err := png.DecodeConfig(f); err != nil || size.Width < 360 || info.Size() > maxPicture {
		t.Errorf("%s: %d bytes, %d by %d, %v", path, info.Size(), size.Width, size.Height, err)
	}
}
