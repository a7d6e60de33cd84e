package browser

import "testing"

// Conversations come back after a reload, in another tab, and however long they are, in Chromium.
func TestConversationsComeBack(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	kept := startGateway(t, map[string]string{"SLUICE_STORE": "memory"})
	without := startGateway(t, nil)
	flows := []flow{{"comesBack", kept.base}, {"comesBackWithout", without.base}, {"fiveHundred", without.base}, {"twoTabs", kept.base}, {"conversations", startGateway(t, map[string]string{"SLUICE_STORE": "memory"}).base}}
	journeys := travel(t, browser, flows)
	check(t, flows, journeys)
	t.Logf("500 turns: %v", journeys["fiveHundred"].Facts.Figures)
}

// The path of a stranger, by keyboard alone and by touch alone.
func TestPathsOfStrangers(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	start := func() string { return startGateway(t, map[string]string{"SLUICE_STORE": "memory"}).base }
	flows := []flow{{"pathByKeyboard", start()}, {"pathByTouch", start()}}
	check(t, flows, travel(t, browser, flows))
}

// The tasks that a gateway keeps are listed, shared and saved, in Chromium; the page is of use in a
// browser that refuses what it asks for, and on a narrow screen.
func TestTasksOnThePage(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	kept := startGateway(t, map[string]string{"SLUICE_STORE": "memory"})
	without := startGateway(t, nil)
	flows := []flow{{"taskList", kept.base}, {"taskStoreGone", kept.base}, {"sheet", kept.base}, {"refusals", without.base}, {"noScript", without.base}}
	check(t, flows, travel(t, browser, flows))
}

// The page is painted soon. On a machine that has other work that may take longer: what is judged is
// the shortest of three times, and what the scripts weigh as they are sent.
func TestFirstPaint(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	flows := []flow{{"firstPaint", startGateway(t, nil).base}}
	journeys := travel(t, browser, flows)
	check(t, flows, journeys)
	figures := journeys["firstPaint"].Facts.Figures
	t.Logf("%v", figures)
	// With their heads, which are those of replies without a body when nothing has changed.
	if cold, warm := figures["cold_bytes"], figures["warm_bytes"]; cold == 0 || cold > 200_000 || warm > cold/2 {
		t.Errorf("the scripts were %v bytes and then %v, want 200,000 at most and less than half of it", cold, warm)
	}
	if paint := figures["paint_ms"]; paint == 0 || paint > 1000 {
		t.Errorf("the first paint came after %v ms, want 1,000 at most", paint)
	}
}
