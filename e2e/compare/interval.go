package main

import (
	"fmt"
	"math"
	"slices"
)

// fewestRounds is how many ratios an interval of 95 % needs: of five, all on one side is a chance
// of 6 %.
const fewestRounds = 6

// interval is a ratio with the bounds of its 95 % interval.
type interval struct{ ratio, low, high float64 }

// ratioOf compares two costs that were measured in the same rounds.
//
// It is the estimate of Hodges and Lehmann with the interval of Wilcoxon's signed ranks, of
// logarithms: a slice that something disturbed moves it less than a mean, and a ratio and its
// inverse are the same finding.
func ratioOf(costs, others []float64) interval {
	var means []float64 // of each two ratios, and each with itself
	for i := range costs {
		one := math.Log(costs[i] / others[i])
		for j := range i + 1 {
			means = append(means, (one+math.Log(costs[j]/others[j]))/2)
		}
	}
	slices.Sort(means)
	at := rankOutside(len(costs))
	return interval{math.Exp(median(means)), math.Exp(means[at]), math.Exp(means[len(means)-1-at])}
}

// rankOutside returns how many of the sorted means lie outside of the interval on either side: one
// less than the sum that the signed ranks of n ratios do not exceed by a chance of 2.5 %.
func rankOutside(n int) int {
	ways := []float64{1} // by how many of the 2^n choices of signs a sum comes about
	for i := 1; i <= n; i++ {
		next := make([]float64, len(ways)+i)
		for sum, w := range ways {
			next[sum] += w
			next[sum+i] += w
		}
		ways = next
	}
	below, all := 0.0, math.Pow(2, float64(n))
	for sum, w := range ways {
		if below += w / all; below >= 0.025 {
			return max(0, sum-1)
		}
	}
	return 0
}

// median returns the median of values in ascending order.
func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[n/2] + sorted[(n-1)/2]) / 2
}

// medianOf returns the median of values in any order.
func medianOf(values []float64) float64 { return median(slices.Sorted(slices.Values(values))) }

func (i interval) String() string { return fmt.Sprintf("%.2f (%.2f–%.2f)", i.ratio, i.low, i.high) }
