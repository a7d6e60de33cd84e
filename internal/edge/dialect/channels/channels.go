// Package channels words a text for where it is read, without a turn:
// POST /channels/{channel}/format, and the list of channels.
package channels

import (
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/quality/channel"
	"sluice/internal/quality/style"
	"sluice/internal/turn/chat"
)

// Bounds of a text that is to be formatted.
const (
	maxFormatText = 65_536 // characters
	maxFormatBody = 512 << 10
)

// Channels is what the endpoints go by. It may be used and set at the same time: a request
// keeps the channels that it began with.
type Channels struct{ now atomic.Pointer[known] }

// known is one state of what is configured. It does not change.
type known struct {
	names      []string // in the order of the list
	formatters map[string]*channel.Formatter
	style      *style.Guide // what stands around texts; nil: nothing
	checks     Checks
}

// Checks is what GET /channels says of the checks of answers.
type Checks struct {
	Mode     string   `json:"mode"`
	Drafts   string   `json:"drafts"`
	Channels []string `json:"channels"` // for which the mode holds; New and Set make all of none
}

// New returns the built-in channels and own ones, which may replace built-in ones. guide
// says what stands around texts; nil: nothing does.
func New(own []channel.Spec, guide *style.Guide, checks Checks) *Channels {
	c := new(Channels)
	c.Set(own, guide, checks)
	return c
}

// Set replaces all that New was given, as when the configuration file was read again.
func (c *Channels) Set(own []channel.Spec, guide *style.Guide, checks Checks) {
	specs := channel.ByName(own)
	k := &known{names: channel.Names(specs), formatters: map[string]*channel.Formatter{}, style: guide, checks: checks}
	if len(checks.Channels) == 0 {
		k.checks.Channels = k.names
	}
	for name, spec := range specs {
		k.formatters[name] = channel.New(spec)
	}
	c.now.Store(k)
}

// Routes implements dialect.Dialect. Formatting runs no turn, but is admitted like one: a
// text of 64 KiB costs as much as a short turn.
func (c *Channels) Routes() []dialect.Route {
	return []dialect.Route{{Methods: []string{http.MethodPost}, Path: "/channels/{channel}/format", MaxBody: maxFormatBody, Use: dialect.Read, Open: c.format}}
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
	formatted, err := f.Format(r.Context(), in)
	if err != nil {
		return nil, fault.Cause(r.Context())
	}
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
			kind, parameters, err := mime.ParseMediaType(item)
			if err == nil && kind == want && !isZero(parameters["q"]) {
				return true
			}
		}
	}
	return false
}

// isZero says whether a weight is 0, by which a type is refused (RFC 9110, section 12.4.2).
func isZero(weight string) bool {
	return weight != "" && strings.Trim(weight, "0.") == ""
}

// readFormat reads the body, which may name the user; all faults come at once, and are those
// that a turn's request has for the same.
func readFormat(body []byte) (in channel.Input, name string, err error) {
	v := new(fields)
	var ok bool
	if v.of, ok = chat.Members(body, []string{"text", "subject", "locale", "user_name"}, &v.faults); !ok {
		return in, "", &v.faults
	}
	in.Text = v.text()
	in.Subject = v.optional("subject", chat.CheckSubject)
	in.Locale = v.optional("locale", chat.CheckLocale)
	name = v.optional("user_name", chat.CheckUserName)
	if len(v.faults.Fields) > 0 {
		return in, "", &v.faults
	}
	return in, name, nil
}

// fields are the members of a body, and what is wrong with them.
type fields struct {
	of     map[string]jsontext.Value
	faults chat.ValidationError
}

// fault reports a fault. A field has one at most, the first.
func (v *fields) fault(at, code, message string) {
	v.faults.Add(at, &chat.FieldError{Code: code, Message: message})
}

// text returns the text that is to be worded. null counts as absent.
func (v *fields) text() string {
	raw, given := v.of["text"]
	if !given || raw.Kind() == 'n' {
		v.fault("/text", chat.CodeRequired, "is required")
		return ""
	}
	s := v.unquoted("text")
	switch {
	case strings.TrimSpace(s) == "":
		v.fault("/text", chat.CodeBlank, "must hold more than white space")
	case utf8.RuneCountInString(s) > maxFormatText:
		v.fault("/text", chat.CodeTooLong, "must have at most 65536 characters")
	}
	return s
}

// optional returns a member that check has made clean; null counts as absent.
func (v *fields) optional(name string, check func(string) (string, *chat.FieldError)) string {
	raw, given := v.of[name]
	if !given || raw.Kind() == 'n' {
		return ""
	}
	s, wrong := check(v.unquoted(name))
	v.faults.Add("/"+name, wrong)
	return s
}

// unquoted returns a member that is a string.
func (v *fields) unquoted(name string) string {
	if v.of[name].Kind() != '"' {
		v.fault("/"+name, chat.CodeWrongType, "must be a string")
		return ""
	}
	b, _ := jsontext.AppendUnquote(nil, v.of[name]) // chat.Members takes no other
	return string(b)
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
		Quality  Checks          `json:"quality"`
	}{[]listedChannel{}, k.checks}
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
