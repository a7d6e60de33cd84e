package jwt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/health"
	"sluice/internal/base/telemetry/metrics"
)

// Keys change while tokens are used: a new one is found by the first token that has it, and a
// former one ends with the set.
func TestRotation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := publisher("")
		v := online(t, p, Config{})
		old, fresh := edToken("one"), sign(header("ES256", "two"), claims(), "ES256", p256Key())
		expect := func(token, want string) {
			t.Helper()
			if got := reason(v.Verify(t.Context(), token, true)); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		expect(old, "as ann") // waits for the first fetch
		p.shows(setOf(jwk("two", "", p256Key())))
		expect(old, "as ann") // nobody knows yet
		expect(fresh, "as ann")
		expect(old, "key_unknown") // though it was in the cache
		if n := p.fetched.Load(); n != 2 {
			t.Errorf("%d fetches, want 2", n)
		}
	})
}

// A fetch that brings the same keys changes nothing: what was verified still is.
func TestSameKeysKeepTheCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := publisher("max-age=60")
		v := online(t, p, Config{})
		token := edToken("one")
		v.Verify(t.Context(), token, true)
		time.Sleep(3*time.Minute + time.Second)
		if _, err := v.Verify(t.Context(), token, false); err != nil || p.fetched.Load() < 3 {
			t.Errorf("%v after %d fetches", err, p.fetched.Load())
		}
	})
}

// However many tokens have unknown keys: one fetch for all, then none for 30 seconds.
func TestUnknownKeysCostOneFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := publisher("")
		v := online(t, p, Config{})
		v.Verify(t.Context(), edToken("one"), true)
		flood := func() (slowest time.Duration) {
			var group sync.WaitGroup
			var longest atomic.Int64
			for n := range 100 {
				group.Go(func() {
					began := time.Now()
					if got := reason(v.Verify(t.Context(), edToken(fmt.Sprint("kid", n)), true)); got != "key_unknown" {
						t.Error(got)
					}
					longest.Store(max(longest.Load(), int64(time.Since(began))))
				})
			}
			group.Wait()
			return time.Duration(longest.Load())
		}
		p.serves(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(time.Second)
			fmt.Fprint(w, setOf(jwk("one", "", ed25519Key())))
		})
		if slowest := flood(); slowest != time.Second || p.fetched.Load() != 2 {
			t.Errorf("the slowest took %v, %d fetches", slowest, p.fetched.Load())
		}
		time.Sleep(29 * time.Second)
		if slowest := flood(); slowest != 0 || p.fetched.Load() != 2 {
			t.Errorf("within 30 s: the slowest took %v, %d fetches", slowest, p.fetched.Load())
		}
		if got := reason(v.Verify(t.Context(), edToken("one"), true)); got != "as ann" {
			t.Errorf("a good one: %s", got)
		}
		time.Sleep(time.Second)
		p.serves(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }) // hangs
		if slowest := flood(); slowest != 2*time.Second || p.fetched.Load() != 3 {
			t.Errorf("a fetch that hangs: the slowest took %v, %d fetches", slowest, p.fetched.Load())
		}
		if got := reason(v.Verify(t.Context(), edToken("one"), true)); got != "as ann" {
			t.Errorf("a good one while a fetch hangs: %s", got)
		}
		time.Sleep(20 * time.Second) // the fetch ended after 5 s
		if slowest := flood(); slowest != 0 || p.fetched.Load() != 3 {
			t.Errorf("after it: the slowest took %v, %d fetches", slowest, p.fetched.Load())
		}
	})
}

// Nothing in a token but an unknown key causes a fetch, and nothing at all for keys in files.
func TestWhatCausesNoFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := publisher("")
		f := files{"set": setOf(jwk("one", "", ed25519Key()))}
		file := spec(func(s *Spec) { s.Issuer = "https://file" })
		var reads atomic.Int64
		read := func(path string) ([]byte, error) { reads.Add(1); return f.read(path) }
		v := online(t, p, Config{ReadFile: read, Issuers: []Spec{{Issuer: testIssuer, Audiences: []string{testAudience}, JWKS: testIssuer + "/keys"}, file}})
		v.Verify(t.Context(), edToken("one"), true)
		for name, token := range map[string]string{
			"another algorithm":  sign(header("HS256", "x"), claims(), "HS256", []byte(testSecret)),
			"another issuer":     edToken("x", object{"iss": "https://else"}),
			"file":               edToken("x", object{"iss": "https://file"}),
			"a bad type":         sign(`{"alg":"EdDSA","kid":"x","typ":"x"}`, claims(), "EdDSA", ed25519Key()),
			"no id, none fits":   sign(`{"alg":"RS256"}`, claims(), "RS256", rsaKey()),
			"an id of another":   sign(header("ES256", "one"), claims(), "ES256", p256Key()),
			"a key in its head":  sign(`{"alg":"EdDSA","kid":"one","jku":"`+testIssuer+`/mine"}`, claims(object{"sub": "b"}), "EdDSA", ed25519Key()),
			"a broken signature": edToken("one") + "AAAA",
			"expired":            edToken("one", object{"exp": 1}),
		} {
			began := time.Now()
			v.Verify(t.Context(), token, true)
			synctest.Wait()
			if time.Since(began) != 0 || p.fetched.Load() != 1 || reads.Load() != 1 {
				t.Errorf("%s: %v, %d fetches, the file was read %d times", name, time.Since(began), p.fetched.Load(), reads.Load())
			}
		}
	})
}

// An issuer that is unavailable at the start keeps nobody else waiting; one that is later is
// known by its last good keys for a day.
func TestIssuerUnavailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := new(provider)
		p.serves(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		f := files{"set": setOf(jwk("ed", "", ed25519Key()))}
		file := spec(func(s *Spec) { s.Issuer = "https://file" })
		began := time.Now()
		v := online(t, p, Config{ReadFile: f.read, Issuers: []Spec{{Issuer: testIssuer, Audiences: []string{testAudience}, JWKS: testIssuer + "/keys"}, file}})
		if got := reason(v.Verify(t.Context(), edToken("ed", object{"iss": "https://file"}), true)); got != "as ann" || time.Since(began) != 0 {
			t.Errorf("the other: %s after %v", got, time.Since(began))
		}
		token := func() string { return edToken("one") }
		_, err := v.Verify(t.Context(), token(), true)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Type != fault.AuthUnavailable || f.RetryAfter < time.Second || f.RetryAfter > time.Minute || time.Since(began) != 2*time.Second {
			t.Errorf("never read: %v after %v", err, time.Since(began))
		}
		state := func() string {
			s := v.State()[0]
			age := "never"
			if s.AgeS != nil {
				age = (time.Duration(*s.AgeS) * time.Second).String()
			}
			return fmt.Sprint(s.State, " ", s.Keys, " ", age)
		}
		if got := state(); got != "unavailable 0 never" {
			t.Error(got)
		}
		time.Sleep(4 * time.Second) // the fetch has ended
		if _, err := v.Verify(t.Context(), token(), true); time.Since(began) != 6*time.Second || err == nil {
			t.Errorf("between two fetches: %v after %v", err, time.Since(began))
		}
		p.shows(setOf(jwk("one", "", ed25519Key())))
		time.Sleep(30 * time.Second)
		if got := reason(v.Verify(t.Context(), token(), true)); got != "as ann" || state() != "ok 1 1s" {
			t.Errorf("back: %s, %s", got, state())
		}
		p.serves(nil)
		time.Sleep(16 * time.Minute)
		if got := reason(v.Verify(t.Context(), token(), true)); got != "as ann" || state() != "stale 1 16m1s" {
			t.Errorf("stale: %s, %s", got, state())
		}
		time.Sleep(24*time.Hour - 16*time.Minute - 2*time.Second)
		last := token()
		if got := reason(v.Verify(t.Context(), last, true)); got != "as ann" || v.State()[0].State != health.KeysStale {
			t.Errorf("nearly a day: %s, %s", got, state())
		}
		time.Sleep(2 * time.Second)
		for _, tok := range []string{last, token()} { // in the cache or not
			if got := reason(v.Verify(t.Context(), tok, true)); got != "auth_unavailable" || v.State()[0].State != health.KeysUnavailable {
				t.Errorf("a day: %s, %s", got, state())
			}
		}
		p.shows(setOf(jwk("one", "", ed25519Key())))
		time.Sleep(6 * time.Minute)
		if got := reason(v.Verify(t.Context(), token(), true)); got != "as ann" || v.State()[0].State != health.KeysFresh {
			t.Errorf("back again: %s, %s", got, state())
		}
	})
}

// What an issuer may show instead of keys leaves the last good ones.
func TestBadReplies(t *testing.T) {
	t.Parallel()
	good := setOf(jwk("one", "", ed25519Key()))
	for name, h := range map[string]http.HandlerFunc{
		"status": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(404)
			fmt.Fprint(w, setOf(jwk("two", "", p256Key())))
		},
		"a part": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(206)
			fmt.Fprint(w, setOf(jwk("two", "", p256Key())))
		},
		"empty":     func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"keys":[]}`) },
		"malformed": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/keys" {
				w.Header().Set("Location", "/else")
				w.WriteHeader(http.StatusFound)
			}
			fmt.Fprint(w, setOf(jwk("two", "", p256Key())))
		},
		"hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"breaks off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, good)
		},
		"10 MiB": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, good, strings.Repeat(" ", 10<<20)) },
		"never ends": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				fmt.Fprint(w, " ")
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(time.Second):
				}
			}
		},
		"huge header": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 1<<20))
			fmt.Fprint(w, setOf(jwk("two", "", p256Key())))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := new(provider)
				p.shows(good)
				v := online(t, p, Config{})
				v.Verify(t.Context(), edToken("one"), true)
				p.serves(h)
				time.Sleep(16 * time.Minute)
				if got := reason(v.Verify(t.Context(), edToken("one"), true)); got != "as ann" || v.State()[0].State != health.KeysStale {
					t.Errorf("%s, %s", got, v.State()[0].State)
				}
				if got := reason(v.Verify(t.Context(), sign(header("ES256", "two"), claims(), "ES256", p256Key()), true)); got != "key_unknown" {
					t.Errorf("the other's key: %s", got)
				}
			})
		})
	}
}

// The next fetch is when the reply says, within bounds.
func TestMaxAge(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"": 15 * time.Minute, "no-cache": 15 * time.Minute, "max-age=600": 10 * time.Minute, "public, Max-Age=\"3600\"": time.Hour, "max-age=0": time.Minute,
		"max-age=59": time.Minute, "max-age=86401": 24 * time.Hour, "max-age=99999999999": 15 * time.Minute, "max-age=-1": 15 * time.Minute, "max-age=x": 15 * time.Minute, "s-maxage=5": 15 * time.Minute,
	} {
		if got := ageOf(http.Header{"Cache-Control": {header}}); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		p := publisher("max-age=120")
		online(t, p, Config{})
		time.Sleep(11 * time.Minute)
		if n := p.fetched.Load(); n != 6 {
			t.Errorf("%d fetches in 11 minutes", n)
		}
	})
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	keys := setOf(jwk("one", "", ed25519Key()))
	for name, tt := range map[string]struct{ document, want string }{
		"good":             {`{"issuer":"` + testIssuer + `/o","jwks_uri":"` + testIssuer + `/k","x":1}`, "as ann"},
		"a slash more":     {`{"issuer":"` + testIssuer + `/o/","jwks_uri":"` + testIssuer + `/k"}`, "auth_unavailable"},
		"another issuer":   {`{"issuer":"` + testIssuer + `","jwks_uri":"` + testIssuer + `/k"}`, "auth_unavailable"},
		"no issuer":        {`{"jwks_uri":"` + testIssuer + `/k"}`, "auth_unavailable"},
		"no keys":          {`{"issuer":"` + testIssuer + `/o"}`, "auth_unavailable"},
		"keys over http":   {`{"issuer":"` + testIssuer + `/o","jwks_uri":"http://else/k"}`, "auth_unavailable"},
		"keys in a file":   {`{"issuer":"` + testIssuer + `/o","jwks_uri":"file:///k"}`, "auth_unavailable"},
		"no JSON":          {`<html>`, "auth_unavailable"},
		"twice the issuer": {`{"issuer":"x","issuer":"` + testIssuer + `/o","jwks_uri":"` + testIssuer + `/k"}`, "auth_unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := new(provider)
				p.serves(func(w http.ResponseWriter, r *http.Request) {
					switch r.URL.Path {
					case "/o/.well-known/openid-configuration":
						fmt.Fprint(w, tt.document)
					case "/k":
						fmt.Fprint(w, keys)
					default:
						http.NotFound(w, r)
					}
				})
				v := online(t, p, Config{Issuers: []Spec{{Issuer: testIssuer + "/o", Audiences: []string{testAudience}, Discovery: true}}})
				if got := reason(v.Verify(t.Context(), edToken("one", object{"iss": testIssuer + "/o"}), true)); got != tt.want {
					t.Errorf("%s, want %s", got, tt.want)
				}
			})
		})
	}
}

// answers is a network on which every document is the same.
type answers string

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(string(a))), Request: r}, nil
}

// An issuer elsewhere does not lead to this machine.
func TestDiscoveryLeadsToNoLoopback(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]bool{"https://keys.example/k": true, "http://127.0.0.1/k": false, "http://localhost/k": false, "http://keys.example/k": false, "/k": false, "": false} {
		r := remote{client: newClient(answers(`{"issuer":"https://id.example","jwks_uri":"` + uri + `"}`)), issuer: "https://id.example"}
		if got, err := r.discoverURL(t.Context()); (err == nil) != want || want && got != uri {
			t.Errorf("%q: %q, %v", uri, got, err)
		}
	}
}

// The path of the document follows an issuer that ends in a slash, as many do.
func TestDiscoveryOfAnIssuerWithSlash(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := new(provider)
		p.serves(func(w http.ResponseWriter, r *http.Request) {
			if r.RequestURI == "/.well-known/openid-configuration" {
				fmt.Fprint(w, `{"issuer":"`+testIssuer+`/","jwks_uri":"`+testIssuer+`/k"}`)
				return
			}
			fmt.Fprint(w, setOf(jwk("one", "", ed25519Key())))
		})
		v := online(t, p, Config{Issuers: []Spec{{Issuer: testIssuer + "/", Audiences: []string{testAudience}, Discovery: true}}})
		if got := reason(v.Verify(t.Context(), edToken("one", object{"iss": testIssuer + "/"}), true)); got != "as ann" {
			t.Error(got)
		}
	})
}

// Verified tokens are kept for five minutes, never beyond their end, and their times are
// looked at each time.
func TestCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := publisher("max-age=86400")
		v := online(t, p, Config{})
		token := edToken("one")
		unread := func(token string) bool {
			_, err := v.Verify(t.Context(), token, false)
			return err == ErrUnread
		}
		if !unread(token) {
			t.Error("it is in the cache before it was verified")
		}
		first, err := v.Verify(t.Context(), token, true)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := v.Verify(t.Context(), token, false); again != first || err != nil {
			t.Errorf("it is not in the cache: %v", err)
		}
		if !unread(token[:len(token)-1]) || !unread(token+"A") || !unread(edToken("one", object{"sub": "bob"})) {
			t.Error("another token is in the cache")
		}
		time.Sleep(5*time.Minute - 1)
		if unread(token) {
			t.Error("it is forgotten early")
		}
		time.Sleep(time.Nanosecond)
		if !unread(token) {
			t.Error("it is known for more than five minutes")
		}
		short := edToken("one", object{"exp": time.Now().Add(time.Minute).Unix()})
		v.Verify(t.Context(), short, true)
		time.Sleep(time.Minute - time.Second)
		if unread(short) {
			t.Error("it is forgotten before its end")
		}
		time.Sleep(time.Second)
		if !unread(short) {
			t.Error("it is known beyond its end")
		}
		if got := reason(v.Verify(t.Context(), short, true)); got != "as ann" || !unread(short) {
			t.Errorf("within the leeway: %s", got)
		}
		time.Sleep(time.Minute)
		if got := reason(v.Verify(t.Context(), short, true)); got != "expired" {
			t.Errorf("at the end of the leeway: %s", got)
		}
		if _, err := v.Verify(t.Context(), edToken("two"), true); err == nil || !unread(edToken("two")) {
			t.Error("a refused token is in the cache")
		}
	})
}

// The clock can be set back.
func TestTimesAreLookedAtEachTime(t *testing.T) {
	t.Parallel()
	now := time.Now()
	when := times{expires: now.Add(time.Hour), begins: []time.Time{now}, leeway: time.Minute}
	for after, want := range map[time.Duration]bool{
		0: true, -time.Minute: true, -time.Minute - 1: false, time.Hour: true, time.Hour + time.Minute - 1: true, time.Hour + time.Minute: false,
	} {
		if err := when.checkNow(now.Add(after)); (err == nil) != want {
			t.Errorf("%v: %v", after, err)
		}
	}
	v := open(t, Config{Issuers: []Spec{spec(nil)}, ReadFile: files{"set": setOf(jwk("ed", "", ed25519Key()))}.read})
	token := edToken("ed")
	if _, err := v.Verify(t.Context(), token, true); err != nil {
		t.Fatal(err)
	}
	v.cache.Get(sumOf(token)) // it is there
	hit, _ := v.cache.Get(sumOf(token))
	hit.times.begins = []time.Time{now.Add(time.Hour)}
	if got := reason(v.Verify(t.Context(), token, true)); got != "not_yet" {
		t.Errorf("from the cache: %s", got)
	}
}

// The cache is bounded, and what is used stays.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	v := open(t, Config{Issuers: []Spec{spec(nil)}, ReadFile: files{"set": setOf(jwk("ed", "", ed25519Key()))}.read})
	used := edToken("ed")
	if _, err := v.Verify(t.Context(), used, true); err != nil {
		t.Fatal(err)
	}
	for n := range maxCached + 100 {
		v.cacheVerified(sumOf(fmt.Sprint(n)), &verified{times: times{expires: time.Now().Add(time.Hour)}})
		if _, err := v.Verify(t.Context(), used, false); err != nil {
			t.Fatalf("the one in use is forgotten after %d: %v", n, err)
		}
	}
	if n := v.cache.Len(); n > maxCached {
		t.Errorf("%d tokens", n)
	}
}

// Files are read at the start, and looked at again by themselves.
func TestFiles(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set, secret string // of the file; "-": it is not there
		algorithms  []string
		want        string // of the error
	}{
		"good":              {setOf(jwk("ed", "", ed25519Key())), testSecret, nil, ""},
		"secret with CRLF":  {setOf(jwk("ed", "", ed25519Key())), testSecret + "\r\n", nil, ""},
		"no set":            {"-", testSecret, nil, "the file cannot be read: file does not exist"},
		"no secret":         {setOf(jwk("ed", "", ed25519Key())), "-", nil, "the file cannot be read: file does not exist"},
		"empty set":         {`{"keys":[]}`, testSecret, nil, "the key set has no key that can be used"},
		"31 bytes":          {setOf(jwk("ed", "", ed25519Key())), testSecret[1:], nil, "the secret must hold 32 bytes or more"},
		"31 and a line end": {setOf(jwk("ed", "", ed25519Key())), testSecret[1:] + "\n", nil, "the secret must hold 32 bytes or more"},
		"47 for HS384":      {setOf(jwk("ed", "", ed25519Key())), testSecret + testSecret[:15], []string{"HS256", "HS384"}, "the secret must hold 48 bytes or more"},
		"both":              {"-", "", nil, "the file cannot be read: file does not exist\nissuer \"https://s\": the secret must hold 32 bytes or more"},
	} {
		f := files{"set": tt.set, "secret": tt.secret}
		for path, text := range f {
			if text == "-" {
				delete(f, path)
			}
		}
		v, err := Open(Config{ReadFile: f.read, Issuers: []Spec{spec(nil), spec(func(s *Spec) {
			s.Issuer, s.JWKSFile, s.SecretFile, s.Algorithms = "https://s", "", "secret", tt.algorithms
		})}})
		if err == nil {
			v.Close()
		}
		if got := fmt.Sprint(err); err == nil && tt.want != "" || err != nil && (tt.want == "" || !strings.HasSuffix(got, tt.want)) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func TestFilesChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		text, ok := setOf(jwk("one", "", ed25519Key())), true
		change := func(to string, isThere bool) {
			mu.Lock()
			defer mu.Unlock()
			text, ok = to, isThere
		}
		v := open(t, Config{Issuers: []Spec{spec(nil)}, ReadFile: func(string) ([]byte, error) {
			mu.Lock()
			defer mu.Unlock()
			if !ok {
				return nil, &fs.PathError{Op: "open", Path: "set", Err: fs.ErrNotExist}
			}
			return []byte(text), nil
		}})
		expect := func(kid, want string) {
			t.Helper()
			if got := reason(v.Verify(t.Context(), edToken(kid), true)); got != want {
				t.Errorf("%s: %s, want %s", kid, got, want)
			}
		}
		expect("one", "as ann")
		change("", false)
		time.Sleep(6 * time.Second)
		expect("one", "as ann")
		if s := v.State()[0].State; s != health.KeysStale {
			t.Error(s)
		}
		change("{", true) // half written
		time.Sleep(6 * time.Second)
		expect("one", "as ann")
		change(setOf(jwk("two", "", ed25519Key())), true)
		time.Sleep(6 * time.Second)
		expect("one", "key_unknown")
		expect("two", "as ann")
		if s := v.State()[0].State; s != health.KeysFresh {
			t.Error(s)
		}
	})
}

// What operators see: log lines and metrics, without keys and URLs.
func TestLogAndMetrics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		m := metrics.New()
		p := new(provider)
		const secret = "?token=canary"
		v := online(t, p, Config{Log: zerolog.New(&log), Metrics: m, Issuers: []Spec{{Issuer: testIssuer, Audiences: []string{testAudience}, JWKS: testIssuer + "/keys" + secret}}})
		time.Sleep(time.Second)
		p.shows(setOf(jwk("one", "", ed25519Key())))
		time.Sleep(time.Minute)
		token := edToken("one")
		for range 3 {
			v.Verify(t.Context(), token, true)
		}
		p.serves(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		time.Sleep(14*time.Minute + 50*time.Second)
		synctest.Wait()
		want := `{"level":"warn","details":{"issuer":"http://127.0.0.1:1","keys":0,"cause":"status 500"},"message":"jwks_failed"}
{"level":"info","details":{"issuer":"http://127.0.0.1:1","keys":1,"changed":true},"message":"jwks_refreshed"}
{"level":"warn","details":{"issuer":"http://127.0.0.1:1","keys":1,"cause":"EOF"},"message":"jwks_failed"}
`
		if diff := cmp.Diff(want, log.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		wantMetrics := []string{
			"sluice_auth_cache_total{outcome=hit} 2", "sluice_auth_cache_total{outcome=miss} 1",
			"sluice_jwks_age_seconds{issuer=http://127.0.0.1:1} 921",
			"sluice_jwks_fetches_total{issuer=http://127.0.0.1:1 outcome=failed} 2", "sluice_jwks_fetches_total{issuer=http://127.0.0.1:1 outcome=ok} 1",
		}
		if diff := cmp.Diff(wantMetrics, gathered(t, m)); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	})
}

// An ask that comes while a fetch that is due begins is answered by that one.
func TestFetchesDoNotFollowEachOther(t *testing.T) {
	t.Parallel()
	i := &issuer{wake: make(chan struct{}, 1)}
	i.wake <- struct{}{}
	if i.beginFetch(); len(i.wake) != 0 || i.flight == nil {
		t.Error("another fetch would follow")
	}
}

// A token waits for two seconds in all, for the first fetch and for the one it asks for.
func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := new(provider)
		p.serves(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(1500 * time.Millisecond)
			fmt.Fprint(w, setOf(jwk("one", "", ed25519Key())))
		})
		v := online(t, p, Config{})
		began := time.Now()
		if got := reason(v.Verify(t.Context(), edToken("two"), true)); got != "key_unknown" || time.Since(began) != 2*time.Second {
			t.Errorf("%s after %v", got, time.Since(began))
		}
		time.Sleep(2 * time.Second) // the second reply is over
	})
}

// Who leaves does not wait.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := new(provider)
		p.serves(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		v := online(t, p, Config{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, err := v.Verify(ctx, edToken("one"), true); err == nil || time.Since(began) != time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// gathered returns the metrics of this package.
func gathered(t *testing.T, m *metrics.Registry) (lines []string) {
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "sluice_") {
			continue
		}
		for _, one := range f.GetMetric() {
			var labels []string
			for _, l := range one.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			lines = append(lines, fmt.Sprint(f.GetName(), "{", strings.Join(labels, " "), "} ", one.GetCounter().GetValue()+one.GetGauge().GetValue()))
		}
	}
	return lines
}
