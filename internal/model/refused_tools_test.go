package model

import "testing"

// A refusal names a tool by its place or by its name in quotes, and only one counts.
func TestToolsInRefusals(t *testing.T) {
	t.Parallel()
	sent := []SentTool{{"list", "list"}, {"zoom.set", "zoom_set"}, {"get", "get"}}
	for text, want := range map[string]int{
		"tools[1].function.parameters":                                    1,
		"body.tools.2.function.parameters.properties":                     2,
		"tools.0.custom.input_schema: invalid":                            0,
		"GenerateContentRequest.tools[0].function_declarations[2].name":   2,
		"tools[0].functionDeclarations[1].parameters":                     1,
		"tools[1].x and tools[1].y":                                       1,
		"tools[1].x and tools[2].y":                                       -1,
		"messages[1].tool_calls[0].function":                              -1,
		"tools":                                                           -1,
		"Invalid schema for function 'zoom_set': no":                      1,
		"Invalid schema for functions 'zoom_set' and 'get'":               -1,
		"Invalid schema for function zoom_set":                            -1,
		"Tool 'get' was called without a result":                          -1,
		"the property \"list\" is unknown; the schema of `list` is wrong": 0,
	} {
		got := toolPlace(text)
		if got < 0 {
			got = toolNamed(text, sent)
		}
		if got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}
