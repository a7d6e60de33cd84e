package operate

import (
	"fmt"

	"sluice/internal/quality/style"
	"sluice/internal/turn/chat"
)

// CheckFormat wants of the flags of a command what POST /channels/{channel}/format wants of its
// fields, and makes them clean. An empty value counts as not given. The error names the flag.
func CheckFormat(reader *style.Reader, subject *string) error {
	for _, f := range []struct {
		flag  string
		value *string
		check func(string) (string, *chat.FieldError)
	}{
		{"subject", subject, chat.CheckSubject}, {"locale", &reader.Locale, chat.CheckLocale}, {"user-name", &reader.Name, chat.CheckUserName},
	} {
		if *f.value == "" {
			continue
		}
		clean, wrong := f.check(*f.value)
		if wrong != nil {
			return fmt.Errorf("--%s %s", f.flag, wrong.Message)
		}
		*f.value = clean
	}
	return nil
}
