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

// Channels has the configuration of the endpoints. It may be used and set at the same time: a
// request keeps the channels that it began with.
type Channels struct{ now atomic.Pointer[snapshot] }

// snapshot is one state of the configuration. It does not change.
type snapshot struct {
	names      []string // in the order of the list
	formatters map[string]*channel.Formatter
	style      *style.Guide // texts around an answer; may be nil
	checks     Checks
}

// Checks is what GET /channels says of the checks of answers.
type Checks struct {
	Mode     string   `json:"mode"`
	Drafts   string   `json:"drafts"`
	Channels []string `json:"channels"` // the mode holds for these; New and Set make all of none
}

// New returns the built-in channels and own ones. An own one may replace a built-in one. guide has
// the texts around an answer, and may be nil.
func New(own []channel.Spec, guide *style.Guide, checks Checks) *Channels {
	c := new(Channels)
	c.Set(own, guide, checks)
	return c
}

// Set replaces all that New was given, as when the configuration file was read again.
func (c *Channels) Set(own []channel.Spec, guide *style.Guide, checks Checks) {
	specs := channel.ByName(own)
	k := &snapshot{names: channel.Names(specs), formatters: map[string]*channel.Formatter{}, style: guide, checks: checks}
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
	return []dialect.Route{{Methods: []string{http.MethodPost}, Path: "/channels/{channel}/format", MaxBody: maxFormatBody, Use: dialect.Read, Open: c.formatText}}
}

// formatText answers POST /channels/{channel}/format.
func (c *Channels) formatText(r *http.Request, body []byte) (*dialect.Exchange, error) {
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
	if f.Spec().Form == channel.Email && acceptsType(r, "message/rfc822") {
		message, err := formatted.MIME(in.At)
		return &dialect.Exchange{Reply: &dialect.Reply{ContentType: "message/rfc822", Body: message}}, err
	}
	text, err := json.Marshal(formatted)
	return &dialect.Exchange{Reply: dialect.JSON(text)}, err
}

// acceptsType says whether the client names a type among those that it accepts.
func acceptsType(r *http.Request, want string) bool {
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

// isZero reports whether a weight is 0, so that the client refuses the type (RFC 9110, section
// 12.4.2).
func isZero(weight string) bool {
	return weight != "" && strings.Trim(weight, "0.") == ""
}

// readFormat reads the body and the user that it may name. The error has all faults, as for a
// turn's request.
func readFormat(body []byte) (in channel.Input, name string, err error) {
	v := new(fields)
	var ok bool
	if v.of, ok = chat.Members(body, []string{"text", "subject", "locale", "user_name"}, &v.faults); !ok {
		return in, "", &v.faults
	}
	in.Text = v.readText()
	in.Subject = v.readOptional("subject", chat.CheckSubject)
	in.Locale = v.readOptional("locale", chat.CheckLocale)
	name = v.readOptional("user_name", chat.CheckUserName)
	if len(v.faults.Fields) > 0 {
		return in, "", &v.faults
	}
	return in, name, nil
}

// fields are the members of a body, and their faults.
type fields struct {
	of     map[string]jsontext.Value
	faults chat.ValidationError
}

// addFault reports a fault. A field has one at most, the first.
func (v *fields) addFault(at, code, message string) {
	v.faults.Add(at, &chat.FieldError{Code: code, Message: message})
}

// readText returns the text that is to be worded. null counts as absent.
func (v *fields) readText() string {
	raw, given := v.of["text"]
	if !given || raw.Kind() == 'n' {
		v.addFault("/text", chat.CodeRequired, "is required")
		return ""
	}
	s := v.readString("text")
	switch {
	case strings.TrimSpace(s) == "":
		v.addFault("/text", chat.CodeBlank, "must hold more than white space")
	case utf8.RuneCountInString(s) > maxFormatText:
		v.addFault("/text", chat.CodeTooLong, "must have at most 65536 characters")
	}
	return s
}

// readOptional returns a member that check has made clean; null counts as absent.
func (v *fields) readOptional(name string, check func(string) (string, *chat.FieldError)) string {
	raw, given := v.of[name]
	if !given || raw.Kind() == 'n' {
		return ""
	}
	s, wrong := check(v.readString(name))
	v.faults.Add("/"+name, wrong)
	return s
}

// readString returns a member that is a string.
func (v *fields) readString(name string) string {
	if v.of[name].Kind() != '"' {
		v.addFault("/"+name, chat.CodeWrongType, "must be a string")
		return ""
	}
	b, _ := jsontext.AppendUnquote(nil, v.of[name]) // chat.Members has checked it
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

// List returns the reply to GET /channels, a value to encode as JSON.
func (c *Channels) List() any {
	k := c.now.Load()
	list := struct {
		Channels []listedChannel `json:"channels"`
		Quality  Checks          `json:"quality"`
	}{[]listedChannel{}, k.checks}
	for _, name := range k.names {
		list.Channels = append(list.Channels, listChannel(k.formatters[name].Spec()))
	}
	return list
}

// InlineStyles are the style attributes of texts that are shown as HTML. A page that shows it must
// allow them.
func (c *Channels) InlineStyles() []string { return channel.InlineStyles() }

// listChannel returns the entry of a channel in GET /channels. Limits that it does not have are
// null.
func listChannel(s channel.Spec) listedChannel {
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
