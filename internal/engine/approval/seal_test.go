package approval

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
)

// talk returns a text of about n bytes that shrinks as conversations do.
func talk(n int) string {
	words := strings.Fields("please remind me to buy the eggs and milk tomorrow at three list all of my open todos with their due dates priority medium high todo id title result output")
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "%s %x ", words[r.IntN(len(words))], r.Uint64())
	}
	return b.String()[:n]
}

// waiting returns the record of a turn whose state has about n bytes.
func waiting(n int) *record {
	turn, _ := run.Pause("agent", talk(n))
	state := turn.Encode()
	q := chat.Question{Kind: chat.AskTools, Calls: []chat.PendingCall{
		{ID: "a", Tool: "pay", Server: "bank", Arguments: jsontext.Value("{\"n\": 9007199254740993,\n\"x\":\"<&>\u2028\"}"), Reason: "writes", Fingerprint: "f"},
	}}
	r, err := newRecord(&chat.Request{UserID: "ann", Input: "Pay"}, &chat.Paused{By: "agent", State: state}, &q, time.Now().Add(time.Minute))
	if err != nil {
		panic(err)
	}
	return r
}

// What was sealed is opened whole, by any of the keys and by no other.
func TestTokensAreOpenedWhole(t *testing.T) {
	t.Parallel()
	old, fresh := newKey(), newKey()
	for _, n := range []int{1, 1000, 60_000} {
		text, err := waiting(n).encode()
		if err != nil {
			t.Fatal(err)
		}
		token, err := (&sealer{keys: []Key{old}}).seal(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := (&sealer{keys: []Key{fresh, old}}).open(token)
		if err != nil || string(got) != string(text) {
			t.Errorf("%d bytes: %v, equal: %v", n, err, string(got) == string(text))
		}
		if _, err := readRecord(got); err != nil {
			t.Error(err)
		}
		if _, err := (&sealer{keys: []Key{fresh}}).open(token); !errors.Is(err, errToken) {
			t.Errorf("a foreign key: %v", err)
		}
		again, _ := (&sealer{keys: []Key{old}}).seal(text)
		if again == token {
			t.Error("two tokens of one record are equal")
		}
	}
}

// A token of which a bit is another one, or which ends earlier, is none.
func TestDamagedTokensAreNone(t *testing.T) {
	t.Parallel()
	s := &sealer{keys: []Key{newKey()}}
	text, _ := waiting(200).encode()
	token, err := s.seal(text)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := base64.RawURLEncoding.DecodeString(token[len(prefix):])
	for i := range raw {
		raw[i] ^= 1 << (i % 8)
		if _, err := s.open(prefix + base64.RawURLEncoding.EncodeToString(raw)); !errors.Is(err, errToken) {
			t.Fatalf("bit of byte %d: %v", i, err)
		}
		raw[i] ^= 1 << (i % 8)
	}
	for n := range len(token) {
		if _, err := s.open(token[:n]); !errors.Is(err, errToken) {
			t.Fatalf("cut behind %d: %v", n, err)
		}
	}
	for _, bad := range []string{token + "=", token + "\n", token[:20] + "\r\n" + token[20:], "slap2." + token[6:], strings.ToUpper(token)} {
		if _, err := s.open(bad); !errors.Is(err, errToken) {
			t.Errorf("%.30q…: %v", bad, err)
		}
	}
}

// Tokens have at most 64 KiB, to the byte.
func TestTokensAreBounded(t *testing.T) {
	t.Parallel()
	s := &sealer{keys: []Key{newKey()}}
	r := rand.NewChaCha8([32]byte{})
	noise := make([]byte, 64<<10)
	_, _ = r.Read(noise)
	longest, refused := 0, false
	for n := 48_800; n < 49_400; n++ {
		token, err := s.seal(noise[:n])
		if err != nil {
			if !errors.Is(err, errLong) {
				t.Fatal(err)
			}
			refused = true
			continue
		}
		if refused {
			t.Fatal("a longer one was sealed after a shorter one was not")
		}
		if longest = len(token); longest > maxToken {
			t.Fatalf("a token of %d bytes", longest)
		}
		if _, err := s.open(token); err != nil {
			t.Fatal(err)
		}
	}
	if !refused || longest < maxToken-4 {
		t.Errorf("the longest has %d bytes, refused: %v", longest, refused)
	}
}

// A record of another version is not read.
func TestRecordsOfOtherVersions(t *testing.T) {
	t.Parallel()
	text, _ := waiting(10).encode()
	if _, err := readRecord([]byte(strings.Replace(string(text), `"schema":3`, `"schema":4`, 1))); !errors.Is(err, run.ErrVersion) || !strings.Contains(err.Error(), "version 4") {
		t.Errorf("a newer one: %v", err)
	}
	if _, err := readRecord([]byte(strings.Replace(string(text), `9007199254740993`, `9007199254740992`, 1))); !errors.Is(err, run.ErrPaused) {
		t.Errorf("arguments that are not those that were asked about: %v", err)
	}
}

// A question that the version before the tree has put into a store is read, and stored again as a
// tree.
func TestRecordOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../run/testdata/question-1.json")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r, err := readRecord(text)
		if err != nil {
			t.Fatal(err)
		}
		req := r.continuedRequest(chat.Request{})
		if r.User != "ann" || r.Calls[0].Tool != "pay" || req.Resumed.By != chat.PausedAgent || req.Resumed.Usage.InputTokens != 5 {
			t.Errorf("%+v, goes on with %+v", r, req.Resumed)
		}
		if text, err = r.encode(); err != nil || !strings.HasPrefix(string(text), `{"schema":3,`) {
			t.Errorf("%v: stored again: %.40s", err, text)
		}
	}
}

// Whatever a token is, it is opened to what was sealed or is none.
func FuzzToken(f *testing.F) {
	s := &sealer{keys: []Key{{1}, {2}}}
	text := []byte(`{"schema":1,"state":"a state, a state"}`) // the same in each process
	good, _ := s.seal(text)
	for _, seed := range []string{good, "", "slap1.", "slap1.AAAA", good[:40], newHandle().token(), "slap1." + strings.Repeat("A", 100)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		got, err := s.open(token)
		if err == nil && string(got) != string(text) {
			t.Errorf("opened to %q", got)
		}
		if err != nil && !errors.Is(err, errToken) {
			t.Errorf("%q: %v", token, err)
		}
		if h, ok := handleOf(token); ok && h.token() != token {
			t.Errorf("handle %q is written as %q", token, h.token())
		}
	})
}

func BenchmarkSealAndOpen16KiB(b *testing.B) {
	s := &sealer{keys: []Key{newKey()}}
	n := 16 << 10
	token := ""
	for ; len(token) < 16<<10; n += 512 {
		token, _ = s.seal([]byte(talk(n)))
	}
	text := []byte(talk(n - 512))
	b.SetBytes(int64(len(token)))
	b.ReportAllocs()
	for b.Loop() {
		token, err := s.seal(text)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.open(token); err != nil {
			b.Fatal(err)
		}
	}
}
