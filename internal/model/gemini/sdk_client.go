package gemini

import (
	"context"
	"net/http"

	"github.com/google/generative-ai-go/genai"
	"google.golang.org/api/option"
	"google.golang.org/api/option/internaloption"
	gtransport "google.golang.org/api/transport/grpc"
	"google.golang.org/grpc"
)

// newSDKClient returns a client of the SDK that talks through t and holds nothing
// that would have to be closed. It never learns the key: the one that it is given
// keeps it from looking for credentials.
//
// Left alone, v0.20.1 also dials generativelanguage.googleapis.com over gRPC, for its cache
// client, and keeps trying; Client.Close forgets that connection and its goroutines. So it gets
// a pool without connections, which google.golang.org/api accepts with an HTTP client only
// unchecked.
func newSDKClient(t http.RoundTripper) (*genai.Client, error) {
	return genai.NewClient(context.Background(),
		option.WithAPIKey("unused"),
		option.WithHTTPClient(&http.Client{Transport: t}),
		gtransport.WithConnPool(noConns{}),
		internaloption.SkipDialSettingsValidation(),
	)
}

// noConns is a pool of gRPC connections that nobody may call.
type noConns struct{ grpc.ClientConnInterface }

// It satisfies the SDK's interface. Over REST nobody asks.
func (noConns) Conn() *grpc.ClientConn { return nil }

// It satisfies the SDK's interface.
func (noConns) Num() int { return 0 }

// It satisfies the SDK's interface: there is nothing to close.
func (noConns) Close() error { return nil }
