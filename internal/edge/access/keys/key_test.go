package keys

import (
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"strings"
	"testing"
)

func TestGeneratedKeysHaveTheForm(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	letters := map[rune]int{}
	for range 10_000 {
		id, key := generateKey()
		if !hasForm(key) || !isKey(key) || idOf(key) != id || len(key) != 4+10+1+32+6 {
			t.Fatalf("%q with the id %q has not the form of a key", key, id)
		}
		if checksumOf(key[:sumFrom]) != key[sumFrom:] {
			t.Errorf("%q has another checksum", key)
		}
		if seen[id] || seen[key[secretFrom:sumFrom]] {
			t.Errorf("%q is there twice", key)
		}
		seen[id], seen[key[secretFrom:sumFrom]] = true, true
		for _, r := range key[secretFrom:sumFrom] {
			letters[r]++
		}
	}
	for _, r := range digits { // 5161 of each are expected, with a deviation of 71
		if n := letters[r]; n < 5161-7*71 || n > 5161+7*71 {
			t.Errorf("%q stands in 10,000 secrets %d times", r, n)
		}
	}
}

// The checksum is that of a reader of the contract, who has numbers without bounds.
func TestChecksum(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "slk_", "slk_0123456789_" + strings.Repeat("a", 32), "slk_abcdefghij_0123456789ABCDEFGHIJabcdefghij01"} {
		n := new(big.Int).SetUint64(uint64(crc32.ChecksumIEEE([]byte(text))))
		want := n.Text(62) // 0-9a-zA-Z
		want = strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z':
				return r - 'a' + 'A'
			case r >= 'A' && r <= 'Z':
				return r - 'A' + 'a'
			}
			return r
		}, want)
		want = strings.Repeat("0", 6-len(want)) + want
		if text == "" {
			want = "000000"
		}
		if got := checksumOf(text); got != want {
			t.Errorf("checksum(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestForm(t *testing.T) {
	t.Parallel()
	good := "slk_0123456789_" + strings.Repeat("aZ09", 8) + "abcdef"
	if !hasForm(good) {
		t.Fatalf("%q has the form", good)
	}
	for _, bad := range []string{
		"", "slk_", good[1:], good[:len(good)-1], good + "a",
		strings.Replace(good, "slk_", "SLK_", 1),
		strings.Replace(good, "0123456789", "012345678A", 1),
		strings.Replace(good, "0123456789", "01234567_9", 1),
		strings.Replace(good, "9_", "9-", 1),
		strings.Replace(good, "aZ09", "aZ0_", 1),
		strings.Replace(good, "aZ09", "aZ\x00"+"9", 1),
		strings.Replace(good, "aZ09", "é09", 1),
		good[:len(good)-1] + "-",
	} {
		if hasForm(bad) {
			t.Errorf("%q has the form", bad)
		}
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	sum, ok := parseHash(hashOf("a key"))
	if !ok || sum != sha256.Sum256([]byte("a key")) {
		t.Error("the hash of a key is read otherwise")
	}
	good := hashOf("x")
	for _, bad := range []string{"", "sha256:", good[:len(good)-1], good + "0", strings.ToUpper(good), "sha256:" + strings.ToUpper(good[7:]), good[7:], "sha512" + good[6:], good[:len(good)-1] + "g"} {
		if _, ok := parseHash(bad); ok {
			t.Errorf("%q counts as a hash", bad)
		}
	}
}
