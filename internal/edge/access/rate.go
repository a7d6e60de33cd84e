package access

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// maxQuota bounds a quota and a burst.
const maxQuota = 1_000_000_000

// Rate is a number of things in a unit of time. The zero value is unlimited.
type Rate struct {
	Quota Quota `key:".,rate"`
	// Burst is how many may come at once; 0: as many as the quota.
	Burst int `key:"burst"`
}

// Quota is a Rate without a burst. It is written as N/s, N/m, N/h or N/d.
type Quota struct {
	N    int
	Unit Unit
}

// Unit is the time of a quota: a letter of "smhd".
type Unit byte

// Units are the letters of all units, in the order of their lengths.
const Units = "smhd"

// Length returns how long a unit is.
func (u Unit) Length() time.Duration {
	switch u {
	case 'm':
		return time.Minute
	case 'h':
		return time.Hour
	case 'd':
		return 24 * time.Hour
	}
	return time.Second
}

var errRate = errors.New("must be a rate such as 60/m: a whole number from 1 to 1000000000, a slash, and s, m, h or d")

// UnmarshalText reads a quota as it is written. Its error describes the form of a quota and does
// not repeat the text.
func (q *Quota) UnmarshalText(text []byte) error {
	number, unit, _ := strings.Cut(string(text), "/")
	if len(unit) != 1 || !strings.Contains(Units, unit) || strings.HasPrefix(number, "0") {
		return errRate
	}
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil || n > maxQuota {
		return errRate
	}
	*q = Quota{int(n), Unit(unit[0])}
	return nil
}

// String returns the quota as it is written.
func (q Quota) String() string {
	if q.N == 0 {
		return ""
	}
	return strconv.Itoa(q.N) + "/" + string(rune(q.Unit))
}
