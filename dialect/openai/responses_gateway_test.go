package openai_test

import (
	"strings"
	"testing"
)

const respond = "POST /v1/responses\nContent-Type: application/json\n\n"

// A response as a stream and as a document.
func TestResponse(t *testing.T) {
	t.Parallel()
	replies := play(t, `
-- request --
`+respond+`{"model":"sluice","stream":true,"input":"Look"}
---
`+respond+`{"model":"sluice","input":[{"role":"user","content":[{"type":"input_text","text":"Hi"}]}]}
-- gemini --
text Let me see.
call look {} id=s1
finish STOP
---
text Done.
finish STOP
---
text One.
finish STOP
-- mcp --
[{"name": "look", "readOnly": true, "result": "seen"}]
`)
	t.Log(strings.ReplaceAll(replies[0].Body, "event: ", "\nevent: "))
	t.Log(replies[1].Body)
	t.Fail()
}
