package judges

import (
	"testing"

	"github.com/nyaruka/phonenumbers"

	"sluice/internal/base/redact"
)

// The example numbers of Google's library: written for abroad, all are found; written for
// at home, those behind a word that asks for it.
func TestPhonesOfAllRegions(t *testing.T) {
	t.Parallel()
	missed, all := 0, 0
	for region := range phonenumbers.GetSupportedRegions() {
		for _, kind := range []phonenumbers.PhoneNumberType{phonenumbers.FIXED_LINE, phonenumbers.MOBILE} {
			n := phonenumbers.GetExampleNumberForType(region, kind)
			if n == nil {
				continue
			}
			abroad := phonenumbers.Format(n, phonenumbers.INTERNATIONAL)
			if got := redact.AllKinds.Text("It is " + abroad + "."); got != "It is [phone]." && len(abroad) > 9 {
				t.Errorf("%s: %q became %q", region, abroad, got)
			}
			home := phonenumbers.Format(n, phonenumbers.NATIONAL)
			all++
			if got := redact.AllKinds.Text("Phone: " + home); got != "Phone: [phone]" {
				missed++
			}
		}
	}
	t.Logf("figures: %d of %d national numbers are missed", missed, all)
	if missed*10 > all {
		t.Errorf("%d of %d national numbers are missed", missed, all)
	}
}
