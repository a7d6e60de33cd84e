package browser

import "testing"

// Conversations come back, and the tasks that a gateway keeps are listed, in Chromium.
func TestTasksOnThePage(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	kept := startGateway(t, map[string]string{"SLUICE_STORE": "memory"})
	without := startGateway(t, nil)
	flows := []flow{{"comesBack", kept.base}, {"comesBackWithout", without.base}, {"taskList", kept.base}, {"taskStoreGone", kept.base},
		{"refusals", without.base}, {"fiveHundred", without.base}, {"twoTabs", kept.base}, {"noScript", without.base}}
	journeys := travel(t, browser, flows)
	check(t, flows, journeys)
	t.Logf("500 turns: %v", journeys["fiveHundred"].Facts.Figures)
}
