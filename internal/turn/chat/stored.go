package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A request is stored while its turn runs, for a process that takes it over. The stored form leaves
// out functions that a protocol's code has set, and the Facts.

// storedVersion is that of stored requests. Other versions are not read.
const storedVersion = 1

// plainRequest is a Request without its methods.
type plainRequest Request

// storedRequest is a Request as it is stored: its own members hide those that cannot be.
type storedRequest struct {
	Version int `json:"version"`
	*plainRequest
	Location string `json:",omitempty"`
	Facts    *bool  `json:",omitempty"`
}

// Stored returns the request as ReadStored takes it.
func (r *Request) Stored() ([]byte, error) {
	stored := storedRequest{Version: storedVersion, plainRequest: (*plainRequest)(r)}
	if r.Location != nil {
		stored.Location = r.Location.String()
	}
	return json.Marshal(stored)
}

// ReadStored reads a request that was stored.
func ReadStored(data []byte) (*Request, error) {
	r := new(Request)
	stored := storedRequest{plainRequest: (*plainRequest)(r)}
	err := json.Unmarshal(data, &stored)
	switch {
	case err != nil:
		return nil, err
	case stored.Version != storedVersion:
		return nil, fmt.Errorf("a request of version %d", stored.Version)
	case r.Input == "" && r.Resumed == nil:
		return nil, errors.New("a request that asks nothing")
	}
	if stored.Location != "" {
		r.Location, err = time.LoadLocation(stored.Location)
	}
	return r, err
}
