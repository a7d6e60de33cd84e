// This file has the figures of a dimension, and the table of them.

package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// chart has the results of a dimension.
type chart struct {
	title  string
	x      string // the unit of the sizes
	each   bool   // the cost is shown divided by the size
	bytes  bool   // the cost is memory in bytes; else it is CPU time in microseconds
	series []*series
}

// costShown returns the cost at a point as the chart shows it.
func (c *chart) costShown(p point, cost float64) float64 {
	if c.each {
		return cost / float64(p.size)
	}
	return cost
}

// allSizes returns the sizes of all series.
func (c *chart) allSizes() (all []int) {
	for _, s := range c.series {
		for _, p := range s.points {
			all = append(all, p.size)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// formatTable returns the chart as Markdown: the median at each size with half the distance of the
// quartiles, the exponent, and the line that fits.
func (c *chart) formatTable() string {
	var b strings.Builder
	head, rule := "| "+c.x+" |", "| --- |"
	for _, s := range c.series {
		head, rule = head+" "+s.name+" |", rule+" --- |"
	}
	fmt.Fprintf(&b, "%s\n\n%s\n%s\n", c.title, head, rule)
	for _, size := range c.allSizes() {
		row := "| " + formatCount(size) + " |"
		for _, s := range c.series {
			row += " " + c.formatCell(s, size) + " |"
		}
		b.WriteString(row + "\n")
	}
	for _, last := range []struct {
		name string
		of   func([]point) string
	}{
		{"exponent", func(p []point) string { return formatExponent(exponent(p)) }},
		{"exponent of the three largest", func(p []point) string { return formatExponent(exponent(atTheEnd(p))) }},
		{"line", c.formatLine},
	} {
		row := "| " + last.name + " |"
		for _, s := range c.series {
			row += " " + last.of(s.points) + " |"
		}
		b.WriteString(row + "\n")
	}
	return b.String() + "\n"
}

// formatCell returns the text of a series at a size.
func (c *chart) formatCell(s *series, size int) string {
	for _, p := range s.points {
		if p.size == size {
			return fmt.Sprintf("%s ±%.0f %%", c.formatCost(c.costShown(p, p.cost())), 100*p.spread())
		}
	}
	return ""
}

// formatLine words the cost without any unit, and the cost of each unit.
func (c *chart) formatLine(points []point) string {
	unit, fixed := fitLine(points)
	if math.IsNaN(unit) {
		return ""
	}
	if most := float64(points[len(points)-1].size); math.Abs(unit)*most < fixed/10 {
		return c.formatCost(fixed)
	}
	if fixed < 0 {
		return c.formatCost(unit) + " each"
	}
	return c.formatCost(fixed) + " + " + c.formatCost(unit) + " each"
}

// formatExponent words an exponent.
func formatExponent(e float64) string {
	if math.IsNaN(e) {
		return ""
	}
	return strings.Replace(strconv.FormatFloat(e, 'f', 2, 64), "-0.00", "0.00", 1)
}

// formatCost words a cost with three digits.
func (c *chart) formatCost(v float64) string {
	units := []string{"ns", "µs", "ms", "s"}
	v, at := v*1000, 0
	if c.bytes {
		units, v = []string{"B", "KB", "MB", "GB"}, v/1000
	}
	for math.Abs(v) >= 999.5 && at < len(units)-1 {
		v, at = v/1000, at+1
	}
	digits := 0
	if a := math.Abs(v); a < 9.995 {
		digits = 2
	} else if a < 99.95 {
		digits = 1
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + " " + units[at]
}

// formatCount words a number with a comma before each three digits.
func formatCount(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
