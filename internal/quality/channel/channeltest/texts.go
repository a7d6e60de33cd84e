// Package channeltest makes Markdown in many scripts, and knows which words and links a
// form of it must have. It is for tests.
package channeltest

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// Text is Markdown and what must be left of it in any channel.
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

// split returns the words of s.
func split(s string) []string { return strings.Fields(s) }

// scripts are thirteen; their words hold conjuncts, marks and joiners.
func scripts() []script {
	return []script{
		{"Latin", split("report budget meeting tomorrow Friday invoice café naïve request answer week hours logged done"), " ", ". "},
		{"German", split("Straße Größe Übung fällig Rechnung Änderung heute morgen zwölf Bücher Maß Termin"), " ", ". "},
		{"Vietnamese", split("tiếng Việt được người những không với cũng việc phải ngày tháng"), " ", ". "},
		{"Greek", split("καλημέρα κόσμε αναφορά αύριο τιμολόγιο ώρες εβδομάδα ΣΥΝΟΛΟ"), " ", ". "},
		{"Cyrillic", split("отчёт завтра встреча счёт часов неделя ёлка Київ їжа сьогодні"), " ", ". "},
		{"Arabic", split("السلام عليكم تقرير اليوم غدًا الاجتماع مُحَمَّد ساعة أسبوع"), " ", "؟ "},
		{"Hebrew", split("שלום דוח היום מחר פגישה שָׁבוּעַ שעות חשבונית"), " ", ". "},
		{"Devanagari", split("नमस्ते रिपोर्ट आज बैठक क्षेत्र श्रीमान त्रुटि सप्ताह घंटे"), " ", "। "},
		{"Bengali", split("ঝিল্লি নমস্কার প্রতিবেদন আজ সভা ক্ষেত্র সপ্তাহ"), " ", "। "},
		{"Thai", split("สวัสดี รายงาน วันนี้ ประชุม ชั่วโมง สัปดาห์ ใบแจ้งหนี้"), "", " "},
		{"Han", split("报告 会议 明天 发票 小时 一周 预算 完成 请求"), "", "。"},
		{"Japanese", split("レポート 会議 明日 請求書 時間 がんばって ﾊﾟﾋﾟ 予算"), "", "。"},
		{"Hangul", split("보고서 회의 내일 청구서 시간 예산 완료 각종"), " ", ". "},
	}
}

// emojis are ones of one character and of several that belong together.
func emojis() []string {
	return split("😀 ✅ ⚠️ 👍🏽 👨‍👩‍👧‍👦 🇩🇪 ❤️ 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ©")
}

// Generator makes texts; one of the same seed makes the same ones.
type Generator struct {
	r       *rand.Rand
	scripts []script
}

// New returns a Generator.
func New(seed uint64) *Generator {
	return &Generator{rand.New(rand.NewPCG(seed, 15)), scripts()}
}

// Text returns a text of one script, with words of another one at times.
func (g *Generator) Text() Text {
	w := &writer{g: g, s: g.scripts[g.r.IntN(len(g.scripts))]}
	w.t.Script = w.s.name
	for range 1 + g.r.IntN(8) {
		w.block()
	}
	w.t.Markdown = w.b.String()
	return w.t
}

// writer writes one text and notes what must be left of it.
type writer struct {
	g *Generator
	s script
	b strings.Builder
	t Text
}

// n returns a number below n.
func (w *writer) n(n int) int { return w.g.r.IntN(n) }

// block writes one block, of any kind that models write.
func (w *writer) block() {
	switch w.n(9) {
	case 0:
		w.b.WriteString(strings.Repeat("#", 1+w.n(4)) + " ")
		w.sentence(3)
		w.b.WriteString("\n\n")
	case 1:
		w.list("- ")
	case 2:
		w.list("1. ")
	case 3:
		w.table()
	case 4:
		w.b.WriteString("> ")
		w.sentence(12)
		w.b.WriteString("\n\n")
	case 5:
		w.fence()
	default:
		for range 1 + w.n(6) {
			w.sentence(4 + w.n(20))
		}
		w.b.WriteString("\n\n")
	}
}

// list writes a list.
func (w *writer) list(mark string) {
	for range 1 + w.n(5) {
		w.b.WriteString(mark)
		w.sentence(1 + w.n(8))
		w.b.WriteString("\n")
	}
	w.b.WriteString("\n")
}

// table writes a table.
func (w *writer) table() {
	columns := 2 + w.n(4)
	for r := range 2 + w.n(4) {
		for range columns {
			w.b.WriteString("| ")
			w.word()
			w.b.WriteString(" ")
		}
		w.b.WriteString("|\n")
		if r == 0 {
			w.b.WriteString(strings.Repeat("|---", columns) + "|\n")
		}
	}
	w.b.WriteString("\n")
}

// fence writes a block of code.
func (w *writer) fence() {
	w.b.WriteString("```go\n")
	for i := range 1 + w.n(6) {
		name := "value_" + strconv.Itoa(w.n(1000))
		w.t.Words = append(w.t.Words, name)
		w.b.WriteString(strings.Repeat("  ", i%3) + name + " := *p[" + strconv.Itoa(i) + "]\n")
	}
	w.b.WriteString("```\n\n")
}

// sentence writes a sentence of spans.
func (w *writer) sentence(words int) {
	for i := range words {
		if i > 0 {
			w.b.WriteString(w.s.space)
		}
		w.span()
	}
	w.b.WriteString(w.s.stop)
}

// span writes a word, mostly without markup.
func (w *writer) span() {
	switch w.n(24) {
	case 0:
		w.around("**")
	case 1:
		w.around("*")
	case 2:
		w.around("~~")
	case 3:
		w.around("`")
	case 4:
		w.link()
	case 5:
		all := emojis()
		w.b.WriteString(" " + all[w.n(len(all))] + " ")
	case 6:
		number := strconv.Itoa(w.n(1_000_000)) + "." + strconv.Itoa(10+w.n(89))
		w.t.Words = append(w.t.Words, number)
		w.b.WriteString(" " + number + " ")
	case 7:
		phone := "+49 30 " + strconv.Itoa(100_000+w.n(899_999))
		w.t.Words = append(w.t.Words, phone)
		w.b.WriteString(" " + phone + " ")
	case 8:
		w.b.WriteString("“")
		w.word()
		w.b.WriteString("”")
	default:
		w.word()
	}
}

// around writes a word between marks. In scripts without spaces there must be
// one for the marks to count.
func (w *writer) around(mark string) {
	if w.s.space == "" {
		w.b.WriteString(" ")
	}
	w.b.WriteString(mark)
	w.word()
	w.b.WriteString(mark)
	if w.s.space == "" {
		w.b.WriteString(" ")
	}
}

// link writes a link or a bare address.
func (w *writer) link() {
	url := "https://example.com/a_b/" + strconv.Itoa(w.n(10_000)) + "?q=" + strconv.Itoa(w.n(100)) + "&x=y"
	w.t.Links = append(w.t.Links, url)
	if w.n(2) == 0 {
		w.b.WriteString(" " + url + " ")
		return
	}
	w.b.WriteString("[")
	w.word()
	w.b.WriteString("](" + url + ")")
}

// word writes a word, now and then of another script.
func (w *writer) word() {
	s := w.s
	if w.n(20) == 0 {
		s = w.g.scripts[w.n(len(w.g.scripts))]
	}
	word := s.words[w.n(len(s.words))]
	w.t.Words = append(w.t.Words, word)
	w.b.WriteString(word)
}
