package credential

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"hash/crc32"
	"math/big"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The key has the form that scanners know, and the entry does not have the key.
func TestKey(t *testing.T) {
	t.Parallel()
	key, e := NewKey("ann", "t0", "small", "chat")
	m := regexp.MustCompile(`^slk_([0-9a-z]{10})_[0-9A-Za-z]{32}([0-9A-Za-z]{6})$`).FindStringSubmatch(key)
	if m == nil || m[1] != e.ID {
		t.Fatalf("%s, with the id %s", key, e.ID)
	}
	sum := new(big.Int).SetUint64(uint64(crc32.ChecksumIEEE([]byte(key[:len(key)-6])))).Text(62)
	swapped := strings.Map(func(r rune) rune { // big.Int has small letters first
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}, sum)
	if want := strings.Repeat("0", 6-len(sum)) + swapped; m[2] != want {
		t.Errorf("the checksum is %s, want %s", m[2], want)
	}
	text, err := json.Marshal(e)
	if err != nil || strings.Contains(string(text), key) {
		t.Errorf("%s, %v", text, err)
	}
}

// A token holds by the key that it names, until the key after the next one is there.
func TestToken(t *testing.T) {
	t.Parallel()
	i := &Issuer{URL: "http://issuer.test"}
	if err := i.Rotate(); err != nil {
		t.Fatal(err)
	}
	token, err := i.Token("ann", "t0", "small", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(token, ".")
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(signature) != 64 {
		t.Fatalf("%s, %v", token, err)
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(&i.keys[0].key.PublicKey, digest[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		t.Error("the signature does not hold")
	}
	var head struct{ Kid string }
	if text, err := base64.RawURLEncoding.DecodeString(parts[0]); err != nil || json.Unmarshal(text, &head) != nil {
		t.Fatalf("%s, %v", text, err)
	}
	for n, want := range []bool{true, true, false} {
		w := httptest.NewRecorder()
		i.ServeHTTP(w, nil)
		if got := strings.Contains(w.Body.String(), head.Kid); got != want || head.Kid == "" {
			t.Errorf("after %d changes the key is in the set: %t, want %t", n, got, want)
		}
		if err := i.Rotate(); err != nil {
			t.Fatal(err)
		}
	}
}
