package peers

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"sluice/channel"
	"sluice/channel/channeltest"
)

// What judges the forms of channels: Twilio's counter, Microsoft's parser of cards, marked
// and the graphemes of ICU in one script, another counter in the other.
const (
	channelNode   = npmFolder + "/channel_judge.mjs"
	channelPython = "internal/peers/testdata/channel_judge.py"
)

// formatted is a text as a judge gets it.
type formatted struct {
	Name    string            `json:"name"`
	Content string            `json:"content"`
	Bodies  []string          `json:"bodies"` // of parts, without their indicators
	SMS     []smsPart         `json:"sms"`
	Most    int               `json:"most"` // segments of a part
	Cards   []json.RawMessage `json:"cards"`
}

type smsPart struct {
	Content  string `json:"content"`
	Encoding string `json:"encoding"`
	Segments int    `json:"segments"`
}

// formattedTexts are generated texts in the forms that others can judge.
func formattedTexts(n int) (all []formatted) {
	specs := channel.ByName(nil)
	small := specs[channel.SMS]
	small.MaxSegments, small.MaxParts = 3, 20
	cut := specs[channel.Teams]
	cut.MaxLength, cut.MaxParts = 8000, 20
	var formatters []*channel.Formatter
	for _, spec := range []channel.Spec{specs[channel.SMS], small, specs[channel.Teams], cut} {
		formatters = append(formatters, channel.New(spec))
	}
	g := channeltest.New(99)
	for i := range n {
		text := g.Text()
		for k, f := range formatters {
			r := f.Format(channel.Input{Text: text.Markdown})
			all = append(all, judged(strconv.Itoa(i)+"/"+strconv.Itoa(k), f.Spec(), r))
		}
	}
	return all
}

func judged(name string, spec channel.Spec, r *channel.Response) formatted {
	f := formatted{Name: name, Content: r.Content, Most: spec.MaxSegments}
	parts := r.Parts
	if !r.IsSplit {
		parts = []channel.Part{{Content: r.Content, Own: r.Own}}
	}
	for _, p := range parts {
		f.Bodies = append(f.Bodies, strings.Replace(p.Content, p.Indicator, "", 1))
		if p.Card != nil {
			f.Cards = append(f.Cards, json.RawMessage(p.Card))
		} else {
			f.SMS = append(f.SMS, smsPart{p.Content, string(p.Encoding), p.Segments})
		}
	}
	return f
}

// askChannelJudge reports what a judge finds wrong.
func askChannelJudge(t *testing.T, texts []formatted, command ...string) {
	t.Helper()
	var stdin, stderr bytes.Buffer
	enc := json.NewEncoder(&stdin)
	for _, text := range texts {
		if err := enc.Encode(text); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Stdin, cmd.Stderr = &stdin, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the judge: %v\n%s", err, &stderr)
	}
	verdicts := 0
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); verdicts++ {
		var v struct {
			Name   string
			Faults []string
		}
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		if len(v.Faults) > 0 {
			t.Errorf("%s: %q", v.Name, v.Faults)
		}
	}
	if verdicts != len(texts) {
		t.Errorf("%d verdicts on %d texts", verdicts, len(texts))
	}
}

// By the counts and parsers of others, parts fit, cards are cards, and no grapheme is
// parted.
func TestFormsOfChannels(t *testing.T) {
	t.Parallel()
	needPeers(t)
	texts := formattedTexts(1000) // of four forms each
	t.Run("npm", func(t *testing.T) {
		t.Parallel()
		installed(t, npmFolder+"/node_modules/sms-segments-calculator")
		askChannelJudge(t, texts, node(t), installed(t, channelNode))
	})
	t.Run("PyPI", func(t *testing.T) {
		t.Parallel()
		askChannelJudge(t, texts, installed(t, ".venv/channel/bin/python"), installed(t, channelPython))
	})
}
