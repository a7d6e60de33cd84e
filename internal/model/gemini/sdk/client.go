// Package sdk makes calls of the Gemini API through github.com/google/generative-ai-go.
//
// The SDK dates from before thinking models. Its types lack thoughts, signatures, ids and schemas.
// It puts the key into the URL, and takes a cut stream for a finished one. So the
// SDK never reaches the network. Its Transport gives each call to an Upstream of the caller,
// which sends the real request and reads the real reply. The SDK gets a slim copy of each
// chunk, and the caller adds the members that the SDK cannot carry:
//
//	client, err := sdk.New(sdk.Transport{})
//	answer, err := client.Open(ctx, &sdk.Request{Model: "m"}, upstream)
//	defer answer.Close()
//	parts, err := answer.Next() // of the first chunk that upstream returned
//
// The package does not import the codec of Gemini, so that a build can leave out both the
// package and the SDK.
package sdk

import (
	"context"
	"net/http"

	"github.com/google/generative-ai-go/genai"
	"google.golang.org/api/option"
	"google.golang.org/api/option/internaloption"
	gtransport "google.golang.org/api/transport/grpc"
	"google.golang.org/grpc"
)

// Client is a client of the SDK. It is safe for concurrent use, and nothing of it needs to be
// closed.
type Client struct{ genai *genai.Client }

// New returns a client that talks through t. Outside tests, t is a Transport. The SDK
// never learns the key of the API. Its own key keeps it from a search for credentials.
//
// Left alone, v0.20.1 also dials generativelanguage.googleapis.com over gRPC, for its cache
// client, and keeps trying. Client.Close forgets that connection and its goroutines. So it
// gets a pool without connections. google.golang.org/api accepts both a pool and an HTTP
// client only unchecked.
func New(t http.RoundTripper) (*Client, error) {
	c, err := genai.NewClient(context.Background(),
		option.WithAPIKey("unused"),
		option.WithHTTPClient(&http.Client{Transport: t}),
		gtransport.WithConnPool(noConns{}),
		internaloption.SkipDialSettingsValidation(),
	)
	return &Client{c}, err
}

// noConns is a pool of gRPC connections. Its connections must not be called.
type noConns struct{ grpc.ClientConnInterface }

// Conn satisfies the SDK's interface. Over REST the SDK does not call it.
func (noConns) Conn() *grpc.ClientConn { return nil }

// Num satisfies the SDK's interface. Over REST the SDK does not call it.
func (noConns) Num() int { return 0 }

// Close satisfies the SDK's interface. The pool does not hold connections.
func (noConns) Close() error { return nil }
