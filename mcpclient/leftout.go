package mcpclient

import (
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
)

// leastData is the least length of data that is left out, in bytes of base64.
const leastData = 1 << 10

// dataURL matches the head of a URL that holds data (RFC 2397).
var dataURL = regexp.MustCompile(`data:([\w.+-]+/[\w.+-]+)?(?:;[\w.+-]+=[\w.+-]+)*;base64,$`)

// dataHead is how long such a head is at most.
const dataHead = 200

// withoutData returns a text with a placeholder for each long piece of base64, be it in a URL, in
// JSON, or alone. A model cannot read it, and it would fill the result.
func withoutData(text string) string {
	if len(text) < leastData {
		return text
	}
	var out strings.Builder
	copied := 0
	for at := 0; at < len(text); {
		end := at
		for end < len(text) && isBase64[text[end]] {
			end++
		}
		if end-at < leastData {
			at = end + 1
			continue
		}
		from, data := at, text[at:end]
		mime := ""
		if m := dataURL.FindStringSubmatchIndex(text[max(copied, at-dataHead):at]); m != nil {
			head := text[max(copied, at-dataHead):at]
			from = at - len(head) + m[0]
			if m[2] >= 0 { // without a type it is text
				mime = head[m[2]:m[3]]
			}
		} else {
			mime = typeOf(data)
		}
		if mime != "" && !strings.HasPrefix(strings.ToLower(mime), "text/") {
			out.WriteString(text[copied:from] + notShown(mime, data))
			copied = end
		}
		at = end + 1
	}
	if copied == 0 {
		return text
	}
	return out.String() + text[copied:]
}

// isBase64 is true for the bytes of base64, in either alphabet.
var isBase64 = func() (is [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=") {
		is[c] = true
	}
	return is
}()

// typeOf returns the media type of base64, by its first bytes, or "" for bytes of an unknown form.
// Such bytes may be a cursor or a sealed token, and the model must be able to pass them on.
func typeOf(data string) string {
	classes := 0
	for _, class := range []string{"ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "0123456789"} {
		if strings.ContainsAny(data, class) {
			classes++
		}
	}
	if classes < 3 {
		return ""
	}
	encoding := base64.StdEncoding
	if strings.ContainsAny(data, "-_") {
		encoding = base64.URLEncoding
	}
	head, err := encoding.DecodeString(data[:leastData/2])
	if err != nil {
		return ""
	}
	mime, _, _ := strings.Cut(http.DetectContentType(head), ";")
	if mime == "application/octet-stream" {
		return ""
	}
	return mime
}

// notShown stands for data that is not shown: [image/png, 120 KB, left out].
func notShown(mime, data string) string { return "[" + mime + ", " + dataSize(data) + ", left out]" }
