package model

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// Merge merges patch into body, both of them JSON objects, by the rules of RFC 7396: objects are
// merged, null removes, and anything else replaces. Members that patch does not name keep their
// bytes and their order. It returns an error if either is not a JSON object.
func Merge(body, patch jsontext.Value) (jsontext.Value, error) {
	if patch.Kind() != '{' || !patch.IsValid() || !body.IsValid(tolerant) {
		return nil, errNoObject
	}
	return mergeObjects(body, patch), nil
}

var errNoObject = errors.New("no JSON object")

// mergeObjects is JSON Merge Patch (RFC 7396) for objects: null removes a member, an object
// is merged, anything else replaces.
func mergeObjects(body, patch jsontext.Value) jsontext.Value {
	members := Members(body)
	for _, change := range Members(patch) {
		switch change.Value.Kind() {
		case 'n':
			members = members.Without(change.Name)
		case '{':
			members.Set(change.Name, mergeObjects(members.Get(change.Name), change.Value))
		default:
			members.Set(change.Name, change.Value)
		}
	}
	return members.JSON()
}
