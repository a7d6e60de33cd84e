package chat

import (
	"encoding/json"
	"net/url"
)

// TicketQuery reads, from a JSON body, a request that a GET will send later. The rules are those of
// DecodeRequest, and a field that a GET cannot have is a fault. It returns the query of that GET
// and the request's idempotency key, which it does not check. key is nil without one.
func TicketQuery(body []byte) (query url.Values, key []string, err error) {
	if _, err := DecodeRequest(body); err != nil {
		return nil, nil, err
	}
	var members map[string]any
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, nil, err
	}
	e := new(ValidationError)
	query = ticketFields(members, e)
	switch given := members["idempotency_key"].(type) {
	case nil:
	case string:
		key = []string{given}
	default:
		e.addFault("/idempotency_key", CodeWrongType, "must be a string")
	}
	if len(e.Fields) > 0 {
		return nil, nil, e
	}
	return query, key, nil
}

// ticketFields returns the query for the fields of a request.
func ticketFields(members map[string]any, e *ValidationError) url.Values {
	query := url.Values{}
	for _, f := range fields {
		value := members[f.name]
		if value == nil {
			continue
		}
		if !f.query {
			e.addFault("/"+f.name, CodeNotAllowed, "has no place in a ticket: send the request by POST")
		} else {
			query.Set(f.name, queryText(value))
		}
	}
	return query
}

// queryText writes a value of a body as a query has it.
func queryText(value any) string {
	if flag, ok := value.(bool); ok {
		if flag {
			return "true"
		}
		return "false"
	}
	text, _ := value.(string) // fields of a GET are texts or flags
	return text
}
