package a2a

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"sluice/dialect"
	"sluice/fault"
)

// textOnly returns the media types that go in and come out.
func textOnly() []string { return []string{"text/plain"} }

// openCard shows the card of the team, or of one agent.
func (s *Server) openCard(r *http.Request, _ []byte) (*dialect.Exchange, error) {
	card, err := s.card(r)
	if err != nil {
		return nil, err
	}
	body, err := s.render(r, card)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	reply := &dialect.Reply{Body: body, Header: http.Header{"Etag": {tag}, "Cache-Control": {"max-age=60"}}}
	if matches(r.Header.Values("If-None-Match"), tag) {
		reply.Status, reply.Body = http.StatusNotModified, nil
	}
	return &dialect.Exchange{Reply: reply}, nil
}

// matches says whether one of the tags that a client has is tag.
func matches(given []string, tag string) bool {
	for _, line := range given {
		for text := range strings.SplitSeq(line, ",") {
			if text = strings.TrimPrefix(strings.TrimSpace(text), "W/"); text == tag || text == "*" {
				return true
			}
		}
	}
	return false
}

// render writes a card, with the members of 0.3 if that is served.
func (s *Server) render(r *http.Request, card *sdk.AgentCard) ([]byte, error) {
	if !s.cfg.V03 {
		return json.Marshal(card)
	}
	return a2av0.NewStaticAgentCardProducer(card).(a2asrv.AgentCardJSONProducer).CardJSON(r.Context())
}

// card is the card of the whole gateway, made for each request: the team may
// change, and the URLs in it are those by which the client came.
func (s *Server) card(r *http.Request) (*sdk.AgentCard, error) {
	card := &sdk.AgentCard{
		Name: "Sluice", Description: "A team of agents behind one address.", Version: s.cfg.Version,
		DefaultInputModes: textOnly(), DefaultOutputModes: textOnly(),
		Capabilities: sdk.AgentCapabilities{Streaming: true},
	}
	if s.cfg.Native != nil {
		card.Capabilities.Extensions = []sdk.AgentExtension{extension()}
	}
	base := s.base(r) + root
	if id := r.PathValue("id"); id != "" {
		a, ok := s.exposed(id)
		if !ok {
			return nil, &fault.Error{Type: fault.NotFound, Message: "There is no such agent"}
		}
		base += "/agents/" + id
		card.Name, card.Description = a.Name, a.Description
		card.Skills = []sdk.AgentSkill{a.skill()}
	} else {
		card.Skills = s.skills()
	}
	card.SupportedInterfaces = s.interfaces(base)
	return card, nil
}

// base is where the client reaches the gateway.
func (s *Server) base(r *http.Request) string {
	if s.cfg.PublicURL != "" {
		return s.cfg.PublicURL
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// interfaces lists the protocols, each with its URL, the preferred one first.
func (s *Server) interfaces(base string) []*sdk.AgentInterface {
	list := []*sdk.AgentInterface{
		sdk.NewAgentInterface(base, sdk.TransportProtocolJSONRPC),
		sdk.NewAgentInterface(base+rest, sdk.TransportProtocolHTTPJSON),
	}
	if s.cfg.V03 {
		for _, i := range list[:2] {
			old := *i
			old.ProtocolVersion = "0.3"
			list = append(list, &old)
		}
	}
	return list
}

// skills are those of the agents that the team's router may choose.
func (s *Server) skills() []sdk.AgentSkill {
	list := []sdk.AgentSkill{}
	for _, a := range s.agents() {
		if a.Routable && a.Exposed {
			list = append(list, a.skill())
		}
	}
	if len(list) == 0 {
		list = append(list, sdk.AgentSkill{ID: "chat", Name: "Chat", Description: "Answers requests in natural language.", Tags: []string{"chat"}})
	}
	return list
}

// skill shows an agent as a skill. A2A wants a tag at least, so an agent
// without capabilities gets its id.
func (a Agent) skill() sdk.AgentSkill {
	tags := a.Capabilities
	if len(tags) == 0 {
		tags = []string{a.ID}
	}
	return sdk.AgentSkill{ID: a.ID, Name: a.Name, Description: a.Description, Tags: tags, Examples: a.Examples}
}
