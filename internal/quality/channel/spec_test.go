package channel_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/quality/channel"
)

// The six channels are as docs/channel-rules.md has them.
func TestBuiltin(t *testing.T) {
	t.Parallel()
	everything := channel.FeatureNames()
	want := []channel.Spec{
		{
			Name: "web", Form: "web", Markdown: true, Features: channel.FeaturesOf(everything...), SupportsEmojis: true, Emojis: "keep",
			Split: "paragraph", Indicator: "none", Greeting: true,
		},
		{
			Name: "sms", Form: "sms", MaxLength: 1600, MaxSegments: 10, SupportsEmojis: true, Emojis: "auto",
			Split: "sentence", Indicator: "prefix", MaxParts: 3, Transliterate: true,
		},
		{
			Name: "whatsapp", Form: "whatsapp", MaxLength: 4096, Markdown: true,
			Features: channel.FeaturesOf("bold", "italic", "strike", "code", "lists", "quotes"), SupportsEmojis: true, Emojis: "keep",
			Split: "paragraph", Indicator: "prefix", MaxParts: 5, Greeting: true,
		},
		{
			Name: "teams", Form: "teams", MaxLength: 28672, Markdown: true,
			Features: channel.FeaturesOf("bold", "italic", "headers", "tables", "links", "code", "lists", "quotes"), SupportsEmojis: true, Emojis: "keep",
			Split: "paragraph", Indicator: "prefix", MaxParts: 5, Greeting: true,
		},
		{
			Name: "email", Form: "email", Markdown: true, Features: channel.FeaturesOf(everything...), SupportsEmojis: true, Emojis: "keep",
			Split: "paragraph", Indicator: "none", Greeting: true,
		},
		{
			Name: "plain", Form: "plain", SupportsEmojis: true, Emojis: "keep",
			Split: "paragraph", Indicator: "none", Greeting: true,
		},
	}
	if diff := cmp.Diff(want, channel.Builtin()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, spec := range channel.Builtin() {
		if faults := spec.Check(); len(faults) > 0 {
			t.Errorf("%s: %v", spec.Name, faults)
		}
		if got := channel.New(spec).Spec(); !cmp.Equal(got, spec) {
			t.Errorf("the formatter of %s goes by %+v", spec.Name, got)
		}
	}
}

// What can be extended is each built-in channel, in the schema of the configuration file and in the
// OpenAPI file.
func TestSchemasNameAllChannels(t *testing.T) {
	t.Parallel()
	want := channel.Names(nil)
	slices.Sort(want)
	for path, enum := range map[string]string{
		"section.json":              `"extends": \{.*"enum": \[(.*)\]`,
		"../../../web/openapi.yaml": `(?s)\n        extends:\n          type: string\n          enum: \[([^\n]*)\]\n`,
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(enum).FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s says nothing of what can be extended", path)
		}
		got := strings.Split(strings.ReplaceAll(string(found[1]), `"`, ""), ", ")
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// A feature is a name of the configuration; others count for nothing.
func TestFeaturesOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want []string }{
		{nil, []string{}},
		{[]string{"bold"}, []string{"bold"}},
		{[]string{"quotes", "bold", "bold"}, []string{"bold", "quotes"}},
		{[]string{"Bold", "blink", ""}, []string{}},
		{channel.FeatureNames(), channel.FeatureNames()},
	} {
		if got := channel.FeaturesOf(tt.in...).Names(); !slices.Equal(got, tt.want) {
			t.Errorf("%q is %q, want %q", tt.in, got, tt.want)
		}
	}
	bits := map[channel.Features]string{}
	for _, name := range channel.FeatureNames() {
		f := channel.FeaturesOf(name)
		if f == 0 || f&(f-1) != 0 || bits[f] != "" {
			t.Errorf("%s has the bits %b", name, f)
		}
		bits[f] = name
	}
}

// Each limit at its edge, by form: which keys are at fault.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		spec channel.Spec
		want []string
	}{
		{"no limit", channel.Spec{Form: channel.Plain}, nil},
		{"the least length", channel.Spec{Form: channel.Plain, MaxLength: 40}, nil},
		{"below the least length", channel.Spec{Form: channel.Plain, MaxLength: 39}, []string{"max_length"}},
		{"the least SMS", channel.Spec{Form: channel.SMS, MaxLength: 40, MaxSegments: 1, Emojis: channel.EmojisAuto}, nil},
		{"below the least SMS", channel.Spec{Form: channel.SMS, MaxLength: 39}, []string{"max_length"}},
		{"the least card", channel.Spec{Form: channel.Teams, MaxLength: 4096}, nil},
		{"below the least card", channel.Spec{Form: channel.Teams, MaxLength: 4095}, []string{"max_length"}},
		{"no limit of a card", channel.Spec{Form: channel.Teams}, nil},
		{"a length of an e-mail", channel.Spec{Form: channel.Email, MaxLength: 1000}, []string{"max_length"}},
		{"a length of the page", channel.Spec{Form: channel.Web, MaxLength: 1000}, []string{"max_length"}},
		{"segments of WhatsApp", channel.Spec{Form: channel.WhatsApp, MaxSegments: 1}, []string{"max_segments"}},
		{"auto on Teams", channel.Spec{Form: channel.Teams, Emojis: channel.EmojisAuto}, []string{"emojis"}},
		{"a number of emojis", channel.Spec{Form: channel.Teams, Emojis: channel.EmojisMax(3)}, nil},
		{"several faults", channel.Spec{Form: channel.Plain, MaxLength: 1, MaxSegments: 1, Emojis: channel.EmojisAuto}, []string{"emojis", "max_length", "max_segments"}},
	} {
		var got []string
		for key, text := range tt.spec.Check() {
			if text == "" {
				t.Errorf("%s: the fault of %s has no text", tt.name, key)
			}
			got = append(got, key)
		}
		if slices.Sort(got); !slices.Equal(got, tt.want) {
			t.Errorf("%s: faults of %q, want %q", tt.name, got, tt.want)
		}
	}
}

// An own channel stands in place of a built-in one of its name, and behind them else.
func TestByName(t *testing.T) {
	t.Parallel()
	all := channel.ByName([]channel.Spec{
		{Name: "zebra", Form: channel.Plain},
		{Name: channel.SMS, Form: channel.SMS, MaxParts: 7},
		{Name: "bot", Form: channel.WhatsApp},
	})
	if len(all) != 8 || all[channel.SMS].MaxParts != 7 || all["zebra"].Form != channel.Plain || all[channel.Email].Form != channel.Email {
		t.Errorf("got %+v", all)
	}
	want := []string{"web", "sms", "whatsapp", "teams", "email", "plain", "bot", "zebra"}
	if got := channel.Names(all); !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	all["own"] = channel.Spec{}
	if again := channel.ByName(nil); len(again) != 6 || again[channel.SMS].MaxParts != 3 {
		t.Errorf("the next map is %+v", again)
	}
}

// How many emojis stay, and which are listed, under each policy.
func TestEmojiPolicies(t *testing.T) {
	t.Parallel()
	const in = "😀 one 👍 two 😀 three ✅"
	for _, tt := range []struct {
		policy   string
		supports bool
		want     string
		used     []string
	}{
		{channel.EmojisKeep, true, in, []string{"😀", "👍", "✅"}},
		{"", true, in, []string{"😀", "👍", "✅"}},
		{channel.EmojisKeep, false, "one two three", []string{}},
		{channel.EmojisStrip, true, "one two three", []string{}},
		{channel.EmojisMax(0), true, "one two three", []string{}},
		{channel.EmojisMax(1), true, "😀 one two three", []string{"😀"}},
		{channel.EmojisMax(3), true, "😀 one 👍 two 😀 three", []string{"😀", "👍"}},
		{channel.EmojisMax(20), true, in, []string{"😀", "👍", "✅"}},
	} {
		spec := builtin(channel.Plain)
		spec.Emojis, spec.SupportsEmojis = tt.policy, tt.supports
		r := format(spec, in)
		if r.Content != tt.want || !slices.Equal(r.Metadata.EmojisUsed, tt.used) || r.Metadata.EmojisUsed == nil {
			t.Errorf("%q, %t: %q with %q, want %q with %q", tt.policy, tt.supports, r.Content, r.Metadata.EmojisUsed, tt.want, tt.used)
		}
	}
}
