package memory

import (
	"context"
	"time"

	"sluice/internal/state/store"
)

// rate is a stored rate or count.
type rate struct {
	text  string
	until expiry
}

// ChargeRates charges limits.
func (s *Store) ChargeRates(ctx context.Context, c store.Charge) (store.Charged, error) {
	if err := s.lockStore(ctx); err != nil {
		return store.Charged{}, err
	}
	defer s.mu.Unlock()
	return c.Apply(shelf{s}, s.now)
}

// shelf is the Store, whose mu is held.
type shelf struct{ *Store }

// Text implements store.Shelf.
func (s shelf) Text(key string) (string, error) {
	if r := s.rates[key]; !r.until.hasPassed(s.now) {
		return r.text, nil
	}
	return "", nil
}

// PutText implements store.Shelf.
func (s shelf) PutText(key, text string, ttl time.Duration) error {
	s.rates[key] = rate{text, s.expiryAfter(ttl)}
	return nil
}

// Alive implements store.Shelf.
func (s shelf) Alive(h store.Holder) (bool, error) { return s.hasLease(h), nil }
