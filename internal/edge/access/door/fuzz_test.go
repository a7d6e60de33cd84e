package door

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"sluice/internal/edge/access"
)

// headOf makes the head of a request of lines, as an HTTP server would have read them.
func headOf(lines string) http.Header {
	h := http.Header{}
	for line := range strings.Lines(lines) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		h.Add(strings.TrimSpace(name), strings.Trim(value, " \t"))
	}
	return h
}

// Whatever a client writes in its head, it is who one good credential says it is, or nobody.
func FuzzAuthorization(f *testing.F) {
	for _, seed := range []string{
		"", "Authorization: Bearer " + goodKey, "authorization: bEARER   " + goodKey, "X-API-Key: " + goodKey, "Authorization: Basic YTpi", "Authorization: Bearer",
		"Authorization: Bearer cached", "Authorization: Bearer " + goodKey + "\nX-API-Key: " + goodKey, "Authorization: Bearer " + goodKey + "\nAuthorization: x",
		"X-API-Key:", "Authorization: " + goodKey, "X-Forwarded-User: eve", "X_Forwarded_User: eve\nX-API-Key: " + goodKey, "Authorization: Bearer " + goodKey + " x",
	} {
		f.Add(seed)
	}
	d, _ := doorOf(f, Spec{Proxy: proxySpec(nil)}, Config{})
	f.Fuzz(func(t *testing.T, lines string) {
		r := request("203.0.113.9:1")
		r.Header = headOf(lines)
		who, err := d.Authenticate(r)
		if (err == nil) != (who != nil) {
			t.Fatalf("%v and %v", who, err)
		}
		if err != nil {
			return
		}
		if n := len(r.Header["Authorization"]) + len(r.Header["X-Api-Key"]); n != 1 || !d.Knows(r) {
			t.Fatalf("%d credentials were taken for %s", n, who.ID)
		}
		switch shown := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key"); {
		case who.Method == access.ByKey && strings.HasSuffix(shown, goodKey):
		case who.Method == access.ByToken && !strings.HasPrefix(shown, keyPrefix):
		default:
			t.Fatalf("%q is taken for %s by %s", shown, who.ID, who.Method)
		}
	})
}

// Of what a proxy says each name is taken as it is, or nothing is. From a stranger it is nothing.
func FuzzProxyHeaders(f *testing.F) {
	for _, seed := range []string{
		"X-Forwarded-User: ann", "X-Forwarded-User: ann\nX-Org: acme\nX-Scopes: chat, ops foreign\nX-Class: gold", "X-Forwarded-User:", "X-Forwarded-User: a\nX-Forwarded-User: b",
		"X-Forwarded-User: ann\nX_Org: other", "X-Forwarded-User: a\x00b", "X-Forwarded-User: ann\nX-Org: Acme", "X-Forwarded-User: ann\nX-Scopes: chat\nX-Scopes: admin", "X-Forwarded-User: \xff",
	} {
		f.Add(seed)
	}
	d, _ := doorOf(f, Spec{Proxy: proxySpec(func(p *Proxy) {
		p.Headers = Headers{User: "X-Forwarded-User", Tenant: "X-Org", Scopes: "X-Scopes", Limits: "X-Class"}
	})}, Config{})
	f.Fuzz(func(t *testing.T, lines string) {
		if strings.Contains(strings.ToLower(lines), "authorization") || strings.Contains(strings.ToLower(lines), "api-key") {
			return
		}
		r := request("10.1.2.3:1")
		r.Header = headOf(lines)
		if who, err := d.Authenticate(r); err == nil {
			h := r.Header
			if who.ID != h.Get("X-Forwarded-User") || !access.IsUser(who.ID) || who.Tenant != h.Get("X-Org") || who.Class != h.Get("X-Class") {
				t.Fatalf("%v became %+v", h, who)
			}
			for _, scope := range who.Scopes.Names() {
				if !strings.Contains(h.Get("X-Scopes"), scope) {
					t.Fatalf("the scope %s comes from nowhere: %v", scope, h)
				}
			}
			for name := range h {
				if strings.Contains(name, "_") && strings.EqualFold(strings.ReplaceAll(name, "_", "-"), "X-Org") {
					t.Fatalf("an imitation was taken: %v", h)
				}
			}
		}
		r.RemoteAddr = "203.0.113.9:1"
		if who, err := d.Authenticate(r); err == nil {
			t.Fatalf("a stranger is %+v", who)
		}
	})
}

// A list of addresses is refused, or each of its ranges leaves somebody out.
func FuzzRanges(f *testing.F) {
	for _, seed := range []string{"10.0.0.0/8", "::1, 10.0.0.1", "0.0.0.0/0", "::/0", "::ffff:0.0.0.0/96", "fe80::1%eth0", ",", "10.0.0.0/33", "::ffff:10.0.0.0/104"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseRanges(text)
		if err != nil {
			return
		}
		for _, p := range list {
			if !p.IsValid() || p.Bits() == 0 || p.Addr().Is4In6() || p != p.Masked() {
				t.Fatalf("%q became %s", text, p)
			}
			if again := must(parseRanges(p.String())); len(again) != 1 || again[0] != p {
				t.Fatalf("%s is read as %v", p, again)
			}
		}
		if len(list) != strings.Count(text, ",")+1 || isInRanges(list, netip.Addr{}) {
			t.Fatalf("%q became %v", text, list)
		}
	})
}
