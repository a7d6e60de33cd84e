package openai

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// worded is a refusal as one line: status, whether an SDK may send it again, and the error.
func worded(r dialect.Refusal) string {
	reply := refuse(r)
	return strings.Join([]string{http.StatusText(reply.Status), reply.Header.Get("X-Should-Retry"), string(reply.Body)}, " ")
}

// Before a turn begins: what an SDK would send again by itself it may, as nothing has begun.
func TestRefusals(t *testing.T) {
	t.Parallel()
	field := func(pointer, code string) dialect.Refusal {
		return dialect.Refusal{Status: 422, Fault: &fault.Error{Type: fault.Validation, Message: "m"}, Fields: []chat.FieldError{{Field: pointer, Code: code}, {Field: "/other", Code: "x"}}}
	}
	plain := func(status int, kind fault.Type) dialect.Refusal {
		return dialect.Refusal{Status: status, Fault: &fault.Error{Type: kind, Message: "m"}}
	}
	begins := plain(409, fault.DuplicateRequest)
	begins.Fault.RetryAfter = time.Second
	for _, tt := range []struct {
		refusal dialect.Refusal
		want    string
	}{
		{field("/messages/3/content", "blank"), `Bad Request false {"error":{"message":"m","type":"invalid_request_error","param":"messages.3.content","code":"blank"}}`},
		{field("/n", "unsupported"), `Bad Request false {"error":{"message":"m","type":"invalid_request_error","param":"n","code":"unsupported_parameter"}}`},
		{field("/tools", "unsupported"), `Bad Request false {"error":{"message":"m","type":"invalid_request_error","param":"tools","code":"unsupported_parameter"}}`},
		{field("/tools/0/type", "unsupported"), `Bad Request false {"error":{"message":"m","type":"invalid_request_error","param":"tools.0.type","code":"unsupported_value"}}`},
		{field("/messages", "too_long"), `Bad Request false {"error":{"message":"m","type":"invalid_request_error","param":"messages","code":"string_above_max_length"}}`},
		{field("/metadata/a~1b~0c", "wrong_type"), `Bad Request false {"error":{"message":"m","type":"invalid_request_error","param":"metadata.a/b~c","code":"wrong_type"}}`},
		{field("", "invalid_json"), `Bad Request false {"error":{"message":"m","type":"invalid_request_error","param":null,"code":"invalid_json"}}`},
		{plain(404, fault.NotFound), `Not Found false {"error":{"message":"m","type":"invalid_request_error","param":null,"code":"not_found"}}`},
		{plain(405, fault.MethodNotAllowed), `Method Not Allowed false {"error":{"message":"m","type":"invalid_request_error","param":null,"code":"method_not_allowed"}}`},
		{plain(422, fault.KeyReused), `Bad Request false {"error":{"message":"m","type":"invalid_request_error","param":null,"code":"key_reused"}}`},
		{plain(401, "unauthenticated"), `Unauthorized false {"error":{"message":"m","type":"authentication_error","param":null,"code":"unauthenticated"}}`},
		{plain(403, fault.OriginRefused), `Forbidden false {"error":{"message":"m","type":"permission_error","param":null,"code":"origin_refused"}}`},
		{plain(409, fault.DuplicateRequest), `Conflict false {"error":{"message":"m","type":"invalid_request_error","param":null,"code":"duplicate_request"}}`},
		{begins, `Conflict true {"error":{"message":"m","type":"invalid_request_error","param":null,"code":"duplicate_request"}}`},
		{plain(408, fault.RequestTimeout), `Request Timeout true {"error":{"message":"m","type":"invalid_request_error","param":null,"code":"request_timeout"}}`},
		{plain(429, "rate_limited"), `Too Many Requests true {"error":{"message":"m","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}}`},
		{plain(503, fault.Overloaded), `Service Unavailable true {"error":{"message":"m","type":"server_error","param":null,"code":"overloaded"}}`},
		{plain(500, fault.Internal), `Internal Server Error false {"error":{"message":"m","type":"server_error","param":null,"code":"internal_error"}}`},
	} {
		if diff := cmp.Diff(tt.want, worded(tt.refusal)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// A turn that ended by an error is sent again if it may succeed, and has done nothing.
func TestEndedTurns(t *testing.T) {
	t.Parallel()
	for kind, want := range map[fault.Type]string{
		fault.ModelUnavailable: "503 server_error true", fault.AgentUnavailable: "503 server_error true", fault.StoreUnavailable: "503 server_error true",
		fault.Overloaded: "503 server_error true", fault.ShuttingDown: "503 server_error true", fault.ModelRateLimited: "429 rate_limit_error true",
		fault.Timeout: "504 server_error true", fault.ModelError: "502 server_error false", fault.RoutingFailed: "502 server_error true",
		fault.Cancelled: "409 invalid_request_error false", fault.ApprovalRejected: "403 permission_error false", fault.Internal: "500 server_error false",
		fault.WorkflowNodeFailed: "500 server_error false", fault.Validation: "500 server_error false", fault.ApprovalExpired: "500 server_error false",
	} {
		for _, acted := range []bool{false, true} {
			reply := refuse(dialect.Refusal{Status: 422, Ended: true, Acted: acted, Fault: &fault.Error{Type: kind, Message: "m"}})
			got := strconv.Itoa(reply.Status) + " " + between(string(reply.Body), `"type":"`, `"`) + " " + reply.Header.Get("X-Should-Retry")
			if acted {
				want = strings.Replace(want, "true", "false", 1)
			}
			if got != want {
				t.Errorf("%s, acted %v: %s, want %s", kind, acted, got, want)
			}
		}
	}
}

// The two headers say the same, whatever they are from.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		refusal   time.Duration
		fault     time.Duration
		secs, mss string
	}{
		{0, 0, "", ""}, {3 * time.Second, 0, "3", "3000"}, {0, 1500 * time.Millisecond, "2", "1500"}, {2 * time.Second, time.Minute, "2", "2000"}, {0, time.Minute, "60", "60000"},
	} {
		reply := refuse(dialect.Refusal{Status: 503, RetryAfter: tt.refusal, Fault: &fault.Error{Type: fault.Overloaded, RetryAfter: tt.fault}})
		if secs, mss := reply.Header.Get("Retry-After"), reply.Header.Get("Retry-After-Ms"); secs != tt.secs || mss != tt.mss {
			t.Errorf("%+v: %q and %q", tt, secs, mss)
		}
	}
}
