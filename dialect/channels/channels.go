// Package channels words a text for where it is read, without a turn:
// POST /channels/{channel}/format, and the list of channels.
package channels

import (
	"errors"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/channel"
	"sluice/chat"
	"sluice/dialect"
	"sluice/fault"
	"sluice/quality/style"
)

// Bounds of a text that is to be formatted.
const (
	maxFormatText = 65_536 // characters
	maxFormatBody = 512 << 10
	maxSubject    = 200 // characters
	maxUserName   = 64
)

// Channels is what the endpoints go by. It may be used and set at the same time: a request
// keeps the channels that it began with.
type Channels struct{ now atomic.Pointer[known] }

// known is one state of what is configured. It does not change.
type known struct {
	names      []string // in the order of the list
	formatters map[string]*channel.Formatter
	style      *style.Guide // what stands around texts; nil: nothing
}

// New returns the built-in channels and own ones, which may replace built-in ones. guide
// says what stands around texts; nil: nothing does.
func New(own []channel.Spec, guide *style.Guide) *Channels {
	c := new(Channels)
	c.Set(own, guide)
	return c
}

// Set replaces all that New was given, as when the configuration file was read again.
func (c *Channels) Set(own []channel.Spec, guide *style.Guide) {
	specs := channel.ByName(own)
	k := &known{names: channel.Names(specs), formatters: map[string]*channel.Formatter{}, style: guide}
	for name, spec := range specs {
		k.formatters[name] = channel.New(spec)
	}
	c.now.Store(k)
}

// Routes implements dialect.Dialect. Formatting runs no turn, but is admitted like one: a
// text of 64 KiB costs as much as a short turn.
func (c *Channels) Routes() []dialect.Route {
	return []dialect.Route{{Methods: []string{http.MethodPost}, Path: "/channels/{channel}/format", MaxBody: maxFormatBody, Open: c.format}}
}

// format answers POST /channels/{channel}/format.
func (c *Channels) format(r *http.Request, body []byte) (*dialect.Exchange, error) {
	k := c.now.Load()
	f, ok := k.formatters[r.PathValue("channel")]
	if !ok {
		return nil, &fault.Error{Type: fault.NotFound, Message: "There is no such channel; GET /channels lists them"}
	}
	in, name, err := readFormat(body)
	if err != nil {
		return nil, err
	}
	reader := style.Reader{Locale: in.Locale, Name: name, Frames: f.Spec().Greeting}
	in.Before, in.After = k.style.Frame(reader)
	in.Locale = k.style.Language(reader)
	in.RequestID = chat.RequestID(r.Context())
	in.At = time.Now().Truncate(time.Millisecond)
	formatted := f.Format(in)
	if f.Spec().Form == channel.Email && accepts(r, "message/rfc822") {
		message, err := formatted.MIME(in.At)
		return &dialect.Exchange{Reply: &dialect.Reply{ContentType: "message/rfc822", Body: message}}, err
	}
	text, err := json.Marshal(formatted)
	return &dialect.Exchange{Reply: dialect.JSON(text)}, err
}

// accepts says whether the client names a type among those that it accepts.
func accepts(r *http.Request, want string) bool {
	for _, line := range r.Header.Values("Accept") {
		for item := range strings.SplitSeq(line, ",") {
			if kind, _, err := mime.ParseMediaType(item); err == nil && kind == want {
				return true
			}
		}
	}
	return false
}

// readFormat reads the body, which may name the user; all faults come at once.
func readFormat(body []byte) (in channel.Input, name string, err error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(body, &members); err != nil {
		return in, "", unreadableJSON(err)
	}
	v := &formatFields{members: members}
	in.Text = v.text("text", true, maxFormatText)
	in.Subject = v.text("subject", false, maxSubject)
	in.Locale = v.text("locale", false, 35)
	name = v.text("user_name", false, 4*maxUserName)
	if in.Locale != "" && !chat.IsLanguageTag(in.Locale) {
		v.fault("locale", chat.CodeInvalidFormat, "must be a language tag such as en or pt-BR")
	}
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, name))
	if n := utf8.RuneCountInString(name); n > maxUserName {
		v.fault("user_name", chat.CodeTooLong, "must have at most 64 characters")
	}
	if len(v.faults) > 0 {
		return in, "", &chat.ValidationError{Fields: v.faults}
	}
	return in, name, nil
}

// unreadableJSON tells what is wrong with a document as a whole.
func unreadableJSON(err error) error {
	code, message := chat.CodeInvalidJSON, "is not valid JSON, or not an object"
	if errors.Is(err, jsontext.ErrDuplicateName) {
		code, message = chat.CodeDuplicateKey, "a key is given more than once"
	}
	return &chat.ValidationError{Fields: []chat.FieldError{{Code: code, Message: message}}}
}

// formatFields reads texts out of an object.
type formatFields struct {
	members map[string]jsontext.Value
	faults  []chat.FieldError
}

// fault reports a fault of one field. All of a request are told at once.
func (v *formatFields) fault(name, code, message string) {
	v.faults = append(v.faults, chat.FieldError{Field: "/" + name, Code: code, Message: message})
}

// text returns a member of 1 to most characters. null counts as absent.
func (v *formatFields) text(name string, required bool, most int) string {
	raw, given := v.members[name]
	if !given || raw.Kind() == 'n' {
		if required {
			v.fault(name, chat.CodeRequired, "is required")
		}
		return ""
	}
	var s string
	if raw.Kind() != '"' || json.Unmarshal(raw, &s) != nil {
		v.fault(name, chat.CodeWrongType, "must be a string")
		return ""
	}
	switch n := utf8.RuneCountInString(s); {
	case required && strings.TrimSpace(s) == "":
		v.fault(name, chat.CodeBlank, "must not be blank")
	case n > most:
		v.fault(name, chat.CodeTooLong, "is too long")
	}
	return s
}

// listedChannel is a specification with all its defaults.
type listedChannel struct {
	Name             string           `json:"name"`
	Extends          string           `json:"extends"`
	MaxLength        *int             `json:"max_length"`
	MaxSegments      *int             `json:"max_segments"`
	SupportsMarkdown bool             `json:"supports_markdown"`
	Features         []string         `json:"markdown_features"`
	SupportsEmojis   bool             `json:"supports_emojis"`
	Emojis           string           `json:"emojis"`
	Split            channel.Strategy `json:"split_strategy"`
	Indicator        string           `json:"indicator"`
	MaxParts         int              `json:"max_parts"`
	Transliterate    bool             `json:"transliterate"`
	Greeting         bool             `json:"greeting"`
}

// List is the reply to GET /channels, which is encoded as JSON.
func (c *Channels) List() any {
	k := c.now.Load()
	list := struct {
		Channels []listedChannel `json:"channels"`
	}{Channels: []listedChannel{}}
	for _, name := range k.names {
		list.Channels = append(list.Channels, listed(k.formatters[name].Spec()))
	}
	return list
}

// InlineStyles are the style attributes of what is worded and shown as HTML. A page that
// shows it must allow them.
func (c *Channels) InlineStyles() []string { return channel.InlineStyles() }

// listed is what GET /channels says of a channel. Limits that it does not have
// are null.
func listed(s channel.Spec) listedChannel {
	l := listedChannel{
		Name: s.Name, Extends: s.Form, SupportsMarkdown: s.Markdown, Features: slices.Clone(s.Features.Names()), SupportsEmojis: s.SupportsEmojis,
		Emojis: s.Emojis, Split: s.Split, Indicator: string(s.Indicator), MaxParts: max(s.MaxParts, 1), Transliterate: s.Transliterate, Greeting: s.Greeting,
	}
	if s.MaxLength > 0 {
		l.MaxLength = &s.MaxLength
	}
	if s.MaxSegments > 0 {
		l.MaxSegments = &s.MaxSegments
	}
	return l
}
