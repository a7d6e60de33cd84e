// This file sends the requests that a page of another origin can make a browser send, and checks
// whether they run a turn. The headers are written down: a browser does not take part.

package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// visit is a GET of a turn, with the headers that show its sender.
type visit struct {
	name   string
	header []string
	ours   bool // whether it is one of ours
}

const (
	mozilla  = "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
	anImage  = "Accept: image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"
	aPage    = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	anEvents = "Accept: text/event-stream"
)

// visits returns the headers that Chromium and programs send. Over plain HTTP Chromium does not
// send Sec-Fetch headers, unless the host is localhost.
func visits(own string) []visit {
	return []visit{
		{"img over http", []string{mozilla, anImage, "Referer: http://evil.test/"}, false},
		{"img over http, no-referrer", []string{mozilla, anImage}, false},
		{"link over http", []string{mozilla, "Accept: text/css,*/*;q=0.1", "Referer: http://evil.test/"}, false},
		{"navigation over http", []string{mozilla, aPage, "Upgrade-Insecure-Requests: 1"}, false},
		{"fetch no-cors over http", []string{mozilla, anEvents, "Referer: http://evil.test/"}, false},
		{"fetch no-cors over http, no-referrer", []string{mozilla, anEvents}, false},
		{"host that ours begins", []string{mozilla, anEvents, "Referer: http://" + own + ".evil.test/"}, false},
		{"img of another port", []string{mozilla, anImage, "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image", "Referer: http://127.0.0.1:1/"}, false},
		{"img over https", []string{mozilla, anImage, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"}, false},
		{"fetch of a subdomain", []string{mozilla, anEvents, "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: empty"}, false},
		{"frame of our own", []string{mozilla, aPage, "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe", "Referer: http://" + own + "/"}, false},
		{"typed into the bar", []string{mozilla, aPage, "Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, false},
		{"EventSource of another origin", []string{mozilla, anEvents, "Origin: http://evil.test", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: empty"}, false},
		{"our page over http", []string{mozilla, anEvents, "Referer: http://" + own + "/"}, true},
		{"our page over https", []string{mozilla, anEvents, "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", "Referer: http://" + own + "/"}, true},
		{"curl", []string{"User-Agent: curl/8.14.1", "Accept: */*"}, true},
		{"undici", []string{"User-Agent: node", "Sec-Fetch-Mode: cors", "Accept: */*"}, true},
	}
}

// foreignPage sends the requests that a page elsewhere can make a browser send.
func foreignPage(r *run) {
	o := options{model: callingModel("create_todo", `{"title":"eggs"}`)}.withTools(toolEntry("create_todo", `{"type":"object"}`))
	g := r.mustStart(o)
	r.awaitTools(g)
	var foreign, ours, served int
	var ran []string
	effects := 0
	for _, v := range visits(g.addr) {
		before := o.tools.calls.Load()
		got := g.fetch(5*time.Second, http.MethodGet, "/chat/stream?input=buy+eggs", "", v.header...)
		r.Must(got.err)
		called := int(o.tools.calls.Load() - before)
		if v.ours {
			ours++
			served += called
			continue
		}
		foreign++
		effects += called
		if got.status != http.StatusForbidden {
			ran = append(ran, v.name)
		}
	}
	r.Check(fmt.Sprintf("foreign requests of %d that ran a turn", foreign), ran == nil, "0", "%d: %s", len(ran), strings.Join(ran, ", "))
	r.Exactly("tools that they called", effects, 0)
	r.Exactly("turns of our own page and of programs", served, ours)
}
