// This file has the arithmetic of growth: medians of runs, the exponent of a growth, and the line
// of a cost that has a part for each unit and a part for none.

package main

import (
	"math"
	"slices"
)

// point has the measurements at a size: the total cost there, by run.
type point struct {
	size int
	runs []float64
}

// cost returns the median of the runs.
func (p point) cost() float64 { return quantile(p.runs, 0.5) }

// spread returns half the distance of the quartiles, as a part of the median.
func (p point) spread() float64 {
	return (quantile(p.runs, 0.75) - quantile(p.runs, 0.25)) / 2 / p.cost()
}

// quantile returns a quantile of values, which lies between two of them if need be. There must be
// a value.
func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 == len(sorted) {
		return sorted[low]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}

// exponent returns by which power of the size the cost grows: 0 does not grow, 1 is linear, 2 is
// the square. It is the slope of the straight line through the logarithms. A size of 0 is left out;
// with fewer than two others the exponent is NaN.
func exponent(points []point) float64 {
	var xs, ys []float64
	for _, p := range points {
		if p.size > 0 {
			xs, ys = append(xs, math.Log(float64(p.size))), append(ys, math.Log(p.cost()))
		}
	}
	slope, _ := leastSquares(xs, ys, func(int) float64 { return 1 })
	return slope
}

// atTheEnd returns the largest sizes. If most of the total does not grow, all sizes together hide
// how the remainder grows.
func atTheEnd(points []point) []point { return points[max(0, len(points)-3):] }

// fitLine returns the cost of each unit, and the cost without any. A small total counts as much as
// a large one: deviations are weighed as parts of the cost.
func fitLine(points []point) (unit, fixed float64) {
	var xs, ys []float64
	for _, p := range points {
		xs, ys = append(xs, float64(p.size)), append(ys, p.cost())
	}
	return leastSquares(xs, ys, func(i int) float64 { return 1 / (ys[i] * ys[i]) })
}

// leastSquares fits a straight line by weighted least squares.
func leastSquares(xs, ys []float64, weight func(int) float64) (slope, intercept float64) {
	var sum, x, y float64
	for i := range xs {
		w := weight(i)
		sum, x, y = sum+w, x+w*xs[i], y+w*ys[i]
	}
	x, y = x/sum, y/sum
	var xx, xy float64
	for i := range xs {
		w := weight(i)
		xx, xy = xx+w*(xs[i]-x)*(xs[i]-x), xy+w*(xs[i]-x)*(ys[i]-y)
	}
	slope = xy / xx
	return slope, y - slope*x
}
