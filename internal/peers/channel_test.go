package peers

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/channel"
	"sluice/channel/channeltest"
	"sluice/config"
	"sluice/deliver"
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
	Mail    *readMail         `json:"mail,omitempty"`
}

// readMail is an e-mail, and what must be read out of it.
type readMail struct {
	MIME    []byte `json:"mime"` // in base64
	Subject string `json:"subject"`
	Text    string `json:"text"`
	HTML    string `json:"html"`
}

type smsPart struct {
	Content  string `json:"content"`
	Encoding string `json:"encoding"`
	Segments int    `json:"segments"`
}

// formattedTexts are generated texts in the forms that others can judge.
func formattedTexts(t *testing.T, seed uint64, n int) (all []formatted) {
	t.Helper()
	specs := channel.ByName(nil)
	small := specs[channel.SMS]
	small.MaxSegments, small.MaxParts = 3, 20
	cut := specs[channel.Teams]
	cut.MaxLength, cut.MaxParts = 8000, 20
	var formatters []*channel.Formatter
	lines := specs[channel.Plain]
	lines.MaxLength, lines.MaxParts = 300, 20
	for _, spec := range []channel.Spec{small, lines, specs[channel.SMS], specs[channel.Teams], cut, specs[channel.Email]} {
		formatters = append(formatters, channel.New(spec))
	}
	g := channeltest.New(seed)
	for i := range n {
		text := g.Text()
		for k, f := range formatters {
			if k > 1 && i%4 > 0 { // others are slower by much
				continue
			}
			r := f.Format(channel.Input{Text: text.Markdown})
			all = append(all, judged(t, strconv.Itoa(i)+"/"+strconv.Itoa(k), f.Spec(), r))
		}
	}
	return all
}

func judged(t *testing.T, name string, spec channel.Spec, r *channel.Response) formatted {
	t.Helper()
	f := formatted{Name: name, Content: r.Content, Most: spec.MaxSegments}
	if spec.Form == channel.Email {
		mime, err := r.MIME(time.Unix(1_770_000_000, 0))
		if err != nil {
			t.Fatal(err)
		}
		f.Mail = &readMail{mime, r.Subject, r.Text, r.HTML}
		return f
	}
	parts := r.Parts
	if !r.IsSplit {
		parts = []channel.Part{{Content: r.Content, Own: r.Own}}
	}
	for _, p := range parts {
		f.Bodies = append(f.Bodies, strings.Replace(p.Content, p.Indicator, "", 1))
		switch {
		case p.Card != nil:
			f.Cards = append(f.Cards, json.RawMessage(p.Card))
		case spec.Form == channel.SMS:
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

// By the counts and parsers of others, parts fit, cards are cards, e-mails are read as they
// were written, and no grapheme is parted: of 10,000 texts in thirteen scripts.
func TestFormsOfChannels(t *testing.T) {
	t.Parallel()
	needPeers(t)
	const texts, seeds = 10_000, 8
	for _, judge := range []struct {
		name, needs string
		command     func(t *testing.T) []string
	}{
		{"npm", npmFolder + "/node_modules/sms-segments-calculator", func(t *testing.T) []string { return []string{node(t), installed(t, channelNode)} }},
		{"PyPI", channelPython, func(t *testing.T) []string {
			return []string{installed(t, ".venv/channel/bin/python"), installed(t, channelPython)}
		}},
	} {
		t.Run(judge.name, func(t *testing.T) {
			t.Parallel()
			installed(t, judge.needs)
			command := judge.command(t)
			for seed := range uint64(seeds) { // not all at once: they are 200 MB
				askChannelJudge(t, formattedTexts(t, 99+seed, texts/seeds), command...)
			}
		})
	}
}

// The library of Standard Webhooks for npm takes what we sign, and nothing that was
// changed.
func TestWebhookByNPM(t *testing.T) {
	t.Parallel()
	needPeers(t)
	installed(t, npmFolder+"/node_modules/standardwebhooks")
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	type request struct {
		Secret  string            `json:"secret"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
		OK      bool              `json:"ok"`
	}
	var asked []request
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		headers := map[string]string{}
		for name := range r.Header {
			headers[name] = r.Header.Get(name)
		}
		asked = append(asked, request{secret, headers, string(body), true}, request{secret, headers, string(body) + " ", false})
	}))
	defer srv.Close()
	s, err := deliver.New(deliver.Config{URL: config.Secret(srv.URL), Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, text := range []string{"Hi", "Grüße 👋", strings.Repeat("a", 100_000)} {
		content, _ := json.Marshal(map[string]string{"content": text})
		body, err := deliver.Body(deliver.Content{Response: content}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if r := s.Send(t.Context(), deliver.Message{ID: deliver.NewID(), Body: body}); r.Status != deliver.Delivered {
			t.Errorf("got %+v", r)
		}
	}
	in, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node(t), installed(t, npmFolder+"/webhook_judge.mjs"))
	cmd.Stdin = bytes.NewReader(in)
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "6 as expected" {
		t.Errorf("%v: %s", err, out)
	}
}
