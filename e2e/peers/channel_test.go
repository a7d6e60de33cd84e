package peers

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/base/config"
	"sluice/internal/quality/channel"
	"sluice/internal/quality/channel/channeltest"
	"sluice/internal/quality/deliver"
)

// What judges the forms of channels: Twilio's counter, Microsoft's parser of cards, marked
// and the graphemes of ICU in one script, another counter in the other.
const (
	channelNode   = npmFolder + "/channel_judge.mjs"
	channelPython = "e2e/peers/testdata/channel_judge.py"
)

// formatted is a text as a judge gets it.
type formatted struct {
	Name    string            `json:"name"`
	Content string            `json:"content"`
	Words   []string          `json:"words,omitempty"`  // that none of may be missing; links too
	Bodies  []string          `json:"bodies,omitempty"` // of parts, without their indicators and marks
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

// formattedTexts are generated texts in all channels. What can be cut is cut in each other
// text, and fits as a whole, as far as it does, in the ones between them.
func formattedTexts(t *testing.T, seed uint64, n int) (all []formatted) {
	t.Helper()
	specs := channel.ByName(nil)
	small, lines, cut, short := specs[channel.SMS], specs[channel.Plain], specs[channel.Teams], specs[channel.WhatsApp]
	small.MaxSegments, small.MaxParts = 3, 20
	lines.MaxLength, lines.MaxParts = 300, 20
	cut.MaxLength, cut.MaxParts = 8000, 20
	short.MaxLength, short.MaxParts = 400, 20
	var formatters [][2]*channel.Formatter
	for _, pair := range [][2]channel.Spec{
		{small, specs[channel.SMS]}, {short, specs[channel.WhatsApp]}, {cut, specs[channel.Teams]}, {lines, specs[channel.Plain]}, {specs[channel.Email], specs[channel.Email]},
	} {
		formatters = append(formatters, [2]*channel.Formatter{channel.New(pair[0]), channel.New(pair[1])})
	}
	g := channeltest.New(seed)
	for i := range n {
		text := g.Text()
		for _, pair := range formatters {
			f := pair[i%2]
			r := channeltest.Format(f, channel.Input{Text: text.Markdown})
			one := judged(t, strconv.FormatUint(seed, 10)+"/"+strconv.Itoa(i)+"/"+r.Channel, f.Spec(), r)
			if !r.Metadata.Truncated {
				one.Words = slices.Concat(text.Words, text.Links)
			}
			if f.Spec().Form == channel.WhatsApp {
				for i, word := range one.Words {
					one.Words[i] = unmarked(word)
				}
			}
			all = append(all, one)
		}
	}
	return all
}

// unmarked takes out what WhatsApp marks a text up with: a part closes and opens again what
// the whole has open where it is cut.
func unmarked(s string) string {
	return strings.NewReplacer("*", "", "_", "", "~", "", "`", "", ">", "", "\u2060", "").Replace(s)
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
		parts = []channel.Part{{Content: r.Content, ChannelFields: r.ChannelFields}}
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
	if spec.Form == channel.WhatsApp {
		f.Content = unmarked(f.Content)
		for i, body := range f.Bodies {
			f.Bodies[i] = unmarked(body)
		}
	}
	return f
}

// channelJudge is another program that judges texts, a line each.
type channelJudge struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	ended chan int // gets the number of verdicts
	said  bytes.Buffer
}

// beginJudge starts one. What it finds wrong fails the test.
func beginJudge(t *testing.T, command ...string) *channelJudge {
	t.Helper()
	j := &channelJudge{t: t, cmd: exec.CommandContext(t.Context(), command[0], command[1:]...), ended: make(chan int, 1)}
	j.cmd.Stderr = &j.said
	in, err := j.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := j.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := j.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	j.in = in
	go func() {
		verdicts := 0
		for dec := json.NewDecoder(out); ; verdicts++ {
			var v struct {
				Name   string
				Faults []string
			}
			if dec.Decode(&v) != nil {
				break
			}
			if len(v.Faults) > 0 {
				t.Errorf("%s: %.2000q", v.Name, v.Faults)
			}
		}
		j.ended <- verdicts
	}()
	return j
}

// end waits for the verdicts on so many texts.
func (j *channelJudge) end(texts int) {
	j.t.Helper()
	_ = j.in.Close()
	verdicts := <-j.ended
	if err := j.cmd.Wait(); err != nil || verdicts != texts {
		j.t.Errorf("the judge: %v, %d verdicts on %d texts\n%s", err, verdicts, texts, &j.said)
	}
}

// By the counts and parsers of others, parts fit, cards are cards, e-mails are read as they
// were written, parts joined are the whole, no grapheme is parted, and no word or link is
// missing: of 10,000 texts in thirteen scripts, in all channels.
func TestFormsOfChannels(t *testing.T) {
	t.Parallel()
	needPeers(t)
	installed(t, npmFolder+"/node_modules/sms-segments-calculator")
	texts, seeds := 10_000, 20
	if raceEnabled { // the judges see no race; the run without the detector has them all
		texts, seeds = 500, 1
	}
	judges := []*channelJudge{
		beginJudge(t, node(t), installed(t, channelNode)),
		beginJudge(t, installed(t, ".venv/channel/bin/python"), installed(t, channelPython)),
	}
	judged := 0
	for seed := range uint64(seeds) { // not all at once: they are 300 MB
		var lines bytes.Buffer
		enc := json.NewEncoder(&lines)
		all := formattedTexts(t, 99+seed, texts/seeds)
		for i := range all {
			if err := enc.Encode(&all[i]); err != nil {
				t.Fatal(err)
			}
		}
		judged += len(all)
		var wg sync.WaitGroup
		for _, j := range judges {
			wg.Go(func() { _, _ = j.in.Write(lines.Bytes()) }) // one that has died is reported at the end
		}
		wg.Wait()
	}
	for _, j := range judges {
		j.end(judged)
	}
	t.Logf("figures: %d judges on %d forms of %d texts", len(judges), judged, texts)
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
