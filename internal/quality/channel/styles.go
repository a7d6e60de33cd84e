package channel

// InlineStyles returns the value of each style attribute that a page of an e-mail can
// have: who shows one under a content policy may allow these and no others.
func InlineStyles() []string {
	all := []string{styleBody, styleCode, styleBrand, stylePre, styleQuote, styleQuoted, styleWide, styleTable}
	for _, align := range alignments {
		all = append(all, styleHeader+align, styleCell+align)
	}
	return all
}
