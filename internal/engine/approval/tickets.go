package approval

// Tickets seal requests that clients send later, under the keys of approvals and another label:
// neither is taken for the other. They are safe for concurrent use.
type Tickets struct{ sealer sealer }

const (
	// ticketPrefix is the begin of a ticket.
	ticketPrefix = "slt1."
	// maxTicket is how many bytes a ticket may have: a URL has room for it in the head that servers
	// and proxies accept.
	maxTicket = 28 << 10
)

// NewTickets returns what seals under the first of keys and opens with all; without keys under a
// random one, which ends with the process.
func NewTickets(keys []Key) *Tickets {
	if len(keys) == 0 {
		keys = []Key{newKey()}
	}
	return &Tickets{sealer{keys: keys, label: ticketPrefix, max: maxTicket}}
}

// Seal makes a ticket of a text. Its error says that the ticket would be too long.
func (t *Tickets) Seal(text []byte) (string, error) { return t.sealer.seal(text) }

// Open returns the text of a ticket that one of the keys has sealed.
func (t *Tickets) Open(ticket string) ([]byte, error) {
	if len(ticket) > maxTicket {
		return nil, errToken
	}
	return t.sealer.open(ticket)
}
