package dialect

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"sluice/internal/turn/chat"
)

// Handling says what becomes of something that a client may send.
type Handling string

// Ways to handle it. The zero value is to honour it.
const (
	honour Handling = ""
	Ignore Handling = "ignore" // as if it were not there; the reply names it
	Refuse Handling = "refuse" // the request is at fault
)

// UnmarshalText reads a word of the configuration file, whose schema has checked it.
func (h *Handling) UnmarshalText(text []byte) error {
	if *h = Handling(text); *h != Ignore && *h != Refuse {
		*h = honour
	}
	return nil
}

// Rules are the common settings of other protocols: the section dialects of the configuration file,
// and history. The zero value is the default.
type Rules struct {
	Instructions Handling `key:"instructions"`
	ClientTools  Handling `key:"client_tools"`
	// MessageChars bounds an input in code points; 0: chat.DefaultLine. An earlier message that
	// is longer is cut.
	MessageChars int `key:"message_chars"`
	// Body bounds a body in bytes; 0: 1 MiB.
	Body    int64 `key:"body"`
	History chat.HistoryRules
	// Models are the names by which OpenAI's clients ask for agents and workflows: a name and
	// an id of either.
	Models map[string]string `key:"openai/models"`
	// Stored says that turns are kept.
	Stored bool
}

// DefaultModel is the name of the model that stands for the default agent or the router, for
// OpenAI's clients.
const DefaultModel = "sluice"

// DefaultBody bounds a body where no setting says it, in bytes.
const DefaultBody = 1 << 20

// MaxBody returns the bound of a body.
func (r *Rules) MaxBody() int64 { return cmp.Or(r.Body, DefaultBody) }

// Talk has the client's messages and tools, for Rules.Compose.
type Talk struct {
	Messages []chat.ClientMessage
	// Counted is as in chat.Gatherer.
	Counted bool
	// Optional says that a request without earlier messages brings no history: a memory of the
	// conversation counts then.
	Optional bool
	// Root is the JSON pointer of the messages.
	Root string
	// Instructions come in front of those in Messages. They may be empty.
	Instructions string
	Tools        []chat.ClientTool
	Choice       chat.ToolChoice
	// NoTools says that the turn calls none of the client's tools: they are left out.
	NoTools bool
	// MaxTokens and Stop are as in chat.Application.
	MaxTokens int
	Stop      []string
}

// hasContent says whether an application asks for anything.
func hasContent(app *chat.Application) bool {
	return app.Instructions != "" || app.MaxTokens > 0 || len(app.Stop) > 0 || len(app.Tools) > 0 || len(app.Continues) > 0 || len(app.Ignored) > 0
}

// Compose makes a turn of the client's messages, in req, and adds their faults to e. A request that
// answers a question (Exchange.Approval) does not need it.
func (r *Rules) Compose(req *chat.Request, t Talk, e *chat.ValidationError) {
	app := &chat.Application{MaxTokens: t.MaxTokens, Stop: t.Stop}
	tools := r.clientTools(&t, app, e)
	g := chat.Gatherer{Root: t.Root, Counted: t.Counted, MaxInput: r.MessageChars}
	if t.Instructions != "" {
		t.Messages = append([]chat.ClientMessage{{Speaker: chat.SpeakerApplication, Text: t.Instructions, At: t.Root}}, t.Messages...)
	}
	c := g.Gather(t.Messages, e)
	r.addInstructions(c.Instructions, t.Root, app, e)
	if len(e.Fields) > 0 {
		return
	}
	app.Tools, app.Choice, app.Continues = tools, t.Choice, c.Continues
	if t.NoTools {
		app.Tools, app.Choice = nil, chat.ToolChoice{}
	}
	req.Input = c.Input
	rules := r.History
	rules.Message = r.MessageChars
	rules.Bring(req, c.Earlier, !t.Optional || len(c.Earlier) > 0)
	if hasContent(app) {
		req.App = app
	}
}

// addInstructions adds the application's instructions, as far as the operator allows.
func (r *Rules) addInstructions(text, at string, app *chat.Application, e *chat.ValidationError) {
	switch {
	case text == "":
	case r.Instructions == Refuse:
		e.Add(at, &chat.FieldError{Code: chat.CodeUnsupported, Message: "holds instructions, which this gateway does not take"})
	case r.Instructions == Ignore:
		app.Ignored = append(app.Ignored, "instructions")
	default:
		app.Instructions = text
	}
}

// clientTools returns the client's tools that count.
func (r *Rules) clientTools(t *Talk, app *chat.Application, e *chat.ValidationError) []chat.ClientTool {
	switch {
	case len(t.Tools) == 0:
	case r.ClientTools == Refuse:
		e.Add("/tools", &chat.FieldError{Code: chat.CodeUnsupported, Message: "this gateway takes no tools of clients"})
	case r.ClientTools == Ignore:
		app.Ignored = append(app.Ignored, "tools")
	default:
		return t.Tools
	}
	return nil
}

// ConversationID makes a conversation_id of a client's own id of a conversation. A valid id stays
// as it is; another one gets a prefix or is hashed. Empty stays empty. An id of more than 512 bytes
// is at fault.
func ConversationID(own, at string, e *chat.ValidationError) string {
	id, wrong := chat.ConversationIDOf(own)
	e.Add(at, wrong)
	return id
}

// IgnoredHeader is the header of a reply that names members of the request which count for
// nothing.
const IgnoredHeader = "X-Sluice-Ignored"

// AddIgnored adds names to the header of a reply. Names that are not tokens are left out: a client
// may have made them up.
func AddIgnored(h http.Header, names []string) {
	var all []string
	if given := h.Get(IgnoredHeader); given != "" {
		all = strings.Split(given, ", ")
	}
	for _, name := range names {
		if chat.Token(name, 1, 64) && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	if len(all) > 0 {
		h.Set(IgnoredHeader, strings.Join(all, ", "))
	}
}
