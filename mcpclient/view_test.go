package mcpclient

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/turn/tool"
)

// Tools stand in one order on every gateway and after each connection, whichever way servers list
// them: servers as they are configured, their tools by name. Of two whose names are alike for
// models each keeps its own.
func TestOrderOfTools(t *testing.T) {
	t.Parallel()
	tools := []string{toolWrite, toolRead, definition("beta", properties("")), definition("Alpha", properties("")),
		definition("x/y", properties("")), definition("x_y", properties(`"z":{}`))}
	turned := slices.Clone(tools)
	slices.Reverse(turned)
	var sets []*tool.Set
	for _, list := range [][]string{tools, turned} {
		c := newClient(t, Config{ConnectWait: over("").ConnectWait, Servers: []Server{
			{Name: "zoo", Transport: HTTP, URL: serve(t, newFake(list...))}, {Name: "ant", Transport: HTTP, URL: serve(t, newFake(definition("last", properties(""))))},
		}})
		sets = append(sets, c.Tools(t.Context()))
	}
	if diff := cmp.Diff([]string{"Alpha", "beta", "read", "write"}, names(sets[0])[:4]); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sets[0].Specs, sets[1].Specs); diff != "" {
		t.Errorf("tools of a server that lists them the other way (-one +other):\n%s", diff)
	}
}
