package channel

// InlineStyles returns all values that a style attribute of an e-mail's HTML can have. A content
// policy may allow exactly these.
func InlineStyles() []string {
	all := []string{styleBody, styleCode, styleBrand, stylePre, styleQuote, styleQuoted, styleWide, styleTable}
	for _, align := range alignments {
		all = append(all, styleHeader+align, styleCell+align)
	}
	return all
}
