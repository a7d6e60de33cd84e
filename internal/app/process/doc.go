// Package process manages the process of a gateway: its ports, its end, its log, its limits, and
// the pace of its garbage collector. It does not know the contents of requests and answers.
//
// The verbs: fit (limits), read and replace (a certificate), write (a log line), serve (a
// connection), drain (the turns).
package process
