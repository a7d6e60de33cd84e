package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"sluice/internal/state/store"
)

// ChargeRates charges limits. Rates and counts are stored as values.
func (s *Store) ChargeRates(ctx context.Context, c store.Charge) (charged store.Charged, err error) {
	err = s.runWriteCommand(ctx, "charge_rates", func(_ context.Context, tx *tx) error {
		charged, err = c.Apply(shelf{tx}, s.now())
		return err
	})
	return charged, err
}

// shelf is a transaction.
type shelf struct{ *tx }

// Text implements store.Shelf.
func (t shelf) Text(key string) (string, error) {
	v, err := t.liveValue(key)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return string(v.Data), err
}

// PutText implements store.Shelf.
func (t shelf) PutText(key, text string, ttl time.Duration) error {
	_, err := t.exec(replaceValue, key, blob([]byte(text)), 1, t.expiryAfter(ttl))
	return err
}

// Alive implements store.Shelf.
func (t shelf) Alive(h store.Holder) (bool, error) { return t.hasLease(h) }
