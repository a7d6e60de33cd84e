package handlers

import "sluice/internal/turn/chat"

const requestIDHeader = "X-Request-Id"

// requestID accepts one value of 1 to 64 [A-Za-z0-9._-].
func requestID(inbound []string) string {
	if len(inbound) == 1 && chat.Token(inbound[0], 1, 64) {
		return inbound[0]
	}
	return chat.NewRequestID()
}
