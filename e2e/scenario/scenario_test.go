package scenario

import "testing"

func TestRowIsBrokenIfAnyFigureIs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		figures []Verdict
		want    Verdict
	}{
		{"nothing measured", nil, Broke},
		{"all good", []Verdict{Fine, Fine}, Fine},
		{"one broken", []Verdict{Fine, Broke, Fine}, Broke},
		{"one skipped", []Verdict{Fine, Skipped}, Fine},
		{"all skipped", []Verdict{Skipped, Skipped}, Skipped},
		{"broken and told", []Verdict{Fine, Reported, Broke}, Broke},
		{"good and told", []Verdict{Reported, Fine}, Fine},
		{"told alone", []Verdict{Reported}, Broke},
		{"skipped and broken", []Verdict{Skipped, Broke}, Broke},
	}
	for _, tt := range tests {
		var r Row
		for _, v := range tt.figures {
			r.Figures = append(r.Figures, Figure{Verdict: v})
		}
		if got := r.Verdict(); got != tt.want {
			t.Errorf("%s: the row is %s, want %s", tt.name, got, tt.want)
		}
	}
}
