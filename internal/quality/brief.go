package quality

import "sluice/internal/turn/chat"

// brief is the request of a turn and the form of its answer. It does not change during the turn.
type brief struct {
	req     *chat.Request
	channel string
	form    Formatter // nil: the answer stays as it is
	before  string    // of the style
	after   string
	locale  string
}

// briefOf returns the brief of a request. Its channel decides which form and which criteria there
// are.
func (c *Checker) briefOf(req *chat.Request) brief {
	b := brief{req: req, channel: req.Channel, form: c.formatterOf(req), locale: req.Locale}
	if b.channel == "" {
		b.channel = web
	}
	if c.cfg.Style != nil {
		b.before, b.after = c.cfg.Style.Around(req, b.channel)
		b.locale = c.cfg.Style.Language(req)
	}
	return b
}
