// Package channeltest makes Markdown in many scripts, and knows which words and links a
// form of it must have. It is for tests.
package channeltest

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// Text is Markdown, with the words and links that any form of it must have.
type Text struct {
	Script   string
	Markdown string
	Words    []string
	Links    []string
}

// script is words, and how a sentence of them ends.
type script struct {
	name  string
	words []string
	space string
	stop  string
}

// splitWords returns the words of s.
func splitWords(s string) []string { return strings.Fields(s) }

// allScripts are thirteen; their words hold conjuncts, marks and joiners.
func allScripts() []script {
	return []script{
		{"Latin", splitWords("report budget meeting tomorrow Friday invoice café naïve request answer week hours logged done"), " ", ". "},
		{"German", splitWords("Straße Größe Übung fällig Rechnung Änderung heute morgen zwölf Bücher Maß Termin"), " ", ". "},
		{"Vietnamese", splitWords("tiếng Việt được người những không với cũng việc phải ngày tháng"), " ", ". "},
		{"Greek", splitWords("καλημέρα κόσμε αναφορά αύριο τιμολόγιο ώρες εβδομάδα ΣΥΝΟΛΟ"), " ", ". "},
		{"Cyrillic", splitWords("отчёт завтра встреча счёт часов неделя ёлка Київ їжа сьогодні"), " ", ". "},
		{"Arabic", splitWords("السلام عليكم تقرير اليوم غدًا الاجتماع مُحَمَّد ساعة أسبوع"), " ", "؟ "},
		{"Hebrew", splitWords("שלום דוח היום מחר פגישה שָׁבוּעַ שעות חשבונית"), " ", ". "},
		{"Devanagari", splitWords("नमस्ते रिपोर्ट आज बैठक क्षेत्र श्रीमान त्रुटि सप्ताह घंटे"), " ", "। "},
		{"Bengali", splitWords("ঝিল্লি নমস্কার প্রতিবেদন আজ সভা ক্ষেত্র সপ্তাহ"), " ", "। "},
		{"Thai", splitWords("สวัสดี รายงาน วันนี้ ประชุม ชั่วโมง สัปดาห์ ใบแจ้งหนี้"), "", " "},
		{"Han", splitWords("报告 会议 明天 发票 小时 一周 预算 完成 请求"), "", "。"},
		{"Japanese", splitWords("レポート 会議 明日 請求書 時間 がんばって ﾊﾟﾋﾟ 予算"), "", "。"},
		{"Hangul", splitWords("보고서 회의 내일 청구서 시간 예산 완료 각종"), " ", ". "},
	}
}

// sampleEmojis are ones of one character and of several that belong together.
func sampleEmojis() []string {
	return splitWords("😀 ✅ ⚠️ 👍🏽 👨‍👩‍👧‍👦 🇩🇪 ❤️ 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ©")
}

// Generator makes texts; one of the same seed makes the same ones.
type Generator struct {
	r       *rand.Rand
	scripts []script
}

// New returns a Generator.
func New(seed uint64) *Generator {
	return &Generator{rand.New(rand.NewPCG(seed, 15)), allScripts()}
}

// Text returns a text of one script, with words of another one at times.
func (g *Generator) Text() Text {
	w := &writer{g: g, s: g.scripts[g.r.IntN(len(g.scripts))]}
	w.t.Script = w.s.name
	for range 1 + g.r.IntN(8) {
		w.writeBlock()
	}
	w.t.Markdown = w.b.String()
	return w.t
}

// writer writes one text and records the words and links that must stay.
type writer struct {
	g *Generator
	s script
	b strings.Builder
	t Text
}

// randomBelow returns a number below n.
func (w *writer) randomBelow(n int) int { return w.g.r.IntN(n) }

// writeBlock writes one block, of any kind that models write.
func (w *writer) writeBlock() {
	switch w.randomBelow(9) {
	case 0:
		w.b.WriteString(strings.Repeat("#", 1+w.randomBelow(4)) + " ")
		w.writeSentence(3)
		w.b.WriteString("\n\n")
	case 1:
		w.writeList("- ")
	case 2:
		w.writeList("1. ")
	case 3:
		w.writeTable()
	case 4:
		w.b.WriteString("> ")
		w.writeSentence(12)
		w.b.WriteString("\n\n")
	case 5:
		w.writeFence()
	default:
		for range 1 + w.randomBelow(6) {
			w.writeSentence(4 + w.randomBelow(20))
		}
		w.b.WriteString("\n\n")
	}
}

// writeList writes a list.
func (w *writer) writeList(mark string) {
	for range 1 + w.randomBelow(5) {
		w.b.WriteString(mark)
		w.writeSentence(1 + w.randomBelow(8))
		w.b.WriteString("\n")
	}
	w.b.WriteString("\n")
}

// writeTable writes a table.
func (w *writer) writeTable() {
	columns := 2 + w.randomBelow(4)
	for r := range 2 + w.randomBelow(4) {
		for range columns {
			w.b.WriteString("| ")
			w.writeWord()
			w.b.WriteString(" ")
		}
		w.b.WriteString("|\n")
		if r == 0 {
			w.b.WriteString(strings.Repeat("|---", columns) + "|\n")
		}
	}
	w.b.WriteString("\n")
}

// writeFence writes a block of code.
func (w *writer) writeFence() {
	w.b.WriteString("```go\n")
	for i := range 1 + w.randomBelow(6) {
		name := "value_" + strconv.Itoa(w.randomBelow(1000))
		w.t.Words = append(w.t.Words, name)
		w.b.WriteString(strings.Repeat("  ", i%3) + name + " := *p[" + strconv.Itoa(i) + "]\n")
	}
	w.b.WriteString("```\n\n")
}

// writeSentence writes a sentence of spans.
func (w *writer) writeSentence(words int) {
	for i := range words {
		if i > 0 {
			w.b.WriteString(w.s.space)
		}
		w.writeSpan()
	}
	w.b.WriteString(w.s.stop)
}

// writeSpan writes a word, mostly without markup.
func (w *writer) writeSpan() {
	switch w.randomBelow(24) {
	case 0:
		w.writeMarked("**")
	case 1:
		w.writeMarked("*")
	case 2:
		w.writeMarked("~~")
	case 3:
		w.writeMarked("`")
	case 4:
		w.writeLink()
	case 5:
		all := sampleEmojis()
		w.b.WriteString(" " + all[w.randomBelow(len(all))] + " ")
	case 6:
		number := strconv.Itoa(w.randomBelow(1_000_000)) + "." + strconv.Itoa(10+w.randomBelow(89))
		w.t.Words = append(w.t.Words, number)
		w.b.WriteString(" " + number + " ")
	case 7:
		phone := "+49 30 " + strconv.Itoa(100_000+w.randomBelow(899_999))
		w.t.Words = append(w.t.Words, phone)
		w.b.WriteString(" " + phone + " ")
	case 8:
		w.b.WriteString("“")
		w.writeWord()
		w.b.WriteString("”")
	default:
		w.writeWord()
	}
}

// writeMarked writes a word between marks. In scripts without spaces there must be
// one for the marks to count.
func (w *writer) writeMarked(mark string) {
	if w.s.space == "" {
		w.b.WriteString(" ")
	}
	w.b.WriteString(mark)
	w.writeWord()
	w.b.WriteString(mark)
	if w.s.space == "" {
		w.b.WriteString(" ")
	}
}

// writeLink writes a link or a bare address.
func (w *writer) writeLink() {
	url := "https://example.com/a_b/" + strconv.Itoa(w.randomBelow(10_000)) + "?q=" + strconv.Itoa(w.randomBelow(100)) + "&x=y"
	w.t.Links = append(w.t.Links, url)
	if w.randomBelow(2) == 0 {
		w.b.WriteString(" " + url + " ")
		return
	}
	w.b.WriteString("[")
	w.writeWord()
	w.b.WriteString("](" + url + ")")
}

// writeWord writes a word, now and then of another script.
func (w *writer) writeWord() {
	s := w.s
	if w.randomBelow(20) == 0 {
		s = w.g.scripts[w.randomBelow(len(w.g.scripts))]
	}
	word := s.words[w.randomBelow(len(s.words))]
	w.t.Words = append(w.t.Words, word)
	w.b.WriteString(word)
}
