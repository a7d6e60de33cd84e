package main

import (
	"fmt"
	"io"
)

// row has one measurement of a scenario: a cost for each program, in each round.
type row struct {
	name, unit string
	scale      float64 // from the measured value to the unit
	costs      map[string][]float64
}

// ratioBetween compares two programs; false: one of them was not measured.
func (r row) ratioBetween(one, other string) (interval, bool) {
	if r.costs[one] == nil || r.costs[other] == nil {
		return interval{}, false
	}
	return ratioOf(r.costs[one], r.costs[other]), true
}

// isWorse reports whether the interval of this build lies above the limit and the noise.
func (r row) isWorse(limit float64) bool {
	found, _ := r.ratioBetween(nameNew, nameBase)
	noise, _ := r.ratioBetween(nameAgain, nameBase)
	return found.low > max(limit, noise.high)
}

// columns are the compared pairs of programs.
var columns = []struct{ title, one, other string }{
	{"new / base", nameNew, nameBase},
	{"noise", nameAgain, nameBase},
	{"new / floor", nameNew, nameFloor},
	{"base / floor", nameBase, nameFloor},
	{"limit / floor", nameMerging, nameFloor},
	{"64 connections / floor", nameConns, nameFloor},
	{"new / new that keeps nothing", nameNew, nameNew + withoutStore},
	{"base / base that keeps nothing", nameBase, nameBase + withoutStore},
}

func printHead(w io.Writer) {
	fmt.Fprint(w, "| | new | floor |")
	for _, c := range columns {
		fmt.Fprintf(w, " %s |", c.title)
	}
	fmt.Fprint(w, "\n| --- | --- | --- |")
	for range columns {
		fmt.Fprint(w, " --- |")
	}
	fmt.Fprintln(w)
}

func (r row) printRow(w io.Writer, worse bool) {
	absolute := func(name string) string {
		if r.costs[name] == nil {
			return ""
		}
		return fmt.Sprintf("%.3g %s", medianOf(r.costs[name])/r.scale, r.unit)
	}
	fmt.Fprintf(w, "| %s | %s | %s |", r.name, absolute(nameNew), absolute(nameFloor))
	for _, c := range columns {
		text := ""
		if found, ok := r.ratioBetween(c.one, c.other); ok {
			text = found.String()
		}
		fmt.Fprintf(w, " %s |", text)
	}
	if worse {
		fmt.Fprint(w, " WORSE")
	}
	fmt.Fprintln(w)
}
