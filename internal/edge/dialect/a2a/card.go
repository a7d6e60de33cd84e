package a2a

import (
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
)

// textOnly returns the media types that go in and come out.
func textOnly() []string { return []string{"text/plain"} }

// openCard shows the card of the team, or of one agent.
func (s *Server) openCard(r *http.Request, _ []byte) (*dialect.Exchange, error) {
	card, err := s.newCard(r)
	if err != nil {
		return nil, err
	}
	body, err := s.renderCard(r, card)
	if err != nil {
		return nil, err
	}
	tag := dialect.Tag(body)
	reply := &dialect.Reply{Body: body, Header: http.Header{"Etag": {tag}, "Cache-Control": {"max-age=60"}}}
	if dialect.IsFresh(r, tag) {
		reply.Status, reply.Body = http.StatusNotModified, nil
	}
	return &dialect.Exchange{Reply: reply}, nil
}

// renderCard writes a card, with the members of 0.3 if that is served.
func (s *Server) renderCard(r *http.Request, card *sdk.AgentCard) ([]byte, error) {
	if !s.cfg.V03 {
		return json.Marshal(card)
	}
	both, err := a2av0.NewStaticAgentCardProducer(card).(a2asrv.AgentCardJSONProducer).CardJSON(r.Context())
	if err != nil || len(card.SecuritySchemes) == 0 {
		return both, err
	}
	return withSchemes(both, card.SecuritySchemes)
}

// withSchemes adds the members of 1.0 to the schemes of a card of 0.3, since that library gives
// them other names.
func withSchemes(card []byte, schemes sdk.NamedSecuritySchemes) ([]byte, error) {
	own, err := json.Marshal(schemes)
	if err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	var now, added map[string]map[string]json.RawMessage
	if err := json.Unmarshal(card, &all); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(own, &now); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(all["securitySchemes"], &added); err != nil {
		return nil, err
	}
	for name, members := range now {
		maps.Copy(added[name], members)
	}
	if all["securitySchemes"], err = json.Marshal(added); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

// newCard makes a card for each request: the team may change, and the URLs are those that the
// client used.
func (s *Server) newCard(r *http.Request) (*sdk.AgentCard, error) {
	card := &sdk.AgentCard{
		Name: "Sluice", Description: "A team of agents behind one address.", Version: s.cfg.Version,
		DefaultInputModes: textOnly(), DefaultOutputModes: textOnly(),
		Capabilities: sdk.AgentCapabilities{Streaming: true},
	}
	if s.cfg.Native != nil {
		card.Capabilities.Extensions = []sdk.AgentExtension{describeExtension()}
	}
	base := s.baseURL(r) + root
	if id := r.PathValue("id"); id != "" {
		a, ok := s.exposedAgent(id)
		if !ok {
			return nil, &fault.Error{Type: fault.NotFound, Message: "There is no such agent"}
		}
		base += "/agents/" + id
		card.Name, card.Description = a.Name, a.Description
		card.Skills = []sdk.AgentSkill{a.toSkill()}
	} else {
		card.Skills = s.listSkills()
	}
	card.SupportedInterfaces = s.listInterfaces(base)
	s.cfg.Credentials.addSchemes(card)
	return card, nil
}

// addSchemes says in a card which credentials there are, any one of which suffices.
func (c *Credentials) addSchemes(card *sdk.AgentCard) {
	if c == nil {
		return
	}
	card.SecuritySchemes = sdk.NamedSecuritySchemes{"bearer": sdk.HTTPAuthSecurityScheme{Scheme: "Bearer"}}
	names := []sdk.SecuritySchemeName{"bearer"}
	if c.Keys {
		card.SecuritySchemes["apiKey"] = sdk.APIKeySecurityScheme{Location: sdk.APIKeySecuritySchemeLocationHeader, Name: "X-API-Key"}
		names = append(names, "apiKey")
	}
	for i, issuer := range c.Issuers {
		name := sdk.SecuritySchemeName("oidc")
		if i > 0 {
			name += sdk.SecuritySchemeName(strconv.Itoa(i + 1))
		}
		card.SecuritySchemes[name] = sdk.OpenIDConnectSecurityScheme{OpenIDConnectURL: strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration"}
		names = append(names, name)
	}
	for _, name := range names {
		card.SecurityRequirements = append(card.SecurityRequirements, sdk.SecurityRequirements{name: {}})
	}
}

// baseURL is where the client reaches the gateway.
func (s *Server) baseURL(r *http.Request) string {
	if s.cfg.PublicURL != "" {
		return s.cfg.PublicURL
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// listInterfaces lists the protocols, each with its URL, the preferred one first.
func (s *Server) listInterfaces(base string) []*sdk.AgentInterface {
	list := []*sdk.AgentInterface{
		sdk.NewAgentInterface(base, sdk.TransportProtocolJSONRPC),
		sdk.NewAgentInterface(base+restPath, sdk.TransportProtocolHTTPJSON),
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

// listSkills are those of the agents that the team's router may choose.
func (s *Server) listSkills() []sdk.AgentSkill {
	list := []sdk.AgentSkill{}
	for _, a := range s.teamAgents() {
		if a.Routable && a.Exposed {
			list = append(list, a.toSkill())
		}
	}
	if len(list) == 0 {
		list = append(list, sdk.AgentSkill{ID: "chat", Name: "Chat", Description: "Answers requests in natural language.", Tags: []string{"chat"}})
	}
	return list
}

// toSkill shows an agent as a skill. A2A wants a tag at least, so an agent
// without capabilities gets its id.
func (a Agent) toSkill() sdk.AgentSkill {
	tags := a.Capabilities
	if len(tags) == 0 {
		tags = []string{a.ID}
	}
	return sdk.AgentSkill{ID: a.ID, Name: a.Name, Description: a.Description, Tags: tags, Examples: a.Examples}
}
