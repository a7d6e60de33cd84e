package channel_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/quality/channel"
	"sluice/internal/quality/channel/channeltest"
)

func readSection(content string) (specs []channel.Spec, faults []string) {
	r := file.Table{channel.Section(&specs, nil)}.Read("f.yaml", []byte(content), config.Sources{Lookup: func(string) (string, bool) { return "", false }})
	for _, f := range r.Faults {
		faults = append(faults, f.Name+": "+f.Message)
	}
	return specs, faults
}

func TestSection(t *testing.T) {
	t.Parallel()
	specs, faults := readSection("channels:\n  sms: {max_segments: 2, transliterate: false}\n  bot: {extends: whatsapp, max_length: 1600, markdown_features: [bold], emojis: 'max:2', indicator: suffix}\n")
	if faults != nil {
		t.Fatal(faults)
	}
	sms, bot := channel.ByName(nil)[channel.SMS], channel.ByName(nil)[channel.WhatsApp]
	sms.MaxSegments, sms.Transliterate = 2, false
	bot.Name, bot.MaxLength, bot.Features, bot.Emojis, bot.Indicator = "bot", 1600, channel.FeaturesOf("bold"), "max:2", channel.Suffix
	if diff := cmp.Diff([]channel.Spec{sms, bot}, specs); diff != "" {
		t.Errorf("specs (-want +got):\n%s", diff)
	}
	if got := format(bot, "**a** _b_ 😀 😁 😂").Content; got != "*a* b 😀 😁 " && got != "*a* b 😀 😁" {
		t.Errorf("got %q", got)
	}
}

// null removes a limit, and a channel that gets one gets parts.
func TestSectionLimits(t *testing.T) {
	t.Parallel()
	specs, faults := readSection("channels:\n  sms: {max_segments: null, max_length: null}\n  plain: {max_length: 100}\n  note: {extends: plain, max_length: 100, max_parts: 2}\n")
	sms, plain := channel.ByName(nil)[channel.SMS], channel.ByName(nil)[channel.Plain]
	sms.MaxSegments, sms.MaxLength, plain.MaxLength, plain.MaxParts = 0, 0, 100, 5
	note := plain
	note.Name, note.MaxParts = "note", 2
	if diff := cmp.Diff([]channel.Spec{sms, plain, note}, specs); diff != "" || faults != nil {
		t.Errorf("%q, specs (-want +got):\n%s", faults, diff)
	}
	if _, faults := readSection("channels: {web: {max_length: 100}}"); len(faults) != 1 {
		t.Errorf("a limit of web: %q", faults)
	}
}

func TestSectionFaults(t *testing.T) {
	t.Parallel()
	_, got := readSection(`channels:
  fax: {max_parts: 2}
  sms: {max_length: 39, send: {url: x}}
  email: {max_length: 100}
  teams: {max_length: 1000, max_parts: 21}
  plain: {emojis: auto, max_segments: 2}
  web: {deliver: {url: x, secret: y}}
  bot: {extends: web, deliver: {url: x, secret: y}}
`)
	want := []string{
		"f.yaml:2:8: /channels/fax/extends: is required: it is none of web, sms, whatsapp, teams, email, plain",
		"f.yaml:3:21: /channels/sms/max_length: must be from 40 to 1000000",
		"f.yaml:3:25: /channels/sms/send: there is no such key; there are channel, deliver, emojis, extends, greeting, indicator, markdown_features, max_length, max_parts, max_segments, split_strategy, supports_emojis, supports_markdown, transliterate",
		"f.yaml:4:23: /channels/email/max_length: belongs to sms, whatsapp, teams, plain: this channel is never split",
		"f.yaml:5:23: /channels/teams/max_length: must be 4096 or more: an indicator and a character must fit",
		"f.yaml:5:40: /channels/teams/max_parts: must be from 1 to 20",
		"f.yaml:6:19: /channels/plain/emojis: auto belongs to sms",
		"f.yaml:6:39: /channels/plain/max_segments: belongs to sms",
		"f.yaml:7:9: /channels/web/deliver: belongs to sms, whatsapp, teams, email, plain: web has no messages",
		"f.yaml:8:23: /channels/bot/deliver: belongs to sms, whatsapp, teams, email, plain: web has no messages",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// What stands around a text is no part of a subject that is made of it, and the brand of
// neither; emojis of a subject are counted like those of the text.
func TestFramedMail(t *testing.T) {
	t.Parallel()
	spec := builtin(channel.Email)
	spec.Brand, spec.Emojis = "Blue & Co", channel.EmojisMax(1)
	r := channeltest.Format(channel.New(spec), channel.Input{Text: "# Yes 😀 😀\n\nmore", Before: "Hi Ann!\n\n", After: "\n\nBye"})
	if r.Subject != "Yes 😀" || r.Content != "Hi Ann!\n\nYes 😀\nmore\n\nBye" || !strings.Contains(r.HTML, ">Blue &amp; Co</p>\n<p dir=\"ltr\">Hi Ann!</p>") {
		t.Errorf("got %q, %q, %s", r.Subject, r.Content, r.HTML)
	}
}

// A channel may name itself once more, and no other one.
func TestChannelNamesItself(t *testing.T) {
	t.Parallel()
	if specs, faults := readSection("channels:\n  sms: {channel: sms, max_length: 1600}\n"); len(specs) != 1 || faults != nil {
		t.Errorf("%v %q", specs, faults)
	}
	if _, faults := readSection("channels:\n  sms: {channel: email}\n"); len(faults) != 1 || !strings.Contains(faults[0], "/channels/sms/channel: must be sms") {
		t.Errorf("%q", faults)
	}
}
