package mcpclient

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

// Long data in base64 is left out of a result, wherever it stands, if its type is known and is not
// text. Words, texts, and tokens of no known form stay: a model must be able to pass them on.
func TestDataIsLeftOut(t *testing.T) {
	t.Parallel()
	image := []byte("\x89PNG\r\n\x1a\n")
	for i := range 120 << 10 {
		image = append(image, byte(i*7+i>>8))
	}
	data := base64.StdEncoding.EncodeToString(image)
	sealed := make([]byte, 17<<10)
	for i := range sealed {
		sealed[i] = byte(i*31 + i>>7 + 200)
	}
	token, words := base64.StdEncoding.EncodeToString(sealed), base64.StdEncoding.EncodeToString([]byte(strings.Repeat("plain words, 1 ", 200)))
	small := base64.StdEncoding.EncodeToString(image[:600])
	quoted := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	long := strings.Repeat("x", 5000)
	for content, want := range map[string]string{
		`{"content":[{"type":"image","mimeType":"image/png","data":"` + data + `"}],"structuredContent":{"image":"` + data + `","n":1}}`: "[image/png, 120 KB, left out]\n{\"image\":\"[image/png, 120 KB, left out]\",\"n\":1}",
		`{"content":[{"type":"text","text":"see data:image/jpeg;base64,` + data + ` there"}]}`:                                           "see [image/jpeg, 120 KB, left out] there",
		`{"content":[{"type":"text","text":` + quoted(`{"shot":"data:image/png;charset=x;base64,`+data+`"}`) + `}]}`:                     `{"shot":"[image/png, 120 KB, left out]"}`,
		`{"content":[{"type":"text","text":"` + token + `"}]}`:                                                                           token,
		`{"content":[{"type":"text","text":"data:text/csv;base64,` + token + `"}]}`:                                                      "data:text/csv;base64," + token,
		`{"content":[{"type":"text","text":"data:;base64,` + token + `"}]}`:                                                              "data:;base64," + token,
		`{"content":[{"type":"text","text":"` + words + `"}]}`:                                                                           words,
		`{"content":[{"type":"text","text":"` + small + `"}]}`:                                                                           small,
		`{"content":[{"type":"text","text":"` + long + `"}]}`:                                                                            long,
	} {
		r := readResult([]byte(content))
		if got := r.renderText(); got != want {
			t.Errorf("%.120s… is shown as %.300q; want %.300q", content, got, want)
		}
	}
}
