package gemini

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/turn/chat"
)

// readAlike reads chunks as those of one answer, and each by itself, and compares. It returns how
// many were read by the form of the one before.
func readAlike(t *testing.T, chunks ...string) (alike int) {
	t.Helper()
	var (
		p        pattern
		by, fast decoder
		got      rawChunk
	)
	for _, text := range chunks {
		data := []byte(text)
		var want rawChunk
		wanted := by.decode(data, &want)
		if p.readAlike(&fast, bytes.Clone(data), &got) {
			alike++
			if wanted != nil {
				t.Fatalf("%q is read: %+v, and is faulty: %v", chunks, got, wanted)
			}
			if diff := cmp.Diff(want, got, compareRaw); diff != "" {
				t.Fatalf("%q (-decoded +read):\n%s", chunks, diff)
			}
			continue
		}
		if wanted == nil {
			if err := fast.decode(data, &got); err != nil {
				t.Fatal(err)
			}
			p.learnForm(&fast, data, &got)
		}
	}
	return alike
}

// chunkOf is a chunk as the API writes it.
func chunkOf(text, candidates, total string) string {
	return `{"candidates": [{"content": {"parts": [{"text": "` + text + `"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 161,"candidatesTokenCount": ` + candidates +
		`,"totalTokenCount": ` + total + `,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 161}],"cachedContentTokenCount": 7,"thoughtsTokenCount": 45},"modelVersion": "gemini-2.5","responseId": "a1\"2"}`
}

func TestChunksAlike(t *testing.T) {
	t.Parallel()
	first := chunkOf("Hello", "3", "209")
	const bare = `{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`
	for _, tt := range []struct {
		name, chunk string
		alike       int
	}{
		{"the same", first, 1},
		{"another text", chunkOf(`a \"word\" \\`, "3", "209"), 1},
		{"no text", chunkOf("", "3", "209"), 1},
		{"escapes", chunkOf(`\u00e4\n\ud83d\ude00 é`, "3", "209"), 1},
		{"figures", chunkOf("a", "41", "0"), 1},
		{"a digit less", chunkOf("a", "3", "9"), 1},
		{"half a pair", chunkOf(`\ud83d`, "3", "209"), 0},
		{"no UTF-8", chunkOf("\xff", "3", "209"), 0},
		{"a line break in the text", chunkOf("a\nb", "3", "209"), 0},
		{"an unknown escape", chunkOf(`\x`, "3", "209"), 0},
		{"a leading zero", chunkOf("a", "03", "209"), 0},
		{"a fraction", chunkOf("a", "3", "209.5"), 0},
		{"a power", chunkOf("a", "3e2", "209"), 0},
		{"less than none", chunkOf("a", "-3", "209"), 0},
		{"no number", chunkOf("a", "null", "209"), 0},
		{"a long number", chunkOf("a", "1", "1234567890123456"), 0},
		{"a long one that nobody counts", chunkOf("a", "1", "123456789012345"), 1},
		{"more than is a figure", chunkOf("a", "2147483648", "209"), 0},
		{"as much as is one", chunkOf("a", "2147483647", "209"), 1},
		{"another model", strings.Replace(first, "gemini-2.5", "gemini-3.5", 1), 0},
		{"another id", strings.Replace(first, `a1\"2`, `a2\"2`, 1), 0},
		{"a space more", first + " ", 0},
		{"a member more", strings.Replace(first, `"}],"role"`, `","thought": true}],"role"`, 1), 0},
		{"a second part", strings.Replace(first, `"}],"role"`, `"},{"text": "b"}],"role"`, 1), 0},
		{"an end", strings.Replace(first, `"index": 0`, `"finishReason": "STOP","index": 0`, 1), 0},
		{"cut off", first[:len(first)-1], 0},
		{"cut off in the text", first[:60], 0},
		{"a quote that does not end it", chunkOf(`\`, "3", "209"), 0},
	} {
		if got := readAlike(t, first, tt.chunk, tt.chunk); got < tt.alike || tt.alike == 0 && got > 1 || tt.alike > 0 && got != 2 {
			t.Errorf("%s: %d were read by the form of the first", tt.name, got)
		}
		if tt.alike == 0 && readAlike(t, first, tt.chunk) > 0 {
			t.Errorf("%s: it was taken for alike", tt.name)
		}
	}
	for name, chunk := range map[string]string{
		"without usage":        bare,
		"in a list":            "[" + bare + "]",
		"a thought":            `{"candidates":[{"content":{"parts":[{"thought":true,"text":"a"}]}}]}`,
		"the text twice":       `{"candidates":[{"content":{"parts":[{"text":"b","text":"a"}]}}]}`,
		"two candidates":       `{"candidates":[{"content":{"parts":[{"text":"a"}]}},{"content":{"parts":[{"text":"b"}]}}]}`,
		"figures first":        `{"usageMetadata":{"promptTokenCount":5},` + bare[1:],
		"a figure twice":       bare[:len(bare)-1] + `,"usageMetadata":{"promptTokenCount":5,"promptTokenCount":6}}`,
		"figures of odd types": bare[:len(bare)-1] + `,"usageMetadata":{"promptTokenCount":"5","candidatesTokenCount":1.0,"thoughtsTokenCount":4294967296}}`,
		"a signature":          `{"candidates":[{"content":{"parts":[{"text":"a","thoughtSignature":"c2ln"}]}}]}`,
		"a call":               `{"candidates":[{"content":{"parts":[{"text":"a","functionCall":{"name":"f"}}]}}]}`,
		"a foreign part":       `{"candidates":[{"content":{"parts":[{"text":"a","executableCode":{}}]}}]}`,
		"a blocked prompt":     bare[:len(bare)-1] + `,"promptFeedback":{"blockReason":"SAFETY"}}`,
		"no text":              `{"candidates":[{"content":{"parts":[{"text":null}]}}]}`,
		"a long chunk":         bare[:len(bare)-1] + `,"x":"` + strings.Repeat("x", 2<<10) + `"}`,
	} {
		learnt := map[string]bool{"without usage": true, "in a list": true, "a thought": true, "the text twice": true, "a figure twice": true}
		if got := readAlike(t, chunk, chunk) == 1; got != learnt[name] {
			t.Errorf("%s: read by its form: %t", name, got)
		}
	}
}

// An answer whose chunks have nothing in common is not looked at for ever.
func TestChunksThatAreNeverAlike(t *testing.T) {
	t.Parallel()
	var chunks []string
	for i := range 16 {
		chunks = append(chunks, `{"candidates":[{"content":{"parts":[{"text":"a"}],"role":"`+strings.Repeat("m", i)+`"}}]}`)
	}
	last := chunks[len(chunks)-1]
	if got := readAlike(t, append(chunks, last, last)...); got != 0 {
		t.Errorf("%d chunks were still looked for", got)
	}
	some := append(chunks[:7:7], last, last)
	if got := readAlike(t, append(some, some...)...); got != 2 {
		t.Errorf("%d of twice two chunks were alike", got)
	}
}

// The answers that others recorded are read the same, and most of their chunks are alike.
func TestRecordedChunksAreAlike(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("../../../../shared/testdata/gemini/*.sse")
	if len(files) == 0 {
		t.Skip("the recordings in ../shared/testdata are not here")
	}
	alike, all := 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var chunks []string
		for line := range strings.Lines(string(text)) {
			if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
				chunks = append(chunks, data)
			}
		}
		alike += readAlike(t, chunks...)
		all += max(0, len(chunks)-1)
	}
	if alike < all*7/10 {
		t.Errorf("%d of %d chunks that follow another one were read by its form", alike, all)
	}
	t.Logf("figures: %d of %d chunks of recorded answers are like the one before", alike, all)
}

// chunksWith returns chunks with a text whose member, before the text or behind it, has each value.
func chunksWith(place string, values []string, behind bool) (chunks []string) {
	for _, value := range values {
		join := func(here, inner string) string {
			switch {
			case here != place:
				return "{" + inner + "}"
			case behind:
				return "{" + inner + "," + value + "}"
			}
			return "{" + value + "," + inner + "}"
		}
		content := `"content":` + join("content", `"parts":[`+join("part", `"text":"a"`)+`]`)
		chunks = append(chunks, join("chunk", `"candidates":[`+join("candidate", content)+`]`))
	}
	return chunks
}

// chunkMembers are the members that the decoder of chunks reads, each with values of which the
// first two differ in numbers alone, where they have any.
var chunkMembers = []struct {
	place  string
	values []string
}{
	{"chunk", []string{`"usageMetadata":{"promptTokenCount":4294967296}`, `"usageMetadata":{"promptTokenCount":12}`, `"usageMetadata":{"promptTokenCount":"1"}`}},
	{"chunk", []string{`"usageMetadata":{"candidatesTokenCount":99999999999,"thoughtsTokenCount":1}`, `"usageMetadata":{"candidatesTokenCount":1,"thoughtsTokenCount":4294967296}`}},
	{"chunk", []string{`"usageMetadata":{"cachedContentTokenCount":4294967296}`, `"usageMetadata":{"cachedContentTokenCount":2}`, `"usageMetadata":{"toolUsePromptTokenCount":2}`}},
	{"chunk", []string{`"usageMetadata":{"promptTokenCount":1.0}`, `"usageMetadata":{"promptTokenCount":2.0}`, `"usageMetadata":1`}},
	{"chunk", []string{`"promptFeedback":{}`, `"promptFeedback":{"blockReason":"OTHER"}`}},
	{"chunk", []string{`"modelVersion":"m"`, `"modelVersion":"n"`, `"modelVersion":1`}},
	{"chunk", []string{`"error":null`, `"error":{"code":500}`}},
	{"candidate", []string{`"index":0`, `"index":1`, `"finishReason":"STOP"`}},
	{"part", []string{`"thought":true`, `"thought":false`, `"thoughtSignature":"c2ln"`}},
	{"content", []string{`"role":"model"`, `"role":"user"`}},
}

// A figure that cannot be read counts, wherever it stands: a chunk with another one is not like it.
func TestFiguresThatCannotBeReadCount(t *testing.T) {
	t.Parallel()
	for _, m := range chunkMembers {
		for _, behind := range []bool{false, true} {
			c := chunksWith(m.place, m.values, behind)
			readAlike(t, append(c, c...)...)
			readAlike(t, c[1], c[0], c[1], c[1])
		}
	}
}

// Whatever comes behind a chunk is read as if it came alone.
func FuzzChunksAlike(f *testing.F) {
	for _, m := range chunkMembers {
		for _, behind := range []bool{false, true} {
			c := chunksWith(m.place, m.values, behind)
			f.Add(c[0], c[1], c[len(c)-1])
		}
	}
	first := chunkOf("Hello", "3", "209")
	f.Add(first, chunkOf(`a \"word\"`, "41", "20"), first)
	f.Add(`{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`, `{"candidates":[{"content":{"parts":[{"text":"a\\"}]}}]}`, "")
	f.Add(first, first[:100], chunkOf("\xff", "03", "1e5"))
	f.Fuzz(func(t *testing.T, one, two, three string) { readAlike(t, one, two, three, one) })
}

// What a pattern knows of one answer says nothing of the next.
func TestPatternEndsWithItsAnswer(t *testing.T) {
	t.Parallel()
	a := newCodec(generation{}).NewAnswer().(*answer)
	var c chat.Chunk
	for range 2 {
		if err := a.Decode("", []byte(chunkOf("a", "1", "2")), &c); err != nil {
			t.Fatal(err)
		}
	}
	if a.Reset(); a.alike.readAlike(new(decoder), []byte(chunkOf("a", "1", "2")), new(rawChunk)) {
		t.Error("it is read by the form of another answer's")
	}
}
