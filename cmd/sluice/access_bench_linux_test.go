package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/internal/edge/access/keys"
)

// The benchmarks of what it costs to know callers, to limit them and to encrypt. Each is a ratio of
// two gateways that run at the same time and work in turns, so that what else the machine does is
// the same for both. The first one compares a gateway with its like: that is the noise.

const (
	ratioRounds = 16  // each gives one ratio; the median of them is reported
	ratioSlice  = 150 // turns that one gateway answers before the other one's turn comes
	ratioAtOnce = 8   // of them run at a time
)

// BenchmarkRatios prints the CPU time of a turn of 40 chunks and one tool call, over that of a
// gateway where all of it is off: the median of the rounds, and their quartiles.
func BenchmarkRatios(b *testing.B) {
	for _, row := range []struct {
		name string
		make func(*testing.B) *benched
	}{
		{"noise", unknownCallers}, {"key", byKey}, {"jwt", byToken}, {"limits", withLimits}, {"h2", encrypted},
	} {
		b.Run("off-against="+row.name, func(b *testing.B) {
			for b.Loop() {
				compareCPU(b, unknownCallers(b), row.make(b))
			}
		})
	}
}

// BenchmarkRatioOfStreams prints the resident memory of an open stream over TLS and HTTP/2, over
// that of one in the clear. Each time both gateways are new.
func BenchmarkRatioOfStreams(b *testing.B) {
	for name, begin := range map[string]func(*testing.B, http.Handler, ...string) *benched{"noise": bench, "h2": benchEncrypted} {
		b.Run("off-against="+name, func(b *testing.B) {
			for b.Loop() {
				var ratios []float64
				for range 3 {
					first, second := openMemory(b, bench), openMemory(b, begin)
					ratios = append(ratios, second/first)
				}
				reportRatios(b, ratios)
			}
		})
	}
}

// openMemory returns what an open stream takes, in bytes.
func openMemory(b *testing.B, begin func(*testing.B, http.Handler, ...string) *benched) float64 {
	b.Helper()
	const streams = 1000
	hold := make(chan struct{})
	defer close(hold)
	g := begin(b, thinker(hold), "SLUICE_ADMISSION=count")
	empty := g.rss(b)
	g.open(b, streams)
	return (g.rss(b) - empty) / streams
}

// BenchmarkRatioOfPacedStreams prints the CPU time that a thousand open streams take which get a
// word each half second, over TLS and HTTP/2, over that of as many in the clear at the same time.
func BenchmarkRatioOfPacedStreams(b *testing.B) {
	const streams, window = 1000, time.Second
	rounds := ratioRounds
	if testing.Short() {
		rounds = 2
	}
	for name, begin := range map[string]func(*testing.B, http.Handler, ...string) *benched{"noise": bench, "h2": benchEncrypted} {
		b.Run("off-against="+name, func(b *testing.B) {
			for b.Loop() {
				plain, other := openPaced(b, bench, streams), openPaced(b, begin, streams)
				var ratios []float64
				var spent time.Duration
				for range rounds {
					one, two := plain.exactCPU(b), other.exactCPU(b)
					time.Sleep(window)
					one, two = plain.exactCPU(b)-one, other.exactCPU(b)-two
					ratios = append(ratios, float64(two)/float64(one))
					spent += one
				}
				reportRatios(b, ratios)
				b.ReportMetric(float64(spent.Microseconds())/1e3/(time.Duration(rounds)*window).Seconds(), "off-ms/s")
			}
		})
	}
}

// openPaced opens streams that say a word each half second, and reads them.
func openPaced(b *testing.B, begin func(*testing.B, http.Handler, ...string) *benched, streams int) *benched {
	b.Helper()
	g := begin(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for word := time.NewTicker(500 * time.Millisecond); r.Context().Err() == nil; <-word.C {
			_, _ = io.WriteString(w, textChunk)
			_ = http.NewResponseController(w).Flush()
		}
	}), "SLUICE_ADMISSION=count", "SLUICE_GEMINI_MAX_TEXT_BYTES=1073741824")
	for _, rest := range g.open(b, streams) {
		go func() { _, _ = io.Copy(io.Discard, rest) }() // ends with the body, which open closes
	}
	return g
}

// compareCPU reports the CPU time of a turn of other over that of one of plain.
func compareCPU(b *testing.B, plain, other *benched) {
	b.Helper()
	rounds := ratioRounds
	if testing.Short() {
		rounds = 2
	}
	for range 2 { // connections, pools, the pace of the collector
		plain.slice(b)
		other.slice(b)
	}
	var ratios []float64
	var spent time.Duration
	for i := range rounds {
		var of [2]time.Duration // of plain, of other
		order := []int{0, 1, 1, 0}
		if i%2 == 1 {
			order = []int{1, 0, 0, 1}
		}
		for _, which := range order {
			of[which] += []*benched{plain, other}[which].slice(b)
		}
		ratios = append(ratios, float64(of[1])/float64(of[0]))
		spent += of[0]
	}
	reportRatios(b, ratios)
	b.ReportMetric(float64(spent.Microseconds())/float64(rounds*2*ratioSlice), "off-µs/turn")
}

// reportRatios reports the median and the quartiles.
func reportRatios(b *testing.B, ratios []float64) {
	slices.Sort(ratios)
	n := len(ratios)
	b.ReportMetric((ratios[n/2]+ratios[(n-1)/2])/2, "ratio")
	b.ReportMetric(ratios[n/4], "lower")
	b.ReportMetric(ratios[(3*n)/4], "upper")
	b.ReportMetric(0, "ns/op")
}

// slice runs some turns, and returns the CPU time that the gateway has used for them.
func (g *benched) slice(b *testing.B) time.Duration {
	b.Helper()
	before := g.exactCPU(b)
	var wg sync.WaitGroup
	for i := range ratioAtOnce {
		wg.Go(func() {
			for range (ratioSlice + i) / ratioAtOnce {
				g.turn(b, quiet)
			}
		})
	}
	if wg.Wait(); b.Failed() {
		b.FailNow() // a goroutine cannot end the benchmark
	}
	return g.exactCPU(b) - before
}

// exactCPU returns the CPU time of the gateway in nanoseconds, by the clock that Linux has of each
// process. That of /proc counts in ticks, of which a slice has few.
func (g *benched) exactCPU(b *testing.B) time.Duration {
	b.Helper()
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^g.pid<<3|2), &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}

// unknownCallers is a gateway that asks nobody, limits nobody and encrypts nothing.
func unknownCallers(b *testing.B) *benched { return bench(b, talker(1, 40)) }

// configured is a gateway with a configuration file.
func configured(b *testing.B, content string) *benched {
	b.Helper()
	path := filepath.Join(b.TempDir(), "sluice.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.Fatal(err)
	}
	return bench(b, talker(1, 40), "SLUICE_CONFIG="+path)
}

func byKey(b *testing.B) *benched {
	path := filepath.Join(b.TempDir(), "keys.yaml")
	_, key, err := keys.Add(path, keys.Entry{User: "ann"})
	if err != nil {
		b.Fatal(err)
	}
	g := configured(b, "auth: {keys: "+path+"}\n")
	g.head = http.Header{"Authorization": {"Bearer " + key}}
	return g
}

// byToken has one token, which is verified once and then known.
func byToken(b *testing.B) *benched {
	secret := []byte(strings.Repeat("secret-of-a-benchmark", 2))
	path := filepath.Join(b.TempDir(), "secret")
	if err := os.WriteFile(path, secret, 0o600); err != nil {
		b.Fatal(err)
	}
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	signed := part(`{"alg":"HS256","typ":"JWT"}`) + "." +
		part(fmt.Sprintf(`{"iss":"https://id.example","aud":"sluice","sub":"ann","scope":"chat","exp":%d}`, time.Now().Add(time.Hour).Unix()))
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(signed))
	g := configured(b, "auth: {jwt: [{issuer: 'https://id.example', audiences: [sluice], secret_file: "+path+", claims: {scopes: scope}}]}\n")
	g.head = http.Header{"Authorization": {"Bearer " + signed + "." + part(string(mac.Sum(nil)))}}
	return g
}

// withLimits has limits that are never reached.
func withLimits(b *testing.B) *benched {
	const limit = "{requests: 1000000/s, streams: 100000, tokens: [1000000000/m, 1000000000/d], model_calls: 1000000/s}"
	return configured(b, "limits: {address: "+limit+", global: "+limit+"}\n")
}

func encrypted(b *testing.B) *benched { return benchEncrypted(b, talker(1, 40)) }

// benchEncrypted is bench with a gateway over TLS, which its client asks by HTTP/2.
func benchEncrypted(b *testing.B, h http.Handler, env ...string) *benched {
	b.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"gateway"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(1000 * time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	if err != nil {
		b.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: cert}, "key.pem": {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	g := bench(b, h, append(env, "SLUICE_TLS_CERT="+filepath.Join(dir, "cert.pem"), "SLUICE_TLS_KEY="+filepath.Join(dir, "key.pem"))...)
	g.base = strings.Replace(g.base, "http:", "https:", 1)
	resp, err := g.http.Get(g.base + "/healthz")
	if err != nil {
		b.Fatal(err)
	}
	if _ = resp.Body.Close(); resp.ProtoMajor != 2 {
		b.Fatal("the gateway speaks ", resp.Proto)
	}
	return g
}
